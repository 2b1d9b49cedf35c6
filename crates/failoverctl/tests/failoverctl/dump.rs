//! `dump` and `--from`: what is in it, what is not, and that the reading commands say the same on it.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{CommandFactory, Parser};
use failoverctl::Cli;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::run::{Answer, run};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::live::{LIMIT, World, typed};
use crate::objects::cluster;

async fn from(world: &World, file: &Path, args: &[&str]) -> Result<Answer, Failure> {
    let cli = [&["failoverctl", "--from", file.to_str().unwrap()], args].concat();
    run(&Cli::try_parse_from(cli).unwrap(), &world.around).await
}

/// A dump of a world in which an entry waits, and the folder in which it lies; controllers that are off hold no Lease.
pub async fn of_a_waiting_entry(off: &[&str]) -> (tempfile::TempDir, String) {
    let world = World::new(off);
    let queue = world.start_queue().await;
    let _published = world.publish(vec![world.entry()]).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dump.jsonl").to_str().unwrap().to_owned();
    world.ask(&["dump", "-f", &file]).await;
    queue.stop().await;
    (directory, file)
}

fn without_as_of(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value.as_object_mut().unwrap().remove("asOf");
    value
}

/// Commands that say the same on a dump.
pub const ON_A_DUMP: &[&[&str]] = &[
    &["status"],
    &["status", "member1"],
    &["plan", "--fail", "member2"],
    &["plan", "--drain", "member1"],
    &["history"],
    &["explain", "binding", "default/nginx-deployment"],
    &["explain", "cluster", "member1"],
    &["explain", "policy", crate::taints::NO_EXECUTE],
    &["queue", "list"],
    &["queue", "show", "default/nginx-deployment"],
    &["queue", "recent"],
    &["pause", "list"],
];
/// It looks at much that a dump does not hold, and says so.
pub const SAYS_WHAT_IT_CANNOT_SEE: &[&[&str]] = &[&["check"]];
/// Commands that change something, follow it, or read no control plane.
const NOT_ON_A_DUMP: &[&[&str]] = &[
    &["queue", "watch"],
    &["queue", "drop", "default/nginx-deployment", "--reason", "r", "--yes"],
    &["queue", "undrop", "default/nginx-deployment", "--yes"],
    &["pause", "--scope", "all", "--reason", "r", "--yes"],
    &["resume", "p", "--yes"],
    &["drain", "member1", "--yes"],
    &["undrain", "member1", "--yes"],
    &["dump", "-f", "other"],
    &["lint", "file"],
    &["kubeconfig", "taint-manager"],
    &["handback", "--yes"],
    &["completion", "bash"],
    &["man-pages", "folder"],
];

/// The commands that do something, each by its words.
pub fn commands() -> BTreeSet<Vec<String>> {
    fn under(command: &clap::Command, words: &[String], into: &mut BTreeSet<Vec<String>>) {
        let mut below = command
            .get_subcommands()
            .filter(|below| below.get_name() != "help")
            .peekable();
        let does_something = below.peek().is_none() || !command.is_subcommand_required_set();
        if does_something && !words.is_empty() {
            into.insert(words.to_vec());
        }
        for below in below {
            under(below, &[words, &[below.get_name().to_owned()]].concat(), into);
        }
    }
    let mut all = BTreeSet::new();
    under(&Cli::command(), &[], &mut all);
    all
}

// "Everything that reads works on a dump": no command is forgotten here, and what does not read is refused.
#[tokio::test(start_paused = true)]
async fn every_command_reads_a_dump_or_refuses_it() {
    let of = |lists: &[&[&[&str]]]| -> BTreeSet<Vec<String>> {
        let all = commands();
        let words = lists.iter().flat_map(|list| list.iter());
        let named = words.map(|words| {
            let is_of = |command: &&Vec<String>| {
                words.len() >= command.len() && words.iter().zip(command.iter()).all(|(word, name)| word == name)
            };
            let longest = all.iter().filter(is_of).max_by_key(|command| command.len());
            longest.unwrap_or_else(|| panic!("no command {words:?}")).clone()
        });
        named.collect()
    };
    assert_eq!(of(&[ON_A_DUMP, SAYS_WHAT_IT_CANNOT_SEE, NOT_ON_A_DUMP]), commands());
    let world = World::new(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dump.jsonl");
    world.ask(&["dump", "-f", file.to_str().unwrap()]).await;
    for args in NOT_ON_A_DUMP {
        let refused = from(&world, &file, args).await.unwrap_err();
        assert_eq!(refused.status(), ExitStatus::Usage, "{args:?}");
        let words = "a dump can be looked at, and neither changed nor followed";
        assert!(refused.to_string().contains(words), "{args:?}: {refused}");
    }
    for args in SAYS_WHAT_IT_CANNOT_SEE {
        let looked = from(&world, &file, args).await.unwrap();
        assert!(
            looked.text.contains("a dump does not tell"),
            "{args:?}: {}",
            looked.text
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_reading_commands_say_the_same_on_a_dump() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let _published = world.publish(vec![world.entry()]).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("dump.jsonl");
        let path = file.to_str().unwrap();
        let written = world.ask(&["dump", "-f", path]).await;
        assert_eq!(written.status, ExitStatus::Fine, "{}", written.text);
        for args in ON_A_DUMP {
            let args = &[*args, &["-o", "json"]].concat()[..];
            let living = world.ask(args).await;
            let dumped = from(&world, &file, args).await.unwrap();
            assert_eq!(without_as_of(&dumped.text), without_as_of(&living.text), "{args:?}");
            assert_eq!(dumped.status, living.status, "{args:?}");
        }
        assert!(world.console.notes().contains("when the dump was made"));
        queue.stop().await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_in_it() {
    let world = World::new(&[]);
    world.put(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "member1", "namespace": "karmada-system"},
        "stringData": {"token": "very-secret"},
    }));
    let mut member = json!(cluster("member1", "True"));
    member["spec"]["secretRef"] = json!({"namespace": "karmada-system", "name": "member1"});
    member["spec"]["proxyURL"] = json!("https://me:very-secret@proxy:8080/path?token=very-secret");
    member["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": "{\"very-secret\": 1}"});
    world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", member));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dump.jsonl");
    let written = world.ask(&["dump", "-f", file.to_str().unwrap()]).await;
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("very-secret"), "{text}");
    assert!(!text.contains("\"kind\":\"Secret\""));
    assert!(text.contains("https://proxy:8080/path\""));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it is for whom it is given to");
    }
    let shown = written.text.replace(directory.path().to_str().unwrap(), "DIR");
    let bytes = std::fs::metadata(&file).unwrap().len().to_string();
    assert_snapshot!("dump_without_queue", shown.replace(&bytes, "N"));
    let again = directory.path().join("again.jsonl");
    let mut written = world.ask_json(&["dump", "-f", again.to_str().unwrap()]).await;
    let size = std::fs::metadata(&again).unwrap().len();
    assert_eq!(written["bytes"], json!(size), "all of it is counted");
    written["bytes"] = json!(0);
    written["file"] = json!("again.jsonl");
    assert_snapshot!("dump_json", serde_json::to_string_pretty(&written).unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_dump_is_refused() {
    let world = World::new(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dump.jsonl");
    world.ask(&["dump", "-f", file.to_str().unwrap()]).await;
    let again = world
        .try_ask(&["dump", "-f", file.to_str().unwrap()])
        .await
        .unwrap_err();
    assert_eq!(again.status(), ExitStatus::Usage);
    assert!(
        again
            .to_string()
            .ends_with("next: name another file with -f: none is overwritten"),
        "{again}"
    );

    let nowhere = directory.path().join("missing/dump.jsonl");
    let failed = world
        .try_ask(&["dump", "-f", nowhere.to_str().unwrap()])
        .await
        .unwrap_err();
    assert_eq!(failed.status(), ExitStatus::Problem, "{failed}");

    let whole = std::fs::read_to_string(&file).unwrap();
    let refused = async |text: &str| {
        let file = directory.path().join("bad");
        std::fs::write(&file, text).unwrap();
        let failure = from(&world, &file, &["status"]).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Usage);
        failure.one_line().replace(directory.path().to_str().unwrap(), "DIR")
    };
    let lines: Vec<&str> = whole.lines().collect();
    let objects = lines.len() - 2;
    let no_end = refused(&lines[..lines.len() - 1].join("\n")).await;
    assert_eq!(
        no_end,
        format!(
            "cannot read the dump DIR/bad: it is cut off at line {}, after {objects} objects and answers: its last line is missing",
            lines.len()
        )
    );
    let in_a_line = refused(&whole[..lines[0].len() + 40]).await;
    assert!(
        in_a_line.contains("it is cut off at line 2, after 0 objects"),
        "{in_a_line}"
    );
    let one_away = [&lines[..1], &lines[2..]].concat().join("\n");
    let missing = refused(&one_away).await;
    assert!(
        missing.ends_with(&format!("it says that it has {objects} lines, and has {}", objects - 1)),
        "{missing}"
    );
    // Wherever a copy breaks off, it is noticed; only the last line feed may be missing.
    for end in (0..whole.len() - 1).step_by(61) {
        let at = refused(&whole[..end]).await;
        assert!(at.starts_with("cannot read the dump DIR/bad: "), "{end}: {at}");
    }
    assert_snapshot!(refused("").await, @"cannot read the dump DIR/bad: it is empty");
    assert_snapshot!(refused("hello\n").await, @"cannot read the dump DIR/bad: it is no dump: its first line says nothing of one");
    assert_snapshot!(
        refused("{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n").await,
        @"cannot read the dump DIR/bad: it is no dump: it begins with a Pod of v1"
    );
    let newer = whole.replacen("failoverctl.karmada.io/v1alpha2", "failoverctl.karmada.io/v9", 1);
    assert!(
        refused(&newer)
            .await
            .contains("it is a dump of version failoverctl.karmada.io/v9")
    );

    // What a dump is made of is the same in the version before this.
    let older = directory.path().join("older");
    std::fs::write(&older, whole.replacen("v1alpha2", "v1alpha1", 1)).unwrap();
    from(&world, &older, &["status"]).await.unwrap();

    let changing = from(&world, &file, &["drain", "member1", "--yes"]).await.unwrap_err();
    assert_eq!(changing.status(), ExitStatus::Usage);
    assert!(
        changing
            .to_string()
            .contains("a dump can be looked at, and neither changed nor followed"),
        "{changing}"
    );
}

/// A dump that breaks off in the middle of a kind is a part, and says so: a plan from a part would be wrong.
#[tokio::test(start_paused = true)]
async fn a_part_is_not_taken_for_the_whole() {
    let world = World::new(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dump.jsonl");
    world.ask(&["dump", "-f", file.to_str().unwrap()]).await;
    let whole = std::fs::read_to_string(&file).unwrap();
    let partial = whole.replacen(
        "\"notRead\":[",
        "\"notRead\":[{\"what\":\"resourcebindings\",\"why\":\"the server went away\"},",
        1,
    );
    assert_ne!(partial, whole);
    std::fs::write(&file, partial.replace("},]", "}]")).unwrap();

    let refused = from(&world, &file, &["plan", "--drain", "member1"]).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("they are not all in the dump: the server went away"),
        "{refused}"
    );
    let status = from(&world, &file, &["status"]).await.unwrap();
    assert!(!status.text.is_empty());
    let note = "not in the dump, or not all: resourcebindings (the server went away)";
    assert!(world.console.notes().contains(note), "{}", world.console.notes());
    let missing = from(&world, &file, &["explain", "binding", "default/other"])
        .await
        .unwrap_err();
    assert!(
        missing.to_string().contains("they are not all in the dump"),
        "{missing}"
    );
    let there = from(&world, &file, &["explain", "binding", "default/nginx-deployment"]).await;
    assert!(there.is_ok());
}
