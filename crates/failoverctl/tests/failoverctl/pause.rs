//! `pause`, `pause list` and `resume`, on a real API and a real queue in process.

use failoverctl::failure::ExitStatus;
use insta::assert_snapshot;
use kube_sandbox::{Effect, Match, Verb};
use serde_json::json;

use crate::live::{LIMIT, World};

const ALL: [&str; 6] = ["pause", "--scope", "all", "--reason", "network works", "--yes"];

fn paused(world: &World) -> Vec<String> {
    let pauses = world.sandbox.list("failover.karmada.io/v1alpha1", "FailoverPause");
    pauses
        .iter()
        .map(|pause| pause["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_pause_from_its_beginning_to_its_end() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let _published = world.publish(vec![world.entry()]).await;
        let args = [
            "pause",
            "-c",
            "member1",
            "--reason",
            "it's being repaired",
            "--for",
            "2h",
            "--name",
            "repair",
        ];

        let dry = world.ask(&[&args[..], &["--dry-run"]].concat()).await;
        assert_snapshot!(dry.text, @r"
        Dry run     nothing was changed; this would be made
        Pause       repair
        Stops       evictions from cluster member1
        Reason      it's being repaired
        Ends        2026-01-31T14:00:00Z (in 2h)
        Holds back  1 entry: 1 ready, 0 waiting
        ");
        assert_eq!(paused(&world), [""; 0], "nothing was changed");

        world.console.will_answer("n\n");
        let declined = world.ask(&args).await;
        assert_eq!((declined.text.as_str(), declined.status), ("", ExitStatus::Problem));
        assert_eq!(paused(&world), [""; 0]);
        assert_snapshot!(world.console.notes(), @r"
        This stops evictions from cluster member1 until 2026-01-31T14:00:00Z (in 2h), by FailoverPause repair: it's being repaired
        At present that holds back 1 entry: 1 ready, 0 waiting.
        Go on? [y/N] nothing was changed
        ");

        world.console.will_answer("y\n");
        let made = world.ask(&args).await;
        assert_snapshot!(made.text, @r"
        Pause      repair
        Stops      evictions from cluster member1
        Reason     it's being repaired
        Ends       2026-01-31T14:00:00Z (in 2h)
        In effect  yes, the queue holds 1 entry
        Undo       failoverctl resume repair
        ");
        assert_eq!(paused(&world), ["repair"]);

        let list = world.ask(&["pause", "list"]).await;
        assert_snapshot!(list.text, @r"
        NAME    STOPS                           IN EFFECT  HOLDS    ENDS                          REASON
        repair  evictions from cluster member1  yes        1 entry  2026-01-31T14:00:00Z (in 2h)  it's being repaired
        ");
        let status = world.ask(&["status"]).await;
        assert!(
            status.text.contains("repair (scope Clusters) until "),
            "{}",
            status.text
        );

        let again = world.try_ask(&args).await.unwrap_err();
        assert_eq!(again.status(), ExitStatus::Problem);
        assert_snapshot!(again.to_string(), @r"
        cannot make FailoverPause repair: there is one of this name: it stops evictions from cluster member1 until 2026-01-31T14:00:00Z, because: it's being repaired
          next: give another --name, or end that one first: failoverctl resume repair
        ");

        let dry = world.ask(&["resume", "repair", "--dry-run"]).await;
        assert_snapshot!(dry.text, @r"
        Dry run: nothing was changed. This would end:
        evictions from cluster member1 (repair), 1 entry may leave again
        ");
        assert_eq!(paused(&world), ["repair"]);
        let other = world.try_ask(&["resume", "repairs", "--yes"]).await.unwrap_err();
        assert_snapshot!(other.to_string(), @r"
        cannot end FailoverPause repairs: there is no such object
          next: choose one of those that there are: repair
        ");
        let ended = world.ask(&["resume", "repair", "--yes"]).await;
        assert_snapshot!(ended.text, @r"
        Resumed: evictions from cluster member1 (repair), 1 entry may leave again
        Undo: failoverctl pause --name repair --cluster member1 --until 2026-01-31T14:00:00Z --reason 'it'\''s being repaired'
        ");
        assert_eq!(paused(&world), [""; 0]);
        let none = world.ask(&["resume", "--all", "--yes"]).await;
        assert_snapshot!(none.text, @"There is no FailoverPause: nothing to resume.");
        queue.stop().await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_undo_of_a_resume_makes_the_same_pause() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
        world.put(json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "two"},
            "spec": {"scope": "Namespaces", "namespaces": ["-", "shop"], "reason": "it's $late", "until": "2027-01-01T00:00:00Z"},
        }));
        let before = world.sandbox.list("failover.karmada.io/v1alpha1", "FailoverPause")[0]["spec"].clone();
        let ended = world.ask_json(&["resume", "--all", "--yes"]).await;
        assert_eq!(ended["pauses"][0]["name"], "two");
        let undo = ended["undo"][0].as_str().unwrap().to_owned();
        assert_eq!(
            undo,
            r"failoverctl pause --name two --namespace -,shop --until 2027-01-01T00:00:00Z --reason 'it'\''s $late'"
        );
        let words = [
            "pause", "--name", "two", "--namespace", "-,shop", "--until", "2027-01-01T00:00:00Z", "--reason",
            "it's $late", "--yes",
        ];
        world.ask(&words).await;
        assert_eq!(world.sandbox.list("failover.karmada.io/v1alpha1", "FailoverPause")[0]["spec"], before);
    })
    .await
    .unwrap();
}

fn pause(name: &str, spec: &serde_json::Value) -> serde_json::Value {
    json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": name}, "spec": spec,
    })
}

#[tokio::test(start_paused = true)]
async fn one_of_two_pauses_does_not_end() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        for name in ["a", "b"] {
            world.put(pause(name, &json!({"scope": "All", "reason": "x"})));
        }
        // Both dry runs and the first deletion go through.
        let broken = Effect::Error {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "no".to_owned(),
        };
        let deletions = Match::any().verb(Verb::Delete).resource("failoverpauses");
        let faults = world.sandbox.faults();
        faults.inject_times(deletions, 3, 1, broken);
        let told = world.ask(&["resume", "--all", "--yes"]).await;
        assert_eq!(told.status, ExitStatus::Problem);
        assert_snapshot!(told.text, @r"
        Resumed: all evictions (a)
        FAILED: b still stands: cannot end FailoverPause b: the API server refuses: HTTP 403: no
        Undo: failoverctl pause --name a --scope all --reason x
        ");
        assert_eq!(paused(&world), ["b"]);
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_undo_is_printed_that_would_be_refused() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let gone = json!({"scope": "Clusters", "clusters": ["gone"], "reason": "x"});
        world.put(pause("gone", &gone));
        let over = json!({"scope": "All", "reason": "x", "until": "2026-01-30T00:00:00Z"});
        world.put(pause("over", &over));
        let told = world.ask(&["resume", "--all", "--yes"]).await;
        assert_eq!(told.status, ExitStatus::Fine);
        assert_snapshot!(told.text, @r"
        Resumed: evictions from cluster gone (gone)
        Resumed: all evictions (over)
        No undo of gone: cannot pause evictions of Cluster gone: there is no such Cluster, so that would stop nothing
        No undo of over: it was over already
        ");
        assert_eq!(paused(&world), [""; 0]);
    })
    .await
    .unwrap();
}

/// Who may not look is not held up; a server that does not answer is another matter.
#[tokio::test(start_paused = true)]
async fn clusters_that_cannot_be_looked_at() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let lists = || Match::any().verb(Verb::List).resource("clusters");
        let refusal = |code, reason: &str| Effect::Error {
            code,
            reason: reason.to_owned(),
            message: "no".to_owned(),
        };
        let args = ["pause", "-c", "member9", "--reason", "x", "--yes", "--name", "p"];
        let broken = world.sandbox.faults().inject(lists(), refusal(500, "InternalError"));
        let failure = world.try_ask(&args).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Unreachable, "{failure}");
        assert!(failure.to_string().starts_with("cannot list clusters: "), "{failure}");
        assert_eq!(paused(&world), [""; 0]);
        world.sandbox.faults().remove(broken);
        world.sandbox.faults().inject(lists(), refusal(403, "Forbidden"));
        world.ask(&args).await;
        assert_eq!(paused(&world), ["p"]);
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_is_said() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let failure = world.try_ask(&ALL[..5]).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Usage);
        assert_snapshot!(failure.to_string(), @r"
        cannot pause all evictions: nobody can be asked: standard input or standard error is no terminal
          next: pass --yes to do it without a question, or --dry-run to see what it would do
        ");
        let failure = world.try_ask(&["resume", "--all"]).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Usage);

        let refused = async |args: &[&str]| {
            let args = [&["pause", "--yes"], args].concat();
            let failure = world.try_ask(&args).await.unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Usage, "{failure}");
            failure.to_string()
        };
        assert_snapshot!(refused(&["--name", "p", "--scope", "clusters", "--reason", "x"]).await, @r"
        cannot make FailoverPause p: scope Clusters needs clusters
          next: correct the arguments: failoverctl pause --help
        ");
        assert_snapshot!(refused(&["--name", "p", "--scope", "all", "-c", "member1", "--reason", "x"]).await, @r"
        cannot make FailoverPause p: clusters goes with scope Clusters
          next: correct the arguments: failoverctl pause --help
        ");
        assert_snapshot!(refused(&["--name", "p", "--scope", "namespaces", "--reason", "x"]).await, @r"
        cannot make FailoverPause p: scope Namespaces needs namespaces ('-' stands for bindings of cluster scope)
          next: correct the arguments: failoverctl pause --help
        ");
        assert_snapshot!(refused(&["--name", "p", "--scope", "all", "-n", "default", "--reason", "x"]).await, @r"
        cannot make FailoverPause p: namespaces goes with scope Namespaces
          next: correct the arguments: failoverctl pause --help
        ");
        assert_snapshot!(refused(&["--name", "p", "--scope", "all", "--reason", ""]).await, @r"
        cannot make FailoverPause p: spec.reason in body should be at least 1 chars long
          next: correct the arguments: failoverctl pause --help
        ");
        assert_snapshot!(refused(&["--scope", "all", "--reason", "x", "--name", "A B"]).await, @r"
        cannot make FailoverPause A B: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
          next: correct the arguments: failoverctl pause --help
        ");

        let unknown = async |args: &[&str]| {
            let args = [&["pause", "--yes", "--reason", "x"], args].concat();
            let failure = world.try_ask(&args).await.unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Problem, "{failure}");
            failure.to_string()
        };
        assert_snapshot!(unknown(&["-c", "member1,membr"]).await, @r"
        cannot pause evictions of Cluster membr: there is no such Cluster, so that would stop nothing
          next: choose one of those that there are: member1, member2, member3
        ");
        assert_snapshot!(unknown(&["-c", "member"]).await, @r"
        cannot pause evictions of Cluster member: there is no such Cluster, so that would stop nothing
          next: did you mean member1 or member2 or member3?
        ");
        assert_snapshot!(unknown(&["-n", "shop,-"]).await, @r"
        cannot pause evictions of namespace shop: there is no such namespace, so that would stop nothing
          next: choose one of those that there are: default, karmada-system, kube-node-lease, kube-public, kube-system
        ");
        assert_eq!(paused(&world), [""; 0]);

        // Without a queue the pause is made, and that nobody can say what it holds is said.
        let made = world.ask(&ALL).await;
        assert_snapshot!(made.text, @r"
        Pause      all-20260131-120000
        Stops      all evictions
        Reason     network works
        Ends       when somebody resumes
        In effect  not known: cannot ask the eviction queue: no eviction queue runs: nobody holds a fresh Lease eviction-queue in namespace karmada-system
        Undo       failoverctl resume all-20260131-120000
        ");
        let list = world.ask(&["pause", "list"]).await;
        assert_snapshot!(list.text, @r"
        NAME                 STOPS          IN EFFECT  HOLDS  ENDS                   REASON
        all-20260131-120000  all evictions  ?          -      when somebody resumes  network works
        What they hold is not known: cannot ask the eviction queue: no eviction queue runs: nobody holds a fresh Lease eviction-queue in namespace karmada-system
        ");
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn documents() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let _published = world.publish(vec![world.entry()]).await;
        let made = world.ask(&[&ALL[..], &["--for", "1h", "-o", "json"]].concat()).await;
        assert_snapshot!("pause_change_json", made.text);
        let list = world.ask(&["pause", "list", "-o", "json"]).await;
        assert_snapshot!("pause_list_json", list.text);
        let names = world.ask(&["pause", "list", "-o", "name"]).await;
        assert_eq!(names.text, format!("failoverpause/{}\n", paused(&world)[0]));
        let ended = world.ask(&["resume", "--all", "--yes", "-o", "json"]).await;
        assert_snapshot!("resumption_json", ended.text);
        queue.stop().await;
    })
    .await
    .unwrap();
}

/// Of two things that are wrong, the one that is typed is said first.
#[tokio::test]
async fn arguments_are_judged_before_anything_is_looked_for() {
    use clap::Parser;
    use failoverctl::run::{Surroundings, run};
    let args = [
        "failoverctl",
        "--kubeconfig",
        "/nowhere/config",
        "pause",
        "--reason",
        "x",
    ];
    let around = Surroundings::plain(controller_kit::Clock::simulated(crate::objects::now()));
    let failure = run(&failoverctl::Cli::try_parse_from(args).unwrap(), &around)
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Usage);
    assert_snapshot!(failure.to_string(), @r"
    cannot pause: what to pause is not said
      next: give --cluster NAME, --namespace NAME, or --scope all to stop every eviction
    ");
}
