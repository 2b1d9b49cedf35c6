//! `queue list` and `queue show`, from a queue on a socket.

use clap::Parser;
use controller_kit::Clock;
use eviction_queue_api::v1;
use failoverctl::Cli;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::run::{Answer, Surroundings, run};
use insta::assert_snapshot;
use tokio::task::JoinSet;

use crate::objects::{entry, held, now};
use crate::server::FixedQueue;

async fn ask(queue: FixedQueue, args: &[&str]) -> Result<Answer, Failure> {
    let mut tasks = JoinSet::new();
    let address = queue.serve(&mut tasks).await.to_string();
    let args = [&["failoverctl", "--queue-address", &address], args].concat();
    let answer = run(
        &Cli::try_parse_from(args).unwrap(),
        &Surroundings::plain(Clock::simulated(now())),
    )
    .await;
    answer.map_err(|failure| {
        let hidden = |text: &str| text.replace(&address, "QUEUE");
        let text = failure.to_string();
        let (head, next) = text.split_once("\n  next: ").unwrap();
        let (what, why) = head.split_once(": ").unwrap();
        Failure::new(failure.status(), hidden(what), hidden(why), hidden(next))
    })
}

fn filled() -> FixedQueue {
    FixedQueue {
        entries: vec![
            entry("nginx-deployment", -60, v1::EntryState::Ready),
            entry("web-deployment", -60, v1::EntryState::Ready),
            v1::Entry {
                not_before: crate::objects::proto(7),
                failures: 3,
                last_outcome: "Failed: the API server answers 500".to_owned(),
                ..entry("shop-deployment", -50, v1::EntryState::Leased)
            },
            entry("batch-deployment", 30, v1::EntryState::Waiting),
            held(
                "db-deployment",
                v1::HoldReason::NoTarget,
                "no other cluster can take it: there is none",
            ),
        ],
        page: 2,
        ..FixedQueue::default()
    }
}

#[tokio::test]
async fn entries_in_all_formats() {
    for format in ["table", "wide", "json", "name"] {
        let answer = ask(filled(), &["queue", "list", "-o", format]).await.unwrap();
        assert_eq!(answer.status, ExitStatus::Fine);
        assert_snapshot!(format!("entries_{format}"), answer.text);
    }
}

#[tokio::test]
async fn what_a_second_owner_holds_says_who_where_and_how_it_ends() {
    let message = "a second controller does the job of taintManager in namespace default (an Event R of taint-manager, at \
                   2026-01-31T11:58:00Z): held until 5m after its last sign; to end it, run karmada-controller-manager with \
                   --feature-gates=Failover=false";
    let queue = FixedQueue {
        entries: vec![held("db-deployment", v1::HoldReason::SecondOwner, message)],
        ..FixedQueue::default()
    };
    let text = ask(queue, &["queue", "list"]).await.unwrap().text;
    assert!(
        text.trim_end().ends_with(&format!("  SecondOwner: {message}")),
        "{text}"
    );
}

#[tokio::test]
async fn an_empty_queue() {
    let answer = ask(FixedQueue::default(), &["queue", "list"]).await.unwrap();
    assert_snapshot!(answer.text, @"No entry of the eviction queue matches.");
    let answer = ask(FixedQueue::default(), &["queue", "list", "-o", "name"])
        .await
        .unwrap();
    assert_eq!(answer.text, "");
    let answer = ask(FixedQueue::default(), &["queue", "list", "-o", "json"])
        .await
        .unwrap();
    assert_snapshot!(answer.text, @r#"
    {
      "apiVersion": "failoverctl.karmada.io/v1alpha2",
      "kind": "EntryList",
      "asOf": "2026-01-31T12:00:00Z",
      "total": 0,
      "notes": [],
      "entries": []
    }
    "#);
}

#[tokio::test]
async fn what_keeps_entries_from_going_is_said_with_the_list() {
    let halted = |entries| FixedQueue {
        status: v1::GetStatusResponse {
            notes: vec![
                "nothing is released: --resource-eviction-rate is 0".to_owned(),
                "nothing is released: no evictor is connected".to_owned(),
            ],
            ..v1::GetStatusResponse::default()
        },
        entries,
        ..FixedQueue::default()
    };
    let one = || vec![entry("web-deployment", -60, v1::EntryState::Ready)];
    for format in ["table", "wide"] {
        let text = ask(halted(one()), &["queue", "list", "-o", format]).await.unwrap().text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "nothing is released: --resource-eviction-rate is 0",
                "nothing is released: no evictor is connected"
            ]
        );
        assert!(lines[2].starts_with("BINDING") && lines.len() == 4, "{text}");
    }
    let text = ask(halted(one()), &["queue", "list", "-o", "json"]).await.unwrap().text;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["notes"][0], "nothing is released: --resource-eviction-rate is 0");
    let names = ask(halted(one()), &["queue", "list", "-o", "name"]).await.unwrap().text;
    assert_eq!(names, "default/web-deployment\n");
    let empty = ask(halted(vec![]), &["queue", "list"]).await.unwrap().text;
    assert!(empty.starts_with("nothing is released"), "{empty}");
    assert!(empty.ends_with("No entry of the eviction queue matches.\n"), "{empty}");
}

#[tokio::test]
async fn filters_and_limits() {
    let names = async |args: &[&str]| {
        let args = [&["queue", "list", "-o", "name"], args].concat();
        ask(filled(), &args)
            .await
            .unwrap()
            .text
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&["--state", "held"]).await, ["default/db-deployment"]);
    assert_eq!(names(&["--cluster", "member2"]).await, [""; 0]);
    assert_eq!(names(&["-n", "default"]).await.len(), 5);
    assert_eq!(names(&["-n", "-"]).await, [""; 0]);
    assert_eq!(names(&["--limit", "3"]).await.len(), 3);
    assert_eq!(names(&["--limit", "0"]).await.len(), 5);
    let cut = ask(filled(), &["queue", "list", "--limit", "3"]).await.unwrap().text;
    assert!(cut.ends_with("… and 2 more: --limit 0 shows all\n"), "{cut}");
}

#[tokio::test]
async fn everything_of_one_entry() {
    for name in ["web", "shop", "db"] {
        let answer = ask(filled(), &["queue", "show", &format!("default/{name}-deployment")])
            .await
            .unwrap();
        assert_eq!(answer.status, ExitStatus::Fine);
        assert_snapshot!(format!("show_{name}"), answer.text);
    }
    let answer = ask(filled(), &["queue", "show", "default/web-deployment", "-o", "json"])
        .await
        .unwrap();
    assert_snapshot!("show_json", answer.text);
}

#[tokio::test]
async fn no_such_entry() {
    let failure = ask(filled(), &["queue", "show", "default/nothing", "--cluster", "member1"])
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!(failure.to_string(), @r"
    cannot show binding default/nothing from cluster member1: the eviction queue at QUEUE has no entry for it
      next: ask why: failoverctl explain binding default/nothing
    ");
}

#[tokio::test]
async fn what_became_of_entries_in_all_formats() {
    let queue = || FixedQueue {
        recent: vec![
            v1::RecentOutcome {
                consumer: "host-a_7f3c".to_owned(),
                ..crate::objects::recent("nginx-deployment", v1::Outcome::Evicted, "the taint is not tolerated")
            },
            crate::objects::recent("db-statefulset", v1::Outcome::NoTarget, "no other cluster can take it"),
            crate::objects::recent("nginx-deployment", v1::Outcome::Unspecified, ""),
        ],
        ..FixedQueue::default()
    };
    for format in ["table", "wide", "json", "name"] {
        let answer = ask(queue(), &["queue", "recent", "-o", format]).await.unwrap();
        assert_eq!(answer.status, ExitStatus::Fine);
        assert_snapshot!(format!("recent_{format}"), answer.text);
    }
    let [json, yaml] =
        ["json", "yaml"].map(async |format| ask(queue(), &["queue", "recent", "-o", format]).await.unwrap().text);
    let json: serde_json::Value = serde_json::from_str(&json.await).unwrap();
    let yaml: serde_json::Value = serde_saphyr::from_str(&yaml.await).unwrap();
    assert_eq!(yaml, json);
    let cut = ask(queue(), &["queue", "recent", "--limit", "3"]).await.unwrap().text;
    assert!(cut.ends_with("… and perhaps more: --limit 0 shows all\n"), "{cut}");
    let none = ask(FixedQueue::default(), &["queue", "recent", "-c", "member9"]).await;
    assert_snapshot!(none.unwrap().text, @"Since its leader started the queue has released nothing that matches; older moves: failoverctl history");
}

#[tokio::test]
async fn a_follower_is_left_for_the_leader() {
    let mut tasks = JoinSet::new();
    let leader = filled().serve(&mut tasks).await;
    let refusal = eviction_queue_api::status::not_leader(Some(&leader.to_string()));
    let follower = FixedQueue {
        refusal: Some(refusal),
        ..FixedQueue::default()
    };
    let answer = ask(follower, &["queue", "list", "-o", "name", "--state", "held"])
        .await
        .unwrap();
    assert_eq!(answer.text, "default/db-deployment\n");
}

#[tokio::test]
async fn refusals_are_said_in_words() {
    let refused = async |status: tonic::Status| {
        ask(
            FixedQueue {
                refusal: Some(status),
                ..FixedQueue::default()
            },
            &["queue", "list"],
        )
        .await
        .unwrap_err()
    };
    let failure = refused(tonic::Status::unavailable("the leader is not known")).await;
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!(failure.to_string(), @r"
    cannot get its entries from the eviction queue at QUEUE: it does not answer, or does not lead: the leader is not known
      next: ask its leader: leave --queue-address away, or look at Lease eviction-queue
    ");
    assert_eq!(
        refused(tonic::Status::deadline_exceeded("late")).await.status(),
        ExitStatus::TimedOut
    );
    assert_eq!(
        refused(tonic::Status::permission_denied("no role")).await.status(),
        ExitStatus::Unreachable
    );
    // As the queue says it to a call without a token.
    let nobody = "QueueInspection/ListEntries needs the role reader, and the call names nobody: send a bearer token whose user \
         may list evictionqueues.failover.karmada.io";
    let failure = refused(tonic::Status::unauthenticated(nobody)).await;
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!(failure.to_string(), @r"
    cannot get its entries from the eviction queue at QUEUE: it does not let us in: QueueInspection/ListEntries needs the role reader, and the call names nobody
      next: send a bearer token whose user may list evictionqueues.failover.karmada.io (here: a kubeconfig with a token, such as one of failoverctl kubeconfig failoverctl; or --queue-token-file with what kubectl -n karmada-system create token failoverctl prints; or --queue-client-cert-file with --queue-client-key-file)
    ");
    let failure = refused(tonic::Status::unimplemented("")).await;
    assert!(
        failure.to_string().contains("what answers there is no eviction queue"),
        "{failure}"
    );
    let failure = refused(tonic::Status::out_of_range("the page token is too old")).await;
    assert_eq!(
        failure.status(),
        ExitStatus::TimedOut,
        "the list was begun anew, in vain: {failure}"
    );
}
