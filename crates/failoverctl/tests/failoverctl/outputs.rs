//! `-o` of every command: what holds of all. What each says as a table and as JSON has snapshots beside the tests of what it
//! says; here is that YAML is the JSON, that `-o wide` has more columns where it has any, and which names `-o name` prints.

use std::collections::BTreeSet;

use failoverctl::run::Answer;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::drain::connected;
use crate::dump::commands;
use crate::history::record;
use crate::live::{LIMIT, World};
use crate::objects::after;

/// What `-o wide` is of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wide {
    /// It has more columns, and a snapshot.
    HasMore,
    /// It is the table.
    IsTheTable,
}
use Wide::{HasMore, IsTheTable};

/// Every command that has formats; what changes something only says what it would do, so that it says it again.
const COMMANDS: &[(&[&str], Wide)] = &[
    (&["status"], HasMore),
    (&["queue", "list"], HasMore),
    (&["queue", "show", "default/nginx-deployment"], IsTheTable),
    (
        &[
            "queue",
            "drop",
            "default/nginx-deployment",
            "--reason",
            "r",
            "--dry-run",
        ],
        IsTheTable,
    ),
    (&["history"], HasMore),
    (&["plan", "--drain", "member1"], HasMore),
    (&["explain", "binding", "default/nginx-deployment"], HasMore),
    (&["explain", "cluster", "member1"], HasMore),
    (&["explain", "policy", crate::taints::NO_EXECUTE], HasMore),
    (&["pause", "list"], IsTheTable),
    (&["pause", "--scope", "all", "--reason", "r", "--dry-run"], IsTheTable),
    (&["resume", "freeze", "--dry-run"], IsTheTable),
    (&["drain", "member2", "--dry-run"], IsTheTable),
    (&["undrain", "member3", "--dry-run"], IsTheTable),
    (&["dump", "-f", "FILE"], IsTheTable),
    (&["lint", "tests/failoverctl/lint/slips.yaml"], IsTheTable),
    // Where all is ours; beside a stock Karmada it has more (`check.rs`).
    (&["check"], IsTheTable),
    (&["handback", "--dry-run"], IsTheTable),
    // The last: for it the entry is dropped.
    (
        &["queue", "undrop", "default/nginx-deployment", "--dry-run"],
        IsTheTable,
    ),
];
/// What needs another queue (`queue.rs`), one document a change (`watch.rs`), or text that has no other format.
const OTHERS: &[&[&str]] = &[
    &["queue", "recent"],
    &["queue", "watch"],
    &["kubeconfig"],
    &["completion"],
    &["man-pages"],
];

/// Something for every command to say.
async fn world() -> World {
    let world = World::new(&[]);
    world.put(record(
        "nginx-deployment",
        Some("default"),
        "member1",
        -300,
        &json!({
            "to": [{"name": "member2", "replicas": 3}], "scheduledAt": after(-290), "healthyAt": after(-280),
            "cleanedAt": after(-270), "outcome": "Completed", "reason": "the new copies are healthy",
        }),
    ));
    world.put(json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "freeze"},
        "spec": {"scope": "Clusters", "clusters": ["member3"], "reason": "a change freeze"},
    }));
    let mut drained = world
        .sandbox
        .get("cluster.karmada.io/v1alpha1", "Cluster", None, "member3")
        .unwrap();
    drained["spec"]["taints"] =
        json!([{"key": "cluster.karmada.io/drain", "effect": "NoExecute", "timeAdded": after(-60)}]);
    world.put(drained);
    world
}

#[test]
fn no_command_is_forgotten() {
    let all = commands();
    let named = |words: &&[&str]| -> Vec<String> {
        let is_of = |command: &&Vec<String>| {
            words.len() >= command.len() && words.iter().zip(command.iter()).all(|(word, name)| word == name)
        };
        let longest = all.iter().filter(is_of).max_by_key(|command| command.len());
        longest.unwrap_or_else(|| panic!("no command {words:?}")).clone()
    };
    let here: BTreeSet<Vec<String>> = COMMANDS
        .iter()
        .map(|(words, _)| words)
        .chain(OTHERS)
        .map(named)
        .collect();
    assert_eq!(here, all);
}

#[tokio::test(start_paused = true)]
async fn every_command_in_every_format() {
    tokio::time::timeout(LIMIT, async {
        let world = world().await;
        let queue = world.start_queue().await;
        let _published = world.publish(vec![world.entry()]).await;
        let _evictor = connected(&world).await;
        let directory = tempfile::tempdir().unwrap();
        let mut names = String::new();
        for (args, wide) in COMMANDS {
            if args.starts_with(&["queue", "undrop"]) {
                let drop = ["queue", "drop", "default/nginx-deployment", "--reason", "r", "--yes"];
                world.ask(&drop).await;
            }
            let ask = async |format: &str| -> Answer {
                let file = directory.path().join(format);
                let file = file.to_str().unwrap();
                let args = args.iter().map(|word| if *word == "FILE" { file } else { *word });
                let args: Vec<&str> = args.chain(["-o", format]).collect();
                let answer = world.ask(&args).await;
                let text = answer.text.replace(file, "FILE");
                Answer { text, ..answer }
            };
            let json = ask("json").await;
            let document: Value = serde_json::from_str(&json.text).unwrap();
            assert_eq!(document["apiVersion"], "failoverctl.karmada.io/v1alpha2", "{args:?}");
            let yaml = ask("yaml").await;
            let same: Value = serde_saphyr::from_str(&yaml.text).unwrap();
            assert_eq!(same, document, "{args:?}: {}", yaml.text);
            let (table, more) = (ask("table").await, ask("wide").await);
            let is_wide = if more.text == table.text { IsTheTable } else { HasMore };
            assert_eq!(is_wide, *wide, "{args:?}: {}", more.text);
            let name = ask("name").await;
            for answer in [&yaml, &table, &more, &name] {
                assert_eq!(answer.status, json.status, "{args:?}: the format plays no part");
            }
            names.push_str(&format!("$ failoverctl {} -o name\n{}", args.join(" "), name.text));
        }
        assert_snapshot!("names_of_every_command", names);
        queue.stop().await;
    })
    .await
    .unwrap();
}
