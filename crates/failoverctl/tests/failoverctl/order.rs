//! `queue drop` and `queue undrop`, to a queue on a socket.

use std::sync::Arc;

use clap::Parser;
use controller_kit::Clock;
use eviction_queue_api::v1;
use failoverctl::Cli;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::run::{Answer, Surroundings, run};
use insta::assert_snapshot;
use tokio::task::JoinSet;

use crate::console::Recorded;
use crate::objects::{entry, held, now};
use crate::server::FixedQueue;

fn dropped(name: &str) -> v1::Entry {
    let mut entry = held(name, v1::HoldReason::Stay, "dropped by alice: it is being repaired");
    entry.hold.as_mut().unwrap().dropped = true;
    entry
}

fn filled() -> FixedQueue {
    FixedQueue {
        entries: vec![
            entry("nginx-deployment", -60, v1::EntryState::Ready),
            entry("web-deployment", 30, v1::EntryState::Waiting),
            entry("shop-deployment", -50, v1::EntryState::Leased),
            dropped("db-deployment"),
            held(
                "cache-deployment",
                v1::HoldReason::Stay,
                "annotation: stays whatever the cause",
            ),
        ],
        ..FixedQueue::default()
    }
}

struct Told {
    ended: Result<Answer, Failure>,
    notes: String,
    orders: Vec<String>,
}

impl Told {
    fn text(&self) -> &str {
        &self.ended.as_ref().unwrap().text
    }

    fn failure(&self) -> &Failure {
        self.ended.as_ref().unwrap_err()
    }
}

/// Gives an order; somebody answers so, or nobody is there.
async fn order(queue: FixedQueue, answer: Option<&str>, args: &[&str]) -> Told {
    let mut tasks = JoinSet::new();
    let orders = Arc::clone(&queue.orders);
    let address = queue.serve(&mut tasks).await.to_string();
    let console = Arc::new(Recorded::default());
    if let Some(answer) = answer {
        console.will_answer(answer);
    }
    let around = Surroundings {
        console: console.clone(),
        ..Surroundings::plain(Clock::simulated(now()))
    };
    let args = [&["failoverctl", "--queue-address", &address, "queue"], args].concat();
    let hidden = |text: &str| text.replace(&address, "QUEUE");
    let ended = match run(&Cli::try_parse_from(args).unwrap(), &around).await {
        Ok(answer) => Ok(Answer {
            text: hidden(&answer.text),
            ..answer
        }),
        Err(failure) => {
            let (what, why) = failure
                .one_line()
                .split_once(": ")
                .map(|(a, b)| (hidden(a), hidden(b)))
                .unwrap();
            Err(Failure::new(failure.status(), what, why, hidden(failure.next())))
        }
    };
    let orders = orders.lock().unwrap().clone();
    Told {
        ended,
        notes: hidden(&console.notes()),
        orders,
    }
}

const NGINX: [&str; 4] = [
    "drop",
    "default/nginx-deployment",
    "--reason",
    "member1 is being repaired",
];

#[tokio::test]
async fn one_workload_is_kept() {
    let told = order(filled(), None, &[&NGINX[..], &["--dry-run"]].concat()).await;
    assert_snapshot!(told.text(), @r"
    Dry run: nothing was changed. default/nginx-deployment would be kept so:
    BINDING                   CLUSTER  STATE  WHY
    default/nginx-deployment  member1  Held   Dropped: drop by alice: member1 is being repaired
    ");
    assert_eq!((told.orders.len(), told.notes.as_str()), (0, ""));

    let told = order(filled(), Some("n\n"), &NGINX).await;
    assert_eq!((told.text(), told.orders.len()), ("", 0));
    assert_eq!(
        told.ended.as_ref().unwrap().status,
        ExitStatus::Problem,
        "what was wanted is not done"
    );
    assert_snapshot!(told.notes, @r"
    This keeps default/nginx-deployment on member1, because: member1 is being repaired
    It is Ready, due 1m ago: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    The queue holds what is kept from now on; the taint manager writes failover.karmada.io/stay on the binding.
    Go on? [y/N] nothing was changed
    ");

    let told = order(filled(), Some("y\n"), &NGINX).await;
    assert_snapshot!(told.text(), @r"
    Dropped: default/nginx-deployment stays.
    BINDING                   CLUSTER  STATE  WHY
    default/nginx-deployment  member1  Held   Dropped: drop by alice: member1 is being repaired
    Undo: failoverctl --queue-address QUEUE queue undrop default/nginx-deployment
    ");
    assert_eq!(told.orders, ["drop nginx-deployment: member1 is being repaired"]);
    let told = order(filled(), None, &[&NGINX[..], &["--yes", "-o", "json"]].concat()).await;
    assert_snapshot!("order_result_json", told.text());
}

#[tokio::test]
async fn all_of_a_cluster_are_kept() {
    let args = ["drop", "--cluster", "member1", "--all", "--reason", "repair", "--yes"];
    let told = order(filled(), None, &args).await;
    assert_snapshot!(told.notes, @r"
    This keeps 3 workloads where they are, because: repair
      default/nginx-deployment on member1: Ready, due 1m ago: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
      default/web-deployment on member1: Waiting, due in 30s: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
      default/shop-deployment on member1: Leased, due 50s ago: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    The evictor has 1 entry in hand: what it has written already counts.
    2 others are left as they are.
    The queue holds what is kept from now on; the taint manager writes failover.karmada.io/stay on the binding.
    ");
    assert_snapshot!(told.text(), @r"
    Dropped: 3 workloads stay.
    BINDING                   CLUSTER  STATE      WHY
    default/nginx-deployment  member1  Held       Dropped: drop by alice: repair
    default/web-deployment    member1  Held       Dropped: drop by alice: repair
    default/shop-deployment   member1  Held       Dropped: drop by alice: repair
    default/db-deployment     member1  as before  it stays already: dropped by alice: it is being repaired
    default/cache-deployment  member1  as before  it stays already: annotation: stays whatever the cause
    Undo: failoverctl --queue-address QUEUE queue undrop default/nginx-deployment --cluster member1
    Undo: failoverctl --queue-address QUEUE queue undrop default/web-deployment --cluster member1
    Undo: failoverctl --queue-address QUEUE queue undrop default/shop-deployment --cluster member1
    ");
    assert_eq!(told.orders.len(), 3, "what stays already is left alone");
}

/// A real run that had nothing to do is no dry run.
#[tokio::test]
async fn all_is_as_wanted_already() {
    let queue = FixedQueue {
        entries: vec![dropped("a")],
        ..FixedQueue::default()
    };
    let told = order(queue.clone(), None, &ALL).await;
    assert_snapshot!(told.text(), @r"
    Nothing was changed: the queue has nothing to drop of cluster member1.
    BINDING    CLUSTER  STATE      WHY
    default/a  member1  as before  it stays already: dropped by alice: it is being repaired
    ");
    let told = order(queue, None, &[&ALL[..], &["-o", "json"]].concat()).await;
    let document: serde_json::Value = serde_json::from_str(told.text()).unwrap();
    assert_eq!(document["dryRun"], false);
}

/// A name that nobody has keeps nothing, and its author believes that it does.
#[tokio::test]
async fn a_cluster_that_nothing_leaves() {
    let lane = |cluster: &str, held| v1::Lane {
        cluster: cluster.to_owned(),
        totals: Some(v1::Totals {
            held,
            ..v1::Totals::default()
        }),
        ..v1::Lane::default()
    };
    let queue = FixedQueue {
        lanes: vec![lane("member1", 5), lane("member2", 0)],
        ..filled()
    };
    let typo = ["drop", "-c", "membr1", "--all", "--reason", "x", "--yes"];
    let told = order(queue, None, &typo).await;
    assert_eq!(told.failure().status(), ExitStatus::Problem);
    assert_snapshot!(told.failure().to_string(), @r"
    cannot drop all of cluster membr1: the eviction queue at QUEUE has no entry of cluster membr1
      next: choose one of those that there are: member1
    ");
    let told = order(FixedQueue::default(), None, &typo).await;
    assert_eq!(told.failure().status(), ExitStatus::Problem);
    assert_snapshot!(told.failure().to_string(), @r"
    cannot drop all of cluster membr1: the eviction queue at QUEUE has no entry of cluster membr1, and none of any other
      next: nothing to do; what would make a workload leave: failoverctl status
    ");
    let elsewhere = [
        "drop",
        "default/nginx-deployment",
        "-c",
        "member2",
        "--reason",
        "x",
        "--yes",
    ];
    let told = order(filled(), None, &elsewhere).await;
    assert_snapshot!(told.failure().to_string(), @r"
    cannot drop default/nginx-deployment on member2: the eviction queue at QUEUE has no entry for it on member2
      next: it has to leave member1: give that as --cluster; see: failoverctl queue show default/nginx-deployment
    ");
}

/// What the queue has against one entry is no reason to stop, or to hide what was done to the others.
#[tokio::test]
async fn one_of_many_is_refused() {
    for refused in ["app-0", "app-2"] {
        let queue = FixedQueue {
            refused: vec![refused.to_owned()],
            ..many(4)
        };
        let told = order(queue, None, &ALL).await;
        assert_eq!(told.ended.as_ref().unwrap().status, ExitStatus::Problem);
        assert_eq!(told.orders.len(), 3, "{:?}", told.orders);
        let text = told.text();
        assert!(text.starts_with("Dropped: 3 workloads stay.\n"), "{text}");
        let failed: Vec<&str> = text.lines().filter(|line| line.contains("FAILED")).collect();
        assert_eq!(failed.len(), 1, "{text}");
        assert!(
            failed[0].contains(refused) && failed[0].contains("a person's annotation keeps it"),
            "{text}"
        );
    }
    let queue = FixedQueue {
        refused: vec!["app-0".to_owned(), "app-1".to_owned()],
        ..many(2)
    };
    let told = order(queue, None, &ALL).await;
    assert_snapshot!(told.text(), @r"
    None of 2 entries of cluster member1 is known to be changed:
    BINDING        CLUSTER  STATE   WHY
    default/app-0  member1  FAILED  cannot give an order to the eviction queue at QUEUE: a person's annotation keeps it
    default/app-1  member1  FAILED  cannot give an order to the eviction queue at QUEUE: a person's annotation keeps it
    ");
}

/// The first order goes alone: when it fails nothing else was sent.
#[tokio::test]
async fn a_queue_that_does_not_lead_any_more() {
    let queue = FixedQueue {
        takes_orders: Some(0),
        ..many(40)
    };
    let told = order(queue, None, &ALL).await;
    assert_eq!(told.failure().status(), ExitStatus::Unreachable);
    assert_eq!(told.orders.len(), 0);
}

fn many(count: usize) -> FixedQueue {
    let name = |number| format!("app-{number}");
    FixedQueue {
        entries: (0..count)
            .map(|number| entry(&name(number), -60, v1::EntryState::Ready))
            .collect(),
        ..FixedQueue::default()
    }
}

const ALL: [&str; 7] = ["drop", "-c", "member1", "--all", "--reason", "x", "--yes"];

#[tokio::test]
async fn how_far_it_is_with_many() {
    let told = order(many(503), None, &ALL).await;
    assert_eq!(told.orders.len(), 503);
    for line in ["  … and 493 more\n", "\n500 of 503 are through\n"] {
        assert!(told.notes.contains(line), "{}", told.notes);
    }
    let text = told.text();
    assert!(text.starts_with("Dropped: 503 workloads stay.\n"), "{text}");
    assert!(text.contains("… and 453 more: -o json shows all\n"), "{text}");
}

#[tokio::test]
async fn a_queue_that_goes_away_in_the_middle() {
    let queue = FixedQueue {
        takes_orders: Some(20),
        ..many(40)
    };
    let told = order(queue, None, &[&ALL[..], &["-o", "json"]].concat()).await;
    assert_eq!(
        told.ended.as_ref().unwrap().status,
        ExitStatus::Problem,
        "some are not as they should be"
    );
    let document: serde_json::Value = serde_json::from_str(told.text()).unwrap();
    let count = |name: &str| document[name].as_array().unwrap().len();
    assert_eq!(count("entries") + count("failed"), 40);
    assert!(count("entries") <= 20, "{document}");
    let why = document["failed"][0]["why"].as_str().unwrap();
    assert!(why.contains("it does not answer, or does not lead"), "{why}");
}

#[tokio::test]
async fn a_drop_is_taken_back() {
    let told = order(filled(), None, &["undrop", "default/db-deployment", "--yes"]).await;
    assert_snapshot!(told.notes, @r"
    This lets default/db-deployment leave member1 again
    It is Held, due 1m ago: Stay: dropped by alice: it is being repaired
    The taint manager takes failover.karmada.io/stay off the binding; from then on it goes when its turn comes.
    ");
    assert_snapshot!(told.text(), @r"
    Undropped: default/db-deployment may leave again.
    BINDING                CLUSTER  STATE  WHY
    default/db-deployment  member1  Held   Undropped: undrop by alice:
    Undo: failoverctl --queue-address QUEUE queue drop default/db-deployment --reason 'dropped again'
    ");
    assert_eq!(told.orders, ["undrop db-deployment: "]);
    let told = order(filled(), None, &["undrop", "-c", "member1", "--all", "--dry-run"]).await;
    assert_snapshot!(told.text(), @r"
    Dry run: nothing was changed. default/db-deployment could leave again:
    BINDING                   CLUSTER  STATE      WHY
    default/db-deployment     member1  Held       Undropped: undrop by alice:
    default/cache-deployment  member1  as before  a person's annotation failover.karmada.io/stay on the binding keeps it, no drop: annotation: stays whatever the cause
    ");
}

/// The way back touches what was touched, and nothing that stayed before.
#[tokio::test]
async fn the_undo_of_a_whole_cluster_is_exact() {
    let undo = async |queue: FixedQueue, verb: &str| {
        let args = [verb, "-c", "member1", "--all", "--reason", "x", "--yes", "-o", "json"];
        let told = order(queue, None, &args).await;
        let document: serde_json::Value = serde_json::from_str(told.text()).unwrap();
        let commands = document["undo"].as_array().unwrap().iter();
        commands
            .map(|command| {
                command
                    .as_str()
                    .unwrap()
                    .replace("failoverctl --queue-address QUEUE queue ", "")
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(undo(many(3), "drop").await, ["undrop --cluster member1 --all"]);
    let only_dropped = FixedQueue {
        entries: vec![dropped("a"), dropped("b")],
        ..FixedQueue::default()
    };
    let again = "--reason 'dropped again'";
    assert_eq!(
        undo(only_dropped, "undrop").await,
        [format!("drop --cluster member1 --all {again}")]
    );
    let one = format!("drop default/db-deployment --cluster member1 {again}");
    assert_eq!(undo(filled(), "undrop").await, [one], "the others were not dropped");
}

#[tokio::test]
async fn what_cannot_be_ordered_is_said() {
    let told = order(filled(), None, &NGINX).await;
    assert_eq!(told.failure().status(), ExitStatus::Usage);
    assert_snapshot!(told.failure().to_string(), @r"
    cannot drop default/nginx-deployment: nobody can be asked: standard input or standard error is no terminal
      next: pass --yes to do it without a question, or --dry-run to see what it would do
    ");
    let told = order(filled(), None, &["drop", "default/nothing", "--reason", "x", "--yes"]).await;
    assert_eq!(told.failure().status(), ExitStatus::Problem);
    assert_snapshot!(told.failure().to_string(), @r"
    cannot drop default/nothing: the eviction queue at QUEUE has no entry for it
      next: nothing makes it leave; see why: failoverctl explain binding default/nothing
    ");
    let told = order(
        filled(),
        None,
        &["drop", "default/nginx-deployment", "--reason", " ", "--yes"],
    )
    .await;
    assert_eq!(told.failure().status(), ExitStatus::Usage);
    let long = "x".repeat(257);
    let told = order(
        filled(),
        None,
        &["drop", "default/nginx-deployment", "--reason", &long, "--yes"],
    )
    .await;
    assert_snapshot!(told.failure().to_string(), @r"
    cannot drop default/nginx-deployment: --reason has 257 bytes, and the queue takes 256
      next: give a --reason of some words
    ");
    let told = order(filled(), None, &["undrop", "default/nginx-deployment", "--yes"]).await;
    assert_snapshot!(told.failure().to_string(), @r"
    cannot undrop default/nginx-deployment: on member1, it was not dropped
      next: nothing to do; what keeps it, if anything: failoverctl queue show default/nginx-deployment
    ");
    let told = order(filled(), None, &["undrop", "default/cache-deployment", "--yes"]).await;
    assert_snapshot!(told.failure().to_string(), @r"
    cannot undrop default/cache-deployment: on member1, a person's annotation failover.karmada.io/stay on the binding keeps it, no drop: annotation: stays whatever the cause
      next: what a person wrote into the annotation is a person's to take out: kubectl edit resourcebinding cache-deployment -n default
    ");
    for wrong in [
        &["drop", "--all", "--reason", "x"][..],
        &["drop", "--reason", "x"],
        &["drop", "a/b", "--all", "-c", "member1", "--reason", "x"],
        &["drop", "a/b"],
    ] {
        let args = [&["failoverctl", "queue"], wrong].concat();
        assert!(Cli::try_parse_from(args).is_err(), "{wrong:?}");
    }
}

/// As the eviction queue says it.
const NO_ADMIN: &str = "the client certificate of \"alice\" has the role reader, and QueueAdmin/Drop needs the role admin: \
     add one of its names to --queue-admins of the queue";

#[tokio::test]
async fn a_queue_that_refuses_is_known_before_the_question() {
    let refusing = |status| FixedQueue {
        order_refusal: Some(status),
        ..filled()
    };
    let told = order(
        refusing(tonic::Status::permission_denied(NO_ADMIN)),
        Some("y\n"),
        &NGINX,
    )
    .await;
    assert_eq!(told.failure().status(), ExitStatus::Unreachable);
    assert_snapshot!(told.failure().to_string(), @r#"
    cannot give an order to the eviction queue at QUEUE: it does not let us in: the client certificate of "alice" has the role reader, and QueueAdmin/Drop needs the role admin
      next: add one of its names to --queue-admins of the queue
    "#);
    assert_eq!(told.notes, "");
    let told = order(refusing(tonic::Status::unimplemented("")), Some("y\n"), &NGINX).await;
    assert!(told.failure().to_string().contains("older"), "{}", told.failure());
}
