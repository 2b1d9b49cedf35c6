use rstest::rstest;

use super::*;
use crate::access::method::callable;

const STATUS: &str = "/karmada.failover.evictionqueue.v1.QueueInspection/GetStatus";
const PUBLISH: &str = "/karmada.failover.evictionqueue.v1.EvictionQueue/Publish";
const LEASE: &str = "/karmada.failover.evictionqueue.v1.EvictionQueue/Lease";
const COMPLETE: &str = "/karmada.failover.evictionqueue.v1.EvictionQueue/Complete";
const DROP: &str = "/karmada.failover.evictionqueue.v1.QueueAdmin/Drop";
const HEALTH: &str = "/grpc.health.v1.Health/Check";

fn roles() -> RoleNames {
    RoleNames::default()
        .with(Role::Producer, ["producer"])
        .with(Role::Consumer, ["consumer"])
        .with(Role::Reader, ["reader"])
        .with(Role::Admin, ["admin"])
}

fn certificates(tokens: Tokens) -> Policy {
    Policy::Credentials {
        certificates: Some(roles()),
        tokens,
    }
}

fn only_tokens() -> Policy {
    Policy::Credentials {
        certificates: None,
        tokens: Tokens::Checked,
    }
}

fn seen(certificate: &[&str], token: Token) -> Seen {
    let certificate = (!certificate.is_empty()).then(|| certificate.iter().map(ToString::to_string).collect());
    Seen { certificate, token }
}

fn code(decision: &Decision) -> Option<Code> {
    match decision {
        Decision::Refuse(refusal) => Some(refusal.code()),
        Decision::Admit(_) | Decision::AskAboutToken(_) => None,
    }
}

// Every role on every kind of method: what it may, and nothing else.
#[rstest]
#[case("producer", &[STATUS, PUBLISH, HEALTH])]
#[case("consumer", &[STATUS, LEASE, COMPLETE, HEALTH])]
#[case("reader", &[STATUS, HEALTH])]
#[case("admin", &[STATUS, DROP, HEALTH])]
#[case("somebody", &[HEALTH])]
fn certificates_have_roles(#[case] name: &str, #[case] may: &[&str]) {
    for path in [STATUS, PUBLISH, LEASE, COMPLETE, DROP, HEALTH] {
        let decision = decide(
            &certificates(Tokens::Ignored),
            callable(path),
            &seen(&[name], Token::None),
        );
        if may.contains(&path) {
            assert_eq!(
                decision,
                Decision::Admit(Caller::new(name, KnownBy::Certificate)),
                "{path}"
            );
        } else {
            assert_eq!(code(&decision), Some(Code::PermissionDenied), "{name} {path}");
        }
    }
}

// The common name says nothing when a URI gave the right: what is done stands under the name that may do it.
#[rstest]
#[case(&["alice", "spiffe://fleet/ops"], DROP, "spiffe://fleet/ops")]
#[case(&["reader", "spiffe://fleet/ops"], DROP, "spiffe://fleet/ops")]
#[case(&["reader", "spiffe://fleet/ops"], STATUS, "reader")]
#[case(&["alice", "spiffe://fleet/ops"], STATUS, "spiffe://fleet/ops")]
#[case(&["alice", "producer"], PUBLISH, "producer")]
// Everybody may lease.
#[case(&["alice", "spiffe://fleet/a"], LEASE, "alice, spiffe://fleet/a")]
#[case(&["*", "alice"], LEASE, "*, alice")]
#[case(&["alice", "consumer"], LEASE, "consumer")]
#[case(&["alice", "spiffe://fleet/a"], HEALTH, "alice, spiffe://fleet/a")]
fn the_caller_is_the_name_that_gives_the_right(#[case] has: &[&str], #[case] path: &str, #[case] expected: &str) {
    let policy = Policy::Credentials {
        certificates: Some(
            roles()
                .with(Role::Admin, ["spiffe://fleet/ops"])
                .with(Role::Consumer, ["*"]),
        ),
        tokens: Tokens::Ignored,
    };
    let decision = decide(&policy, callable(path), &seen(has, Token::None));
    assert_eq!(decision, Decision::Admit(Caller::new(expected, KnownBy::Certificate)));
}

#[test]
fn on_loopback_everybody_may_everything_that_there_is() {
    for path in [STATUS, PUBLISH, DROP, HEALTH] {
        let decision = decide(&Policy::Loopback, callable(path), &seen(&[], Token::Sent));
        assert_eq!(decision, Decision::Admit(Caller::local()));
    }
    let decision = decide(&Policy::Loopback, callable("/x.Y/Z"), &Seen::default());
    assert_eq!(code(&decision), Some(Code::Unimplemented));
}

#[test]
fn a_token_counts_before_a_certificate() {
    let asked = |policy: &Policy, certificate: &[&str]| {
        matches!(
            decide(policy, callable(STATUS), &seen(certificate, Token::Sent)),
            Decision::AskAboutToken(Need { verb: "get", .. })
        )
    };
    assert!(asked(&only_tokens(), &[]));
    assert!(asked(&certificates(Tokens::Checked), &["reader"]));
    assert!(!asked(&certificates(Tokens::Ignored), &["reader"]));
    let decision = decide(&only_tokens(), callable(HEALTH), &seen(&[], Token::Sent));
    assert!(matches!(decision, Decision::Admit(_)), "health asks for no right");
}

// A certificate that no authority of ours has looked at gives nothing.
#[test]
fn without_an_authority_certificates_do_not_count() {
    let decision = decide(&only_tokens(), callable(STATUS), &seen(&["reader"], Token::None));
    assert_eq!(code(&decision), Some(Code::Unauthenticated));
}

fn said(policy: &Policy, path: &str, seen: &Seen) -> String {
    match decide(policy, callable(path), seen) {
        Decision::Refuse(refusal) => refusal.status(path).message().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refusal_says_who_was_seen_what_is_needed_and_what_gives_it() {
    assert_eq!(
        said(
            &certificates(Tokens::Ignored),
            PUBLISH,
            &seen(&["reader", "x"], Token::None)
        ),
        "the client certificate of \"reader\", \"x\" has the role reader, and EvictionQueue/Publish needs the role producer: \
         add one of its names to --queue-producers of the queue"
    );
    assert_eq!(
        said(&certificates(Tokens::Ignored), STATUS, &seen(&[], Token::Sent)),
        "QueueInspection/GetStatus needs the role reader, and the call names nobody: its bearer token does not count \
         without --queue-token-auth at the queue; connect with a client certificate that --queue-readers of the queue names"
    );
    assert_eq!(
        said(&only_tokens(), STATUS, &seen(&[], Token::None)),
        "QueueInspection/GetStatus needs the role reader, and the call names nobody: send a bearer token whose user may get \
         evictionqueues.failover.karmada.io"
    );
    let need = Need {
        role: Role::Producer,
        verb: "publish",
        lasts: crate::access::method::Lasts::AsAStream,
    };
    let user = Refusal::User {
        user: "system:serviceaccount:a:b".to_owned(),
        need,
        why: String::new(),
    };
    assert_eq!(
        user.status(PUBLISH).message(),
        "user \"system:serviceaccount:a:b\" may not publish evictionqueues.failover.karmada.io, as EvictionQueue/Publish \
         needs: bind a ClusterRole that allows it, such as karmada-failover:eviction-queue-producer, to the user on the \
         control plane"
    );
}

// Names come from certificates: what they hold cannot break a line of the log or of a header.
#[test]
fn odd_names_are_quoted() {
    let text = said(
        &certificates(Tokens::Ignored),
        STATUS,
        &seen(&["a\nb\u{1b}[31m"], Token::None),
    );
    assert!(text.contains("\"a\\nb\\u{1b}[31m\""), "{text}");
}
