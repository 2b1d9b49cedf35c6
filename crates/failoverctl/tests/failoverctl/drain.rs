//! `drain` and `undrain`: what they change, what they say, and what they refuse.

use failoverctl::failure::ExitStatus;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::live::{LIMIT, World, typed};
use crate::objects::{self, cluster, lease};
use crate::plan::world;

const DRAIN: &str = "cluster.karmada.io/drain";

fn taints(world: &World) -> Value {
    let cluster: Value = world.get("cluster.karmada.io/v1alpha1", "Cluster", None, "member1");
    cluster["spec"]["taints"].clone()
}

async fn in_time(work: impl Future<Output = ()>) {
    tokio::time::timeout(LIMIT, work).await.unwrap();
}

/// An evictor that takes leases and never completes them: somebody is connected.
pub async fn connected(
    world: &World,
) -> (
    tokio::sync::mpsc::UnboundedSender<eviction_queue_api::v1::LeaseRequest>,
    tokio::task::JoinSet<()>,
) {
    use eviction_queue_api::v1;
    let (send, receive) = tokio::sync::mpsc::unbounded_channel();
    let hello = v1::LeaseHello {
        identity: "evictor-1".to_owned(),
    };
    send.send(v1::LeaseRequest {
        message: Some(v1::lease_request::Message::Hello(hello)),
    })
    .unwrap();
    let client = eviction_queue_api::QueueClient::by_lease(world.sandbox.client(), "karmada-system", "evictor-1")
        .through(world.network.clone());
    client
        .inspect(LIMIT, async |mut service| {
            service.get_status(v1::GetStatusRequest {}).await
        })
        .await
        .unwrap();
    let mut queue = client.queue().await.unwrap();
    let stream = tokio_stream::wrappers::UnboundedReceiverStream::new(receive);
    let answers = queue.lease(stream).await.unwrap().into_inner();
    // The stream lives as long as it is read.
    let mut reading = tokio::task::JoinSet::new();
    reading.spawn(async move {
        let mut answers = answers;
        while let Ok(Some(_)) = answers.message().await {}
    });
    (send, reading)
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_shows_and_changes_nothing() {
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        let planned = world.ask(&["drain", "member1", "--dry-run"]).await;
        assert_snapshot!("drain_dry_run", planned.text);
        assert_eq!(taints(&world), Value::Null);
        let json = world
            .ask_json(&["drain", "member1", "--dry-run", "--accept-fewer-copies"])
            .await;
        assert_eq!(json["taint"]["value"], "accept-fewer-copies");
        assert_snapshot!("drain_json", serde_json::to_string_pretty(&json).unwrap());
        queue.stop().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_adds_its_taint_and_undrain_removes_exactly_that() {
    in_time(async {
        let world = world();
        let mut tainted = cluster("member1", "True");
        tainted.spec.taints = serde_json::from_value(json!([{"key": DRAIN, "effect": "NoSchedule"}])).unwrap();
        world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", json!(tainted)));
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        let drained = world
            .ask(&["drain", "member1", "--yes", "--detach", "--reason", "new disks"])
            .await;
        assert_eq!(drained.status, ExitStatus::Fine);
        assert_snapshot!(drained.text, @r"
        member1 is drained: what may leave it goes at the queue's rate.
        To follow it: failoverctl drain member1
        Undo: failoverctl undrain member1
        ");
        let stored = taints(&world);
        let at = world.around.clock.now();
        assert_eq!(stored[0], json!({"key": DRAIN, "effect": "NoSchedule"}));
        assert_eq!(
            (&stored[1]["key"], &stored[1]["effect"], stored[1]["value"].is_null()),
            (&json!(DRAIN), &json!("NoExecute"), true)
        );
        let added: jiff::Timestamp = stored[1]["timeAdded"].as_str().unwrap().parse().unwrap();
        assert!(at.duration_since(added).as_secs() <= 1, "{added} is not about {at}");
        let events = world.sandbox.list("v1", "Event");
        let told = events
            .iter()
            .find(|event| event["reason"] == "ClusterDrainStarted")
            .unwrap();
        assert_eq!(told["message"], "drained by failoverctl: new disks");

        // Again: nothing to change, nothing to ask.
        let version = |world: &World| {
            let cluster: Value = world.get("cluster.karmada.io/v1alpha1", "Cluster", None, "member1");
            cluster["metadata"]["resourceVersion"].clone()
        };
        let before = version(&world);
        let again = world.ask(&["drain", "member1", "--yes", "--detach"]).await;
        assert!(again.text.starts_with("member1 is drained already."), "{}", again.text);
        assert_eq!(version(&world), before);

        // Another value: taken back by the value before, not by an end of the drain.
        let changed = world
            .ask(&["drain", "member1", "--yes", "--detach", "--accept-fewer-copies"])
            .await;
        assert!(
            changed.text.ends_with(
                "To follow it: failoverctl drain member1 --accept-fewer-copies\n\
                 Undo: failoverctl drain member1 --accept-fewer-copies=false\n"
            ),
            "{}",
            changed.text
        );
        let accepting = taints(&world);
        assert_eq!(accepting[1]["value"], "accept-fewer-copies");
        assert_eq!(accepting[1]["timeAdded"], stored[1]["timeAdded"]);
        // Who only follows changes nothing of it.
        let followed = world.ask(&["drain", "member1", "--yes", "--detach"]).await;
        assert_eq!(taints(&world), accepting);
        assert!(
            followed
                .text
                .contains("To follow it: failoverctl drain member1 --accept-fewer-copies\n"),
            "{}",
            followed.text
        );
        world
            .ask(&["drain", "member1", "--yes", "--detach", "--accept-fewer-copies=false"])
            .await;
        assert_eq!(taints(&world), stored);

        let tried = world.ask(&["undrain", "member1", "--dry-run"]).await;
        assert_snapshot!("undrain_dry_run", tried.text);
        let tried = world.ask_json(&["undrain", "member1", "--dry-run"]).await;
        assert_snapshot!("undrain_dry_run_json", serde_json::to_string_pretty(&tried).unwrap());
        let ended = world.ask(&["undrain", "member1", "--yes"]).await;
        assert_eq!(ended.status, ExitStatus::Fine);
        assert!(
            ended.text.ends_with("Undo: failoverctl drain member1\n"),
            "{}",
            ended.text
        );
        assert_eq!(taints(&world), json!([{"key": DRAIN, "effect": "NoSchedule"}]));
        let twice = world.try_ask(&["undrain", "member1", "--yes"]).await.unwrap_err();
        assert_eq!(twice.status(), ExitStatus::Problem);
        assert_snapshot!(twice.to_string(), @r"
        cannot end the drain of member1: Cluster member1 has no taint cluster.karmada.io/drain:NoExecute
          next: nothing to do
        ");
        queue.stop().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_and_may_say_no() {
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        let nobody = world.try_ask(&["drain", "member1"]).await.unwrap_err();
        assert_eq!(nobody.status(), ExitStatus::Usage);
        world.console.will_answer("n\n");
        let declined = world.ask(&["drain", "member1", "--reason", "new disks"]).await;
        assert_eq!(declined.status, ExitStatus::Problem);
        assert_eq!(taints(&world), Value::Null);
        let notes = world.console.notes();
        assert!(
            notes.contains("This adds taint cluster.karmada.io/drain:NoExecute on member1, because: new disks."),
            "{notes}"
        );
        assert!(notes.contains("Move (2)"), "{notes}");
        queue.stop().await;
    })
    .await;
}

/// With something off that is needed, a taint would stand and nothing would leave: it says which.
#[tokio::test(start_paused = true)]
async fn what_is_off_is_named() {
    in_time(async {
        let world = World::new(&["evictor"]);
        let off = lease("taint-manager", 0, "Failover=false");
        world.put(typed("coordination.k8s.io/v1", "Lease", json!(off)));
        let refused = world.try_ask(&["drain", "member2", "--yes"]).await.unwrap_err();
        assert_eq!(refused.status(), ExitStatus::Problem);
        assert_snapshot!(refused.to_string(), @r"
        cannot drain member2: nothing would leave it: controller evictionQueue is not running, so nothing is queued or released; controller evictor is not running, so nothing is evicted; feature gate Failover is off for taintManager (to switch it on: --feature-gates=Failover=true)
          next: start what does not run and switch on what is off, then drain; who runs: failoverctl status
        ");
        let unknown = world.try_ask(&["drain", "member9", "--yes"]).await.unwrap_err();
        assert_snapshot!(unknown.to_string(), @r"
        cannot drain member9: there is no Cluster member9
          next: choose one of those that there are: member1, member2, member3
        ");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_an_evictor_at_the_queue_it_refuses() {
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let refused = world.try_ask(&["drain", "member1", "--yes"]).await.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("no evictor is connected to the eviction queue"),
            "{refused}"
        );
        queue.stop().await;
    })
    .await;
}

/// Ctrl-C ends the following, not the drain.
#[tokio::test(start_paused = true)]
async fn ctrl_c_detaches_and_says_so() {
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        let interrupted = async {
            world
                .console
                .wait_for("have to leave and are not in the queue yet")
                .await;
            world.console.interrupt();
        };
        let (left, ()) = tokio::join!(world.ask(&["drain", "member1", "--yes"]), interrupted);
        assert_eq!(
            left.status,
            ExitStatus::TimedOut,
            "what follows in a script counts on an empty cluster"
        );
        assert_snapshot!(left.text, @r"
        Detached: the drain of member1 goes on.
        To follow it: failoverctl drain member1
        Undo: failoverctl undrain member1
        ");
        assert!(
            world
                .console
                .notes()
                .contains("Ctrl-C ends the following, not the drain; that ends with: failoverctl undrain member1")
        );
        assert_eq!(taints(&world)[0]["key"], DRAIN);
        queue.stop().await;
    })
    .await;
}

/// Only what is held is left: it says which and why, and ends with exit status 1.
#[tokio::test(start_paused = true)]
async fn it_ends_when_only_what_is_held_is_left() {
    in_time(async {
        // Only nginx is there.
        let world = World::new(&[]);
        world.put(typed(
            "cluster.karmada.io/v1alpha1",
            "Cluster",
            json!(cluster("member1", "True")),
        ));
        world.put(json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "freeze"},
            "spec": {"scope": "Clusters", "clusters": ["member1"], "reason": "a change freeze"},
        }));
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        world.ask(&["drain", "member1", "--yes", "--detach"]).await;
        let stored = taints(&world)[0].clone();
        let added = stored["timeAdded"].as_str().unwrap();
        let mut entry = world.entry();
        let key = entry.key.as_mut().unwrap();
        key.cause = format!("{DRAIN}:NoExecute@{added}");
        entry.due_at = objects::proto(0);
        let _published = world.publish(vec![entry]).await;
        let ended = world.ask(&["drain", "member1", "--yes"]).await;
        assert_eq!(ended.status, ExitStatus::Problem);
        assert!(
            ended
                .text
                .starts_with("member1 is not empty: 1 entry left, all of them held."),
            "{}",
            ended.text
        );
        assert!(
            ended.text.contains("default/nginx-deployment  Paused"),
            "{}",
            ended.text
        );

        let undrained = world.ask_json(&["undrain", "member1", "--dry-run"]).await;
        assert_eq!(undrained["abandons"][0]["binding"], "default/nginx-deployment");
        assert_snapshot!(
            "undrain_json",
            serde_json::to_string_pretty(&undrained).unwrap().replace(added, "TIME")
        );
        queue.stop().await;
    })
    .await;
}

/// What has to leave and is not in the queue yet is waited for, though all that is there is held.
#[tokio::test(start_paused = true)]
async fn what_is_not_queued_yet_is_waited_for() {
    in_time(async {
        let world = world();
        world.put(json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "freeze"},
            "spec": {"scope": "Clusters", "clusters": ["member1"], "reason": "a change freeze"},
        }));
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        world.ask(&["drain", "member1", "--yes", "--detach"]).await;
        let mut entry = world.entry();
        let added = taints(&world)[0]["timeAdded"].as_str().unwrap().to_owned();
        entry.key.as_mut().unwrap().cause = format!("{DRAIN}:NoExecute@{added}");
        entry.due_at = objects::proto(0);
        let _published = world.publish(vec![entry]).await;
        let late = world.ask_json(&["drain", "member1", "--yes", "--within", "20s"]).await;
        assert_eq!(late["state"], "TimeUp", "one of three is in the queue: {late:#}");
        assert_eq!(late["held"].as_array().unwrap().len(), 1);
        queue.stop().await;
    })
    .await;
}

/// Nothing is on the cluster that may leave: the drain ends at once.
#[tokio::test(start_paused = true)]
async fn an_empty_cluster_is_drained_at_once() {
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        let drained = world.ask(&["drain", "member3", "--yes"]).await;
        assert_eq!(drained.status, ExitStatus::Fine);
        assert!(
            drained
                .text
                .starts_with("member3 is drained: nothing is left on it that may leave."),
            "{}",
            drained.text
        );
        let late = world.ask(&["drain", "member1", "--yes", "--within", "30s"]).await;
        assert_eq!(late.status, ExitStatus::TimedOut);
        assert!(
            late.text
                .starts_with("member1 is not empty yet: the time of --within is over"),
            "{}",
            late.text
        );
        queue.stop().await;
    })
    .await;
}

/// The Work by which a workload is on member3.
fn work(name: &str) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {
            "name": name, "namespace": "karmada-es-member3",
            "annotations": {
                "resourcebinding.karmada.io/namespace": "default",
                "resourcebinding.karmada.io/name": format!("{name}-deployment"),
            },
        },
        "spec": {"workload": {"manifests": []}},
    })
}

/// What has left the result runs on in the member until its Work is gone: until then nothing is done.
#[tokio::test(start_paused = true)]
async fn it_is_not_done_while_a_copy_is_there() {
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-member3"}}));
        world.put(work("gone"));
        let mut of_nobody = work("namespace");
        of_nobody["metadata"].as_object_mut().unwrap().remove("annotations");
        world.put(of_nobody);
        let late = world.ask_json(&["drain", "member3", "--yes", "--within", "20s"]).await;
        assert_eq!(
            (&late["state"], &late["oldCopies"], &late["unconfirmedCopies"]),
            (&json!("TimeUp"), &json!(1), &json!(0)),
            "{late:#}"
        );
        assert!(world.console.notes().contains("1 old copy is being removed"));

        let mut away = json!(cluster("member3", "False"));
        away["spec"]["taints"] = json!([{"key": DRAIN, "effect": "NoExecute", "timeAdded": objects::now()}]);
        world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", away));
        let unseen = world.ask(&["drain", "member3", "--yes", "--within", "20s"]).await;
        assert_eq!(unseen.status, ExitStatus::TimedOut);
        assert_snapshot!(unseen.text, @r"
        member3 is not empty yet: the time of --within is over, and the drain goes on.
        1 copy cannot be confirmed gone: cluster not Ready.
        To follow it: failoverctl drain member3
        To end it: failoverctl undrain member3
        ");

        let works: kube::Api<api_types::work::Work> =
            kube::Api::namespaced(world.sandbox.client(), "karmada-es-member3");
        works.delete("gone", &kube::api::DeleteParams::default()).await.unwrap();
        let done = world.ask_json(&["drain", "member3", "--yes"]).await;
        assert_eq!((&done["state"], &done["oldCopies"]), (&json!("Done"), &json!(0)));
        queue.stop().await;
    })
    .await;
}

fn refusal(code: u16) -> kube_sandbox::Effect {
    kube_sandbox::Effect::Error {
        code,
        reason: "no".to_owned(),
        message: "no".to_owned(),
    }
}

/// A request that fails is asked again, as the queue is; only for as long as --timeout.
#[tokio::test(start_paused = true)]
async fn a_request_that_fails_does_not_end_the_following() {
    use kube_sandbox::{Match, Verb};
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        let works = || Match::any().verb(Verb::List).resource("works");
        // The first question is whether one may ask at all.
        world.sandbox.faults().inject_times(works(), 1, 3, refusal(500));
        let drained = world.ask_json(&["drain", "member3", "--yes"]).await;
        assert_eq!(drained["state"], "Done");
        assert!(world.console.notes().contains("; asking again"));

        let broken = world.sandbox.faults().inject_times(works(), 1, 1_000, refusal(500));
        let failed = world.try_ask(&["drain", "member3", "--yes"]).await.unwrap_err();
        assert_eq!(failed.status(), ExitStatus::Unreachable);
        assert!(failed.to_string().contains("the drain goes on"), "{failed}");
        world.sandbox.faults().remove(broken);

        // Who may not see the copies is told before anything is changed.
        world.sandbox.faults().inject(works(), refusal(403));
        let refused = world.try_ask(&["drain", "member2", "--yes"]).await.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("may list works.work.karmada.io in namespace karmada-es-member2, or do not follow: --detach"),
            "{refused}"
        );
        let cluster: Value = world.get("cluster.karmada.io/v1alpha1", "Cluster", None, "member2");
        assert_eq!(cluster["spec"]["taints"], Value::Null);
        queue.stop().await;
    })
    .await;
}

/// A workload that leaves for another cause as well is not promised to stay.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_drain_says_what_leaves_all_the_same() {
    in_time(async {
        let world = world();
        let queue = world.start_queue().await;
        let _evictor = connected(&world).await;
        world.ask(&["drain", "member1", "--yes", "--detach"]).await;
        let mut member: Value = world.get("cluster.karmada.io/v1alpha1", "Cluster", None, "member1");
        let drain = member["spec"]["taints"][0].clone();
        member["spec"]["taints"] = json!([
            drain,
            {"key": objects::NOT_READY, "effect": "NoExecute", "timeAdded": objects::after(30)},
        ]);
        world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", member));
        let mut entry = world.entry();
        let added = drain["timeAdded"].as_str().unwrap();
        entry.key.as_mut().unwrap().cause = format!("{DRAIN}:NoExecute@{added}");
        entry.due_at = objects::proto(0);
        let _published = world.publish(vec![entry]).await;
        let tried = world.ask(&["undrain", "member1", "--dry-run"]).await;
        assert_snapshot!(tried.text, @r"
        Dry run: nothing was changed. The drain of member1 would end.
        1 workload waits to leave it because of that, and goes on for another cause:
        BINDING                   BECAUSE OF                                                   DUE
        default/nginx-deployment  cluster.karmada.io/not-ready:NoExecute@2026-01-31T12:00:30Z  2026-01-31T12:00:30Z (in 30s)
        ");
        let json = world.ask_json(&["undrain", "member1", "--dry-run"]).await;
        assert_eq!(json["abandons"], json!([]));
        assert_eq!(json["stillLeaving"][0]["binding"], "default/nginx-deployment");
        queue.stop().await;
    })
    .await;
}
