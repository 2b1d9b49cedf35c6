use std::sync::Arc;
use std::time::Duration;

use eviction_queue_api::v1;
use eviction_queue_api::v1::watch_entries_response::Message;
use failover_core::eviction::queue::WithdrawReason;
use kube_sandbox::{Effect, Match, Verb};
use tonic::Code;

use crate::world::{Producer, World};
use test_bench::paused;

#[test]
fn pages_are_of_one_snapshot() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let entries = world.entries_of("m1", 250);
        let producer = Producer::publish(&world, entries.clone()).await;
        let mut service = world.client().inspection().await.unwrap();
        let mut request = v1::ListEntriesRequest {
            page_size: 100,
            ..v1::ListEntriesRequest::default()
        };
        let first = service.list_entries(request.clone()).await.unwrap().into_inner();
        producer.withdraw(entries.iter().map(|entry| &*entry.key), WithdrawReason::Tolerated);
        world.settle().await;
        let mut seen = first.entries.clone();
        request.page_token = first.next_page_token.clone();
        while !request.page_token.is_empty() {
            let page = service.list_entries(request.clone()).await.unwrap().into_inner();
            assert_eq!(
                (page.total, page.as_of, page.revision),
                (250, first.as_of, first.revision)
            );
            seen.extend(page.entries);
            request.page_token = page.next_page_token;
        }
        let names: Vec<_> = seen
            .iter()
            .map(|e| e.published.as_ref().unwrap().key.as_ref().unwrap().name.clone())
            .collect();
        assert_eq!(
            names,
            entries
                .iter()
                .map(|entry| entry.key.binding.name.clone())
                .collect::<Vec<_>>()
        );

        request.page_token = first.next_page_token;
        request.filter = Some(v1::EntryFilter {
            cluster: "m2".into(),
            ..v1::EntryFilter::default()
        });
        assert_eq!(
            service.list_entries(request.clone()).await.unwrap_err().code(),
            Code::InvalidArgument
        );
        request.filter = None;
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert_eq!(
            service.list_entries(request.clone()).await.unwrap_err().code(),
            Code::OutOfRange
        );
        request.page_token = "nonsense".into();
        assert_eq!(
            service.list_entries(request).await.unwrap_err().code(),
            Code::InvalidArgument
        );
    });
}

// A large list is not kept whole for who has read most of it.
#[test]
fn a_page_can_be_asked_for_again_until_the_one_after_the_next_was() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let entries = ["m1", "m2", "h1", "h2"]
            .map(|cluster| world.entries_of(cluster, 10))
            .concat();
        let _producer = Producer::publish(&world, entries).await;
        let mut service = world.client().inspection().await.unwrap();
        let mut request = v1::ListEntriesRequest {
            page_size: 10,
            ..v1::ListEntriesRequest::default()
        };
        let mut asked = Vec::new();
        for _ in 0..4 {
            asked.push(request.clone());
            let page = service.list_entries(request.clone()).await.unwrap().into_inner();
            assert_eq!(page.entries.len(), 10);
            request.page_token = page.next_page_token;
        }
        let again = service.list_entries(asked.remove(2)).await.unwrap().into_inner();
        assert_eq!(again.entries.len(), 10, "the page before the last");
        let refused = service.list_entries(asked.remove(1)).await.unwrap_err();
        assert_eq!(refused.code(), Code::OutOfRange);
        assert!(refused.message().contains("start with the first page"), "{refused}");
    });
}

#[test]
fn filters_lanes_and_one_entry() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.5)).await;
        let mut cluster_scoped = world.entry("m2", "role", 0);
        Arc::make_mut(&mut cluster_scoped.key).binding.namespace = None;
        let entries = vec![
            world.entry("m1", "a", -5),
            world.entry("m1", "b", 0),
            world.entry("m1", "later", 600),
            cluster_scoped,
        ];
        let _producer = Producer::publish(&world, entries).await;
        let names = |filter: v1::EntryFilter| async {
            let entries = world.entries(filter).await;
            entries
                .into_iter()
                .map(|e| e.published.unwrap().key.unwrap().name)
                .collect::<Vec<_>>()
        };
        let all = v1::EntryFilter::default;
        assert_eq!(
            names(v1::EntryFilter {
                cluster: "m1".into(),
                ..all()
            })
            .await,
            ["a", "b", "later"]
        );
        assert_eq!(
            names(v1::EntryFilter {
                namespace: "-".into(),
                ..all()
            })
            .await,
            ["role"]
        );
        assert_eq!(
            names(v1::EntryFilter {
                state: v1::EntryState::Waiting.into(),
                ..all()
            })
            .await,
            ["later"]
        );
        assert_eq!(
            names(v1::EntryFilter {
                name: "b".into(),
                ..all()
            })
            .await,
            ["b"]
        );
        assert!(
            names(v1::EntryFilter {
                kind: "Job".into(),
                ..all()
            })
            .await
            .is_empty()
        );
        assert!(
            names(v1::EntryFilter {
                cause_kind: v1::CauseKind::Deletion.into(),
                ..all()
            })
            .await
            .is_empty()
        );

        // Somebody who could evict, but takes nothing.
        let _consumer = crate::world::Consumer::connect(&world.client(), 0).await.unwrap();
        world.settle().await;
        let mut service = world.client().inspection().await.unwrap();
        let lanes = service
            .list_lanes(v1::ListLanesRequest {})
            .await
            .unwrap()
            .into_inner()
            .lanes;
        let shown: Vec<_> = lanes
            .iter()
            .map(|lane| (lane.cluster.as_str(), lane.faulty, lane.totals.unwrap()))
            .collect();
        let totals = |ready, waiting| v1::Totals {
            ready,
            waiting,
            leased: 0,
            held: 0,
        };
        assert_eq!(shown, [("m1", true, totals(2, 1)), ("m2", true, totals(1, 0))]);
        assert!(lanes[0].next_due_at.is_some());

        let key = v1::GetEntryRequest {
            namespace: "default".into(),
            name: "b".into(),
            cluster: String::new(),
        };
        let entry = service.get_entry(key).await.unwrap().into_inner();
        assert_eq!(entry.position, 3, "a, then the other lane, then b");
        assert!(
            entry
                .explanation
                .starts_with("number 3 in the order of release, at 0.5 evictions a second"),
            "{}",
            entry.explanation
        );
        assert!(entry.estimated_release_at.is_some());
        let key = v1::GetEntryRequest {
            namespace: "default".into(),
            name: "later".into(),
            cluster: "m1".into(),
        };
        let entry = service.get_entry(key).await.unwrap().into_inner();
        assert_eq!(
            (entry.position, entry.explanation.as_str()),
            (0, "due at 2026-01-01T00:10:00Z: taint k:NoExecute is not tolerated")
        );
        let missing = v1::GetEntryRequest {
            name: "nobody".into(),
            ..v1::GetEntryRequest::default()
        };
        assert_eq!(service.get_entry(missing).await.unwrap_err().code(), Code::NotFound);
    });
}

#[test]
fn a_watch_tells_everything_and_goes_on_from_a_position() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let entries = world.entries_of("m1", 3);
        let producer = Producer::publish(&world, entries.clone()).await;
        let mut service = world.client().inspection().await.unwrap();
        let mut watch = service
            .watch_entries(v1::WatchEntriesRequest::default())
            .await
            .unwrap()
            .into_inner();
        let mut told = Vec::new();
        let (epoch, position) = loop {
            let step = watch.message().await.unwrap().unwrap();
            match step.message.unwrap() {
                Message::Changed(entry) => told.push(entry.published.unwrap().key.unwrap().name),
                Message::Synced(synced) => break (synced.queue_epoch, step.revision),
                Message::Removed(_) => panic!("nothing left"),
            }
        };
        assert_eq!(told.len(), 3);
        drop(watch);
        producer.withdraw([&*entries[1].key], WithdrawReason::Tolerated);
        world.settle().await;
        let again = v1::WatchEntriesRequest {
            after_revision: position,
            queue_epoch: epoch,
        };
        let mut watch = service.watch_entries(again).await.unwrap().into_inner();
        assert!(matches!(
            watch.message().await.unwrap().unwrap().message,
            Some(Message::Synced(_))
        ));
        let Some(Message::Removed(removed)) = watch.message().await.unwrap().unwrap().message else {
            panic!("removed")
        };
        assert_eq!(
            (removed.reason(), removed.message.as_str()),
            (v1::RemovedReason::Tolerated, "the workload tolerates the cause now")
        );

        let elsewhere = v1::WatchEntriesRequest {
            after_revision: position,
            queue_epoch: "other/1".into(),
        };
        let mut refused = service.watch_entries(elsewhere).await.unwrap().into_inner();
        assert_eq!(refused.message().await.unwrap_err().code(), Code::OutOfRange);
    });
}

// Whatever keeps entries in the queue says so.
#[test]
fn the_status_says_what_is_in_the_way() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.5)).await;
        let nobody = [
            "nothing is released: no evictor is connected",
            "nobody publishes: no taint manager is connected",
        ];
        assert_eq!(world.status().await.notes, nobody);
        let producer = Producer::publish(&world, vec![world.entry("m1", "a", 0)]).await;
        let mut service = world.client().inspection().await.unwrap();
        let key = v1::GetEntryRequest {
            namespace: "default".into(),
            name: "a".into(),
            cluster: String::new(),
        };
        let entry = service.get_entry(key).await.unwrap().into_inner();
        assert_eq!(
            entry.explanation,
            "number 1 in the order of release; nothing is released: no evictor is connected"
        );
        let _consumer = crate::world::Consumer::connect(&world.client(), 0).await.unwrap();
        world.settle().await;
        assert_eq!(world.status().await.notes, [""; 0]);
        drop(producer);
        tokio::time::sleep(Duration::from_secs(31)).await;
        let away = "entries of taintManager are held: it has not come back since 2026-01-01T00:00:00.";
        assert!(
            world.status().await.notes[0].starts_with(away),
            "{:?}",
            world.status().await.notes
        );
    });
}

#[test]
fn a_pause_shows_what_it_holds_back() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.5)).await;
        let entries = vec![
            world.entry("m1", "a", 0),
            world.entry("m1", "later", 600),
            world.entry("m2", "b", 0),
        ];
        let _producer = Producer::publish(&world, entries).await;
        let until = world.clock.now() + jiff::SignedDuration::from_secs(60);
        world.put(serde_json::json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "m1-freeze"},
            "spec": {"scope": "Clusters", "clusters": ["m1"], "reason": "switch upgrade", "until": until},
        }));
        tokio::time::sleep(Duration::from_secs(3)).await;
        let status = || {
            world
                .plane
                .get("failover.karmada.io/v1alpha1", "FailoverPause", None, "m1-freeze")
                .unwrap()["status"]
                .clone()
        };
        assert_eq!(status(), serde_json::json!({"active": true, "heldEntries": 1}));
        let writes = world.plane.faults().writes().len();
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(world.plane.faults().writes().len() - writes <= 8, "Lease renewals only");
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(status(), serde_json::json!({"active": false, "heldEntries": 0}));
        tokio::time::sleep(Duration::from_secs(10)).await;
        let events = world.plane.list("v1", "Event");
        let said: Vec<_> = events
            .iter()
            .filter(|event| event["involvedObject"]["kind"] == "FailoverPause")
            .map(|event| {
                (
                    event["reason"].as_str().unwrap_or_default(),
                    event["message"].as_str().unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                ("PauseBegan", "evictions from clusters m1 are held back: switch upgrade"),
                (
                    "PauseEnded",
                    "evictions from clusters m1 are released again: switch upgrade"
                ),
            ]
        );
    });
}

// At rest nothing else would bring the status up again.
#[test]
fn the_status_of_a_pause_is_written_although_the_api_server_refused_it_for_a_while() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let status = || {
            let pause = world
                .plane
                .get("failover.karmada.io/v1alpha1", "FailoverPause", None, "freeze");
            pause.unwrap()["status"].clone()
        };
        let away = Effect::Error {
            code: 503,
            reason: "ServiceUnavailable".into(),
            message: "away".into(),
        };
        let the_write = Match::default()
            .verb(Verb::Patch)
            .resource("failoverpauses")
            .subresource("status");
        world.plane.faults().inject_times(the_write, 0, 3, away);
        world.put(serde_json::json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "freeze"},
            "spec": {"scope": "All", "reason": "change night"},
        }));
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(status(), serde_json::Value::Null);
        tokio::time::sleep(Duration::from_secs(27)).await;
        assert_eq!(status()["active"], true);
        let events = world.plane.list("v1", "Event");
        assert!(events.iter().any(|event| event["reason"] == "PauseBegan"), "{events:?}");
    });
}
