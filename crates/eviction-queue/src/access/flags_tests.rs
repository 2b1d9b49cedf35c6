use super::*;
use rstest::rstest;

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 9443))
}

fn anywhere() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 9443))
}

#[derive(Default)]
struct Given {
    certificate: bool,
    key: bool,
    client_ca: bool,
    reader: bool,
    tokens: bool,
}

impl Given {
    /// The files are not there: each case ends before they are read, or with a complaint about the first.
    fn flags(&self) -> AccessFlags {
        let file = |given: bool, name: &str| given.then(|| PathBuf::from(format!("/nowhere/{name}")));
        AccessFlags {
            queue_tls_cert_file: file(self.certificate, "tls.crt"),
            queue_tls_key_file: file(self.key, "tls.key"),
            queue_client_ca_file: file(self.client_ca, "ca.crt"),
            queue_readers: self.reader.then(|| "r".to_owned()).into_iter().collect(),
            queue_token_auth: self.tokens,
            ..AccessFlags::default()
        }
    }
}

#[rstest]
#[case(Given::default(), loopback(), &[])]
#[case(Given { tokens: true, ..Given::default() }, loopback(), &[])]
#[case(Given::default(), anywhere(), &["without TLS, and then only on loopback"])]
#[case(Given { tokens: true, ..Given::default() }, anywhere(), &["tokens would cross the network in the clear"])]
#[case(Given { certificate: true, tokens: true, ..Given::default() }, anywhere(), &["without --queue-tls-key-file"])]
#[case(Given { key: true, tokens: true, ..Given::default() }, anywhere(), &["without --queue-tls-cert-file"])]
#[case(Given { client_ca: true, reader: true, ..Given::default() }, loopback(), &["--queue-client-ca-file is given without TLS"])]
#[case(Given { reader: true, ..Given::default() }, loopback(), &["--queue-readers names client certificates"])]
#[case(
    Given { certificate: true, key: true, ..Given::default() },
    anywhere(),
    &["callers cannot be told apart", "--queue-tls-cert-file=/nowhere/tls.crt: cannot be read"]
)]
#[case(
    Given { certificate: true, key: true, client_ca: true, ..Given::default() },
    anywhere(),
    &["no certificate has a role", "cannot be read"]
)]
#[case(
    Given { certificate: true, key: true, client_ca: true, reader: true, ..Given::default() },
    anywhere(),
    &["--queue-tls-cert-file=/nowhere/tls.crt: cannot be read: No such file"]
)]
fn what_makes_no_sense_is_told(#[case] given: Given, #[case] bind: SocketAddr, #[case] expected: &[&str]) {
    let problems = given.flags().problems(bind, &Clock::system());
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, part) in problems.iter().zip(expected) {
        assert!(problem.starts_with("--") && problem.contains(part), "{problem}");
    }
}

#[test]
fn the_policy_follows_from_what_is_given() {
    assert_eq!(Given::default().flags().policy(), Policy::Loopback);
    let tokens = Given {
        tokens: true,
        ..Given::default()
    };
    let expected = Policy::Credentials {
        certificates: None,
        tokens: Tokens::Checked,
    };
    assert_eq!(tokens.flags().policy(), expected);
    let certificates = Given {
        certificate: true,
        key: true,
        client_ca: true,
        reader: true,
        ..Given::default()
    };
    let expected = Policy::Credentials {
        certificates: Some(RoleNames::default().with(Role::Reader, ["r"])),
        tokens: Tokens::Ignored,
    };
    assert_eq!(certificates.flags().policy(), expected);
}
