//! `explain binding`.

use api_types::work::{Binding, ResourceHealth};
use eviction_queue_api::v1;
use failoverctl::controllers::Mode;
use failoverctl::entry::{EntryView, MoveView};
use failoverctl::explain::binding::{ExplainReport, FromQueue, Gathered, report};
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::history::RecordView;
use failoverctl::output::Format;
use insta::assert_snapshot;
use serde_json::json;

use crate::objects::{
    after, binding, busy, calm, cluster, entry, evicted_binding, fleet, held, lease, leases, leases_without, now,
    proto, recent, tainted,
};
use crate::show;

fn queue(status: v1::GetStatusResponse, entries: Vec<EntryView>) -> Result<FromQueue, Failure> {
    Ok(FromQueue {
        status,
        entries,
        recent: vec![],
    })
}

/// member1 is away; its NoExecute taint is not tolerated, and the entry is ready in the second place.
fn ready() -> Gathered {
    let waiting = entry("nginx-deployment", -60, v1::EntryState::Ready);
    let placed = v1::GetEntryResponse {
        entry: Some(waiting.clone()),
        position: 2,
        estimated_release_at: proto(3),
        explanation: String::new(),
        as_of: None,
    };
    Gathered {
        binding: binding(),
        clusters: fleet(tainted("member1", "NoExecute")),
        leases: leases(),
        mode: Mode::Standalone,
        system_namespace: "karmada-system".to_owned(),
        queue: queue(busy(), vec![EntryView::of(&waiting).placed(&placed)]),
        moves: vec![],
    }
}

fn with(change: impl FnOnce(&mut Binding)) -> Binding {
    let mut binding = binding();
    change(&mut binding);
    binding
}

fn sentence(gathered: &Gathered) -> String {
    report(gathered, now()).conclusion.sentence()
}

fn explained(gathered: &Gathered) -> ExplainReport {
    report(gathered, now())
}

#[test]
fn ready_and_waiting_for_its_turn() {
    let report = explained(&ready());
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_snapshot!("ready", show(&report, Format::Table));
    assert_snapshot!("ready_wide", show(&report, Format::Wide));
    assert_snapshot!("ready_json", show(&report, Format::Json));
    assert_eq!(show(&report, Format::Name), "default/nginx-deployment\n");
}

#[test]
fn due_later() {
    let later = EntryView::of(&entry("nginx-deployment", 30, v1::EntryState::Waiting));
    let gathered = Gathered {
        queue: queue(busy(), vec![later]),
        clusters: fleet(tainted("member1", "PreferNoExecute")),
        ..ready()
    };
    let report = explained(&gathered);
    let member1 = report.clusters[0].verdict.clone().unwrap();
    assert_eq!(
        member1.due_at.unwrap().to_string(),
        "2026-01-31T12:00:30Z",
        "60 s of 90 s are over"
    );
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn held_for_want_of_a_place() {
    let entry = held(
        "nginx-deployment",
        v1::HoldReason::NoTarget,
        "only 2 of 3 replicas find a place",
    );
    let mut clusters = fleet(tainted("member1", "NoExecute"));
    clusters[1] = tainted("member2", "NoExecute");
    let report = explained(&Gathered {
        queue: queue(busy(), vec![EntryView::of(&entry)]),
        clusters,
        ..ready()
    });
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn held_for_a_second_owner() {
    let message = "a second controller does the job of taintManager in namespace default (it wrote the task for cluster member1 on \
                   default/web, at 2026-01-31T11:58:00Z): held until 5m after its last sign; to end it, run \
                   karmada-controller-manager with --feature-gates=Failover=false";
    let entry = held("nginx-deployment", v1::HoldReason::SecondOwner, message);
    let report = explained(&Gathered {
        queue: queue(busy(), vec![EntryView::of(&entry)]),
        ..ready()
    });
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    let text = show(&report, Format::Table);
    assert_eq!(
        text.lines().last().unwrap(),
        format!(
            "default/nginx-deployment has to leave member1 but is held: SecondOwner: {message}; it goes on by itself once the other \
             controller is switched off and no sign of it was seen for a while."
        )
    );
}

/// The cluster is well, and the application on it is not: the verdict is that of application failover.
#[test]
fn an_application_that_fails_on_a_cluster_that_is_well() {
    let failing = |rules: serde_json::Value, health: &str| {
        with(|binding| {
            binding.spec.failover = serde_json::from_value(json!({"application": rules})).unwrap();
            binding.status.get_or_insert_default().aggregated_status =
                serde_json::from_value(json!([{"clusterName": "member1", "applied": true, "health": health}])).unwrap();
            let clock = json!({"member1": {"unhealthySince": after(-30)}}).to_string();
            let annotations = binding.metadata.annotations.get_or_insert_default();
            annotations.insert("failover.karmada.io/health-clock".to_owned(), clock);
        })
    };
    let member1 = |binding: Binding| {
        let report = explained(&Gathered {
            binding,
            clusters: fleet(cluster("member1", "True")),
            queue: queue(calm(), vec![]),
            ..ready()
        });
        (report.clusters[0].verdict.clone().unwrap(), report)
    };
    let rules = json!({"decisionConditions": {"tolerationSeconds": 60}});
    let (verdict, report) = member1(failing(rules.clone(), "Unhealthy"));
    assert_eq!(verdict.due_at.unwrap().0, after(30));
    assert!(
        report
            .owner_says
            .ends_with("it moves when it is unhealthy for 60 s, Gracefully")
    );
    let summary = report.conclusion.sentence();
    assert!(
        summary.contains("has to leave member1") && summary.contains("application-failover-controller"),
        "{summary}"
    );

    let once_healthy = json!({"decisionConditions": {}, "preConditions": {"healthyState": "Healthy"}});
    let (verdict, _) = member1(failing(once_healthy, "Unhealthy"));
    assert!(!verdict.affected);
    assert!(verdict.reason.contains("was never healthy there"), "{}", verdict.reason);
    let (verdict, _) = member1(failing(rules, "Healthy"));
    assert!(
        verdict.reason.ends_with("the application is healthy there"),
        "{}",
        verdict.reason
    );
}

/// The dry run here knows less than the evictor did.
#[test]
fn the_evictor_found_no_place_where_the_dry_run_does() {
    let message = "no room on 2 clusters";
    let entry = held("nginx-deployment", v1::HoldReason::NoTarget, message);
    let report = explained(&Gathered {
        queue: queue(busy(), vec![EntryView::of(&entry)]),
        ..ready()
    });
    let text = show(&report, Format::Table);
    assert_snapshot!(text.lines().last().unwrap(), @"default/nginx-deployment has to leave member1 but is held: NoTarget: no room on 2 clusters; the evictor's word counts: it asks again by itself, with its own --plugins and --pre-eviction-check; the dry run here assumes their defaults, counts free room only where replicas are divided by it, and finds member2:3.");
}

#[test]
fn nothing_is_released() {
    let status = v1::GetStatusResponse {
        regime: v1::Regime::AllFaulty.into(),
        reason: "all 3 clusters are faulty".to_owned(),
        evictions_per_second: 0.0,
        ..busy()
    };
    let entries = ready().queue.unwrap().entries;
    let gathered = Gathered {
        queue: queue(status, entries),
        ..ready()
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn the_evictor_is_off() {
    let gathered = Gathered {
        leases: leases_without(&["evictor"]),
        ..ready()
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn the_taint_manager_is_off() {
    let gathered = Gathered {
        leases: leases_without(&["taint-manager"]),
        queue: queue(calm(), vec![]),
        ..ready()
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn a_queue_that_does_not_answer() {
    let failure = Failure::new(
        ExitStatus::Unreachable,
        "cannot reach the eviction queue at q:1",
        "refused",
        "start it",
    );
    assert_snapshot!(sentence(&Gathered {
        queue: Err(failure),
        ..ready()
    }));
}

#[test]
fn not_queued_yet() {
    assert_snapshot!(sentence(&Gathered {
        queue: queue(calm(), vec![]),
        ..ready()
    }));
}

#[test]
fn the_gate_is_off() {
    let leases = leases_without(&["taint-manager"])
        .into_iter()
        .chain([lease("taint-manager", -3, "Failover=false")])
        .collect();
    let gathered = Gathered {
        leases,
        queue: queue(calm(), vec![]),
        ..ready()
    };
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn tolerated() {
    let binding = with(|binding| {
        binding.spec.placement.as_mut().unwrap().cluster_tolerations =
            serde_json::from_value(json!([{"operator": "Exists"}])).unwrap();
    });
    assert_snapshot!(sentence(&Gathered {
        binding,
        queue: queue(calm(), vec![]),
        ..ready()
    }));
}

#[test]
fn not_opted_in() {
    let binding = with(|binding| binding.spec.failover = None);
    let clusters = fleet(tainted("member1", "PreferNoExecute"));
    assert_snapshot!(sentence(&Gathered {
        binding,
        clusters,
        queue: queue(calm(), vec![]),
        ..ready()
    }));
}

#[test]
fn it_stays_by_a_persons_word() {
    let binding = with(|binding| {
        let annotations = binding.metadata.annotations.get_or_insert_default();
        annotations.insert(
            "failover.karmada.io/stay".to_owned(),
            r#"[{"cluster": "member1"}]"#.to_owned(),
        );
    });
    let entry = held(
        "nginx-deployment",
        v1::HoldReason::Stay,
        "annotation failover.karmada.io/stay names member1",
    );
    let gathered = Gathered {
        binding,
        queue: queue(busy(), vec![EntryView::of(&entry)]),
        ..ready()
    };
    let report = explained(&gathered);
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_eq!(
        report.clusters[0].verdict.as_ref().unwrap().stay.as_deref(),
        Some("whatever the cause")
    );
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn the_old_copy_waits() {
    let binding = evicted_binding("True");
    let gathered = Gathered {
        binding,
        queue: queue(busy(), vec![]),
        ..ready()
    };
    let report = explained(&gathered);
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_eq!(report.tasks[0].fate, "Stays");
    assert_snapshot!("the_old_copy_waits", show(&report, Format::Table));
    assert_snapshot!("the_old_copy_waits_json", show(&report, Format::Json));
}

#[test]
fn the_controllers_own_words_come_first() {
    let mut binding = evicted_binding("True");
    let said = json!({
        "type": "GracefulEviction", "status": "True", "reason": "Waiting", "lastTransitionTime": after(-10),
        "message": "member0: other words | member1: ResourceHealth: member2 shows 2 of 3 replicas",
    });
    binding
        .status
        .as_mut()
        .unwrap()
        .conditions
        .push(serde_json::from_value(said).unwrap());
    let report = explained(&Gathered {
        binding,
        queue: queue(busy(), vec![]),
        ..ready()
    });
    assert_eq!(report.tasks[0].why, "ResourceHealth: member2 shows 2 of 3 replicas");
}

#[test]
fn it_left_and_found_no_place() {
    let mut binding = evicted_binding("False");
    binding.spec.clusters.clear();
    let gathered = Gathered {
        binding,
        queue: queue(busy(), vec![]),
        ..ready()
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(show(&explained(&gathered), Format::Table));
}

#[test]
fn it_moved_and_that_is_over() {
    let binding = with(|binding| binding.spec.clusters.retain(|target| target.name == "member2"));
    let mut answers = queue(calm(), vec![]).unwrap();
    answers.recent = vec![MoveView::of(&recent(
        "nginx-deployment",
        v1::Outcome::Evicted,
        "evicted from member1",
    ))];
    assert_snapshot!(sentence(&Gathered {
        binding,
        queue: Ok(answers),
        ..ready()
    }));
}

/// A queue with a new leader remembers nothing, and the record is still there.
#[test]
fn it_moved_before_the_queue_had_this_leader() {
    let binding = with(|binding| binding.spec.clusters.retain(|target| target.name == "member2"));
    let done = json!({"to": [{"name": "member2", "replicas": 3}], "outcome": "Completed", "reason": "the new copies are healthy"});
    let record = crate::history::record("nginx-deployment", Some("default"), "member1", -300, &done);
    let gathered = Gathered {
        binding,
        queue: queue(calm(), vec![]),
        moves: vec![RecordView::of(&serde_json::from_value(record).unwrap())],
        ..ready()
    };
    let report = explained(&gathered);
    assert_snapshot!("moves_on_record", show(&report, Format::Table));
    assert_snapshot!("moves_on_record_json", show(&report, Format::Json));
}

#[test]
fn nothing_moves_it() {
    let gathered = Gathered {
        clusters: fleet(cluster("member1", "True")),
        queue: queue(calm(), vec![]),
        ..ready()
    };
    assert_snapshot!(show(&explained(&gathered), Format::Table));
}

/// Scaled down to one replica, which member2 gets by its weight; the only healthy copy is member1's.
#[test]
fn the_last_copy_stays_until_another_is_healthy() {
    let binding = with(|binding| {
        binding.spec.replicas = Some(1);
        binding.spec.clusters[1].replicas = 1;
        let items = &mut binding.status.as_mut().unwrap().aggregated_status;
        items[0].health = Some(ResourceHealth::Healthy);
        items[1].health = Some(ResourceHealth::Unhealthy);
    });
    let gathered = Gathered {
        binding,
        clusters: fleet(cluster("member1", "True")),
        queue: queue(calm(), vec![]),
        ..ready()
    };
    let report = explained(&gathered);
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_eq!(
        report.conclusion.sentence(),
        "default/nginx-deployment runs on member1 (1 replica), member2 (1 replica); member1 stays in the result until \
         another copy is healthy: its copy may be the last that runs; so far member2 reports the copy as Unhealthy."
    );
    assert_eq!(report.kept.unwrap().clusters, ["member1"]);
    // After a failover member1 holds all; nobody divides that anew, so nothing is kept there.
    let moved = with(|binding| {
        binding.spec.replicas = Some(1);
        binding.spec.clusters.truncate(1);
    });
    assert_eq!(
        explained(&Gathered {
            binding: moved,
            ..gathered
        })
        .kept,
        None
    );
}

#[test]
fn it_is_being_deleted() {
    let binding = with(|binding| {
        binding.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()));
    });
    assert_snapshot!(sentence(&Gathered { binding, ..ready() }), @"default/nginx-deployment is being deleted, so nothing moves it.");
}

/// Whose matter the deletion of a Cluster is, depends on who schedules there.
#[test]
fn its_cluster_is_being_deleted() {
    let mut deleted = cluster("member1", "True");
    deleted.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(after(-90)));
    let of = |mode: Mode| {
        let gathered = Gathered {
            clusters: fleet(deleted.clone()),
            queue: queue(calm(), vec![]),
            mode,
            ..ready()
        };
        let told = explained(&gathered);
        let row = told.clusters.iter().find(|row| row.name == "member1").unwrap();
        let verdict = row.verdict.clone().unwrap();
        (verdict.affected, verdict.cause.is_some())
    };
    assert_eq!(of(Mode::Standalone), (true, true), "it leaves through the queue");
    assert_eq!(of(Mode::Beside), (false, false), "stock's scheduler moves it");
}

#[test]
fn nobody_schedules_it() {
    let binding = with(|binding| {
        binding.spec.clusters.clear();
        binding.status = None;
    });
    let gathered = Gathered {
        binding,
        leases: leases_without(&["scheduler"]),
        queue: queue(calm(), vec![]),
        ..ready()
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}
