//! `history`, on a real API in process.

use failoverctl::failure::ExitStatus;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::live::World;
use crate::objects::{after, cause};

pub fn record(name: &str, namespace: Option<&str>, from: &str, evicted: i64, status: &Value) -> Value {
    json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverRecord",
        "metadata": {"name": format!("{name}-{from}"), "namespace": namespace.unwrap_or("karmada-system")},
        "spec": {
            "binding": {"namespace": namespace, "name": name, "uid": "u"},
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": name},
            "from": from, "replicas": 1,
            "cause": {
                "type": "Taint", "verdict": cause(), "policies": ["not-ready-no-execute"],
                "message": "the taint is not tolerated",
            },
            "requestedBy": "taintManager",
            "affectedAt": after(evicted - 40), "dueAt": after(evicted - 40), "queuedAt": after(evicted - 39),
            "releasedAt": after(evicted - 1), "evictedAt": after(evicted),
        },
        "status": status,
    })
}

/// Records of three bindings, of which one moves still.
fn world() -> World {
    let world = World::new(&[]);
    world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    let done = json!({
        "to": [{"name": "member2", "replicas": 2}, {"name": "member3", "replicas": 1}],
        "scheduledAt": after(-290), "healthyAt": after(-280), "cleanedAt": after(-270),
        "outcome": "Completed", "reason": "the new copies are healthy",
    });
    let restored = json!({
        "to": [{"name": "member1"}], "cleanedAt": after(-80_000),
        "outcome": "Restored", "reason": "member1 is in the scheduling result again",
    });
    world.put(record("nginx", Some("default"), "member1", -300, &done));
    world.put(record("web", Some("shop"), "member2", -20, &json!({})));
    world.put(record("role", None, "member1", -90_000, &restored));
    world
}

#[tokio::test(start_paused = true)]
async fn moves_in_all_formats() {
    let world = world();
    for format in ["table", "wide", "json", "name"] {
        let answer = world.ask(&["history", "-o", format]).await;
        assert_eq!(answer.status, ExitStatus::Fine);
        assert_snapshot!(format!("history_{format}"), answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn filters() {
    let world = world();
    let names = async |args: &[&str]| {
        let args = [&["history", "-o", "name"], args].concat();
        world.ask(&args).await.text.trim_end().replace('\n', " ")
    };
    let (nginx, web, role) = (
        "default/nginx-member1",
        "shop/web-member2",
        "karmada-system/role-member1",
    );
    assert_eq!(names(&[]).await, format!("{web} {nginx} {role}"), "newest first");
    assert_eq!(names(&["default/nginx"]).await, nginx);
    assert_eq!(names(&["role"]).await, role);
    assert_eq!(names(&["web"]).await, "");
    assert_eq!(names(&["-n", "shop"]).await, web);
    assert_eq!(names(&["-n", "-"]).await, role);
    assert_eq!(names(&["-n", "karmada-system"]).await, "");
    assert_eq!(names(&["--cluster", "member1"]).await, format!("{nginx} {role}"));
    assert_eq!(names(&["--open"]).await, web, "of which no outcome is known");
    assert_eq!(names(&["--open", "--cluster", "member1"]).await, "");
    assert_eq!(names(&["--since", "1d"]).await, format!("{web} {nginx}"));
    assert_eq!(names(&["--since", &after(-30).to_string()]).await, web);
    assert_eq!(names(&["--limit", "1"]).await, web);
    let cut = world.ask(&["history", "--limit", "1"]).await.text;
    assert!(cut.ends_with("… and 2 more: --limit 0 shows all\n"), "{cut}");
}

#[tokio::test(start_paused = true)]
async fn nothing_to_tell() {
    let world = World::new(&[]);
    assert_snapshot!(world.ask(&["history"]).await.text, @"There is no FailoverRecord. Records are kept for --record-retention (7 days), and none is made where the taint manager runs with --failover-records=false.");
    world.put(record("nginx", Some("default"), "member1", -300, &json!({})));
    assert_snapshot!(world.ask(&["history", "-c", "member9"]).await.text, @"No FailoverRecord matches.");
}

/// What exists elsewhere is not denied, and what may be meant is named.
#[tokio::test(start_paused = true)]
async fn nothing_of_this_name_or_in_this_namespace() {
    let world = world();
    let told = async |args: &[&str]| world.ask(&[&["history"], args].concat()).await.text;
    assert_snapshot!(told(&["-n", "default2"]).await, @"There is no FailoverRecord in namespace default2.");
    assert_snapshot!(told(&["web"]).await, @"No FailoverRecord matches. Did you mean shop/web?");
    assert_snapshot!(told(&["default/role"]).await, @"No FailoverRecord matches. Did you mean role?");
    assert_snapshot!(told(&["shop/other"]).await, @"No FailoverRecord matches.");
}

/// More than one page of the API server.
#[tokio::test(start_paused = true)]
async fn many_moves() {
    let world = World::new(&[]);
    for number in 0..1_203 {
        let name = format!("app-{number}");
        world.put(record(&name, Some("default"), "member1", -number, &json!({})));
    }
    let all = world.ask_json(&["history", "--limit", "0"]).await;
    assert_eq!(all["total"], 1_203);
    assert_eq!(all["records"].as_array().unwrap().len(), 1_203);
    assert_eq!(all["records"][0]["binding"], "default/app-0");
    assert_eq!(all["records"][1_202]["binding"], "default/app-1202");
}

/// What the policies behind the taint asked for, where the record has it.
#[tokio::test(start_paused = true)]
async fn the_conditions_that_were_the_cause_are_told() {
    let world = World::new(&[]);
    let mut moved = record("nginx", Some("default"), "member1", -300, &json!({}));
    moved["spec"]["cause"]["conditions"] = json!([
        {"type": "Ready", "status": "False", "reason": "ClusterNotReachable"}, {"type": "Disk", "status": "Unknown"},
    ]);
    world.put(moved);
    let told = world.ask(&["history", "--record", "default/nginx-member1"]).await.text;
    assert!(
        told.contains("\n          Ready=False (ClusterNotReachable), Disk=Unknown\n"),
        "{told}"
    );
    let shown = world.ask_json(&["history"]).await;
    assert_eq!(shown["records"][0]["conditions"][0]["type"], "Ready");
}

/// All phases of one move with their times; of one that goes on, those that have come.
#[tokio::test(start_paused = true)]
async fn the_story_of_one_move() {
    let world = world();
    let told = world.ask(&["history", "--record", "default/nginx-member1"]).await;
    assert_eq!(told.status, ExitStatus::Fine);
    assert_snapshot!("history_story", told.text);
    let goes_on = world.ask(&["history", "--record", "shop/web-member2"]).await;
    assert_snapshot!("history_story_goes_on", goes_on.text);
    let of_the_system = world.ask_json(&["history", "--record", "role-member1"]).await;
    assert_eq!(of_the_system["records"][0]["outcome"], "Restored");
    let missing = world
        .try_ask(&["history", "--record", "default/other"])
        .await
        .unwrap_err();
    assert_eq!(missing.status(), ExitStatus::Problem);
    assert_snapshot!(missing.to_string(), @r"
    cannot tell FailoverRecord default/other: there is no such object
      next: choose one of those that there are, as in nginx-member1: failoverctl history -o wide
    ");
}
