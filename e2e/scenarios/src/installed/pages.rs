//! What all other pages have somebody type, typed by an operator where everything is installed: as it stands there, with what
//! is here in place of names that the reader fills in. What is not typed is excused below, with the reason; so a new command is
//! typed, or somebody says why not.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use e2e_harness::{Binaries, ControlPlane, Identity, Member};
use eviction_queue_api::ConnectionFlags;
use karmada_failover::story::example::{self, Pace};

use super::by_the_book::way_to_the_queue;
use super::kubelet::Kubelet;
use super::typed::Terminal;

/// A command that a page shows.
#[derive(Debug)]
struct Shown {
    /// From the root of the checkout.
    page: String,
    command: String,
}

/// Pages or beginnings of commands on them that nobody types here, and why.
const EXCUSED: [(&str, &str, &str); 11] = [
    (
        "README.md",
        "cargo run --release -p karmada-failover -- demo",
        "a stage of the test run plays it",
    ),
    ("README.md", "cargo xtask test", "is the test run"),
    ("README.md", "helm install ", "tests/charts/one_cluster.rs types it"),
    (
        "README.md",
        "agent --cluster-name member3 ",
        "docs/install.md says the same to a Pod, which pull.rs types; the scenario pull-member runs it with these rights",
    ),
    (
        "docs/admission.md",
        "kubectl apply -f ",
        "shows what the webhook answers: webhook.rs and the tests of admission ask it",
    ),
    (
        "docs/failoverctl.md",
        "kubectl create secret generic taint-manager-kubeconfig ",
        "the Secret is there: it was made by docs/install.md",
    ),
    ("docs/install.md", "", "typed section by section, as SECTIONS says"),
    (
        "docs/performance.md",
        "cargo xtask bench ",
        "takes an hour: a stage of --full",
    ),
    ("docs/queue-access.md", "", "tests/queue_access.rs types it"),
    (
        "docs/runbooks/FailoverAgentNoLeader.md",
        "kubectl --kubeconfig \"$MEMBER\" logs ",
        "no kubelet serves the logs of a member's Pods here",
    ),
    (
        "docs/stopping.md",
        "failoverctl queue watch",
        "ends when somebody ends it; with --until-empty it is typed below",
    ),
];

/// The pages of the checkout.
fn pages() -> anyhow::Result<Vec<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut names = vec!["CONTRIBUTING.md".to_owned(), "README.md".to_owned()];
    for folder in ["docs", "docs/runbooks", "docs/reference"] {
        for entry in fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                names.push(format!("{folder}/{name}"));
            }
        }
    }
    names.sort();
    let texts = names.into_iter().map(|name| {
        let text = fs::read_to_string(root.join(&name)).with_context(|| name.clone())?;
        Ok((name, text))
    });
    texts.collect()
}

/// By what a command begins in a block that has no prompts and other lines, too.
const PROGRAMS: [&str; 6] = ["failoverctl", "kubectl", "helm", "cargo", "agent", "docker"];

/// The commands of a page, in their order.
fn shown(page: &str, text: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.trim().strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines
            .by_ref()
            .map(str::trim)
            .take_while(|line| !line.starts_with("```"))
            .collect();
        let commands = match language {
            "sh" => of_a_script(&block),
            "console" | "" => of_a_session(&block),
            _ => Vec::new(),
        };
        found.extend(commands.into_iter().map(|command| Shown {
            page: page.to_owned(),
            command,
        }));
    }
    found
}

/// Line by line, where each is a command; else the whole is one.
fn of_a_script(block: &[&str]) -> Vec<String> {
    if block.iter().all(|line| begins_with_a_program(line)) {
        return block.iter().map(|line| without_remark(line)).collect();
    }
    vec![block.join("\n")]
}

/// What is typed after a prompt, or begins with a program where there are no prompts.
fn of_a_session(block: &[&str]) -> Vec<String> {
    let prompts = block.iter().any(|line| line.starts_with("$ "));
    let typed = block.iter().filter_map(|line| match line.strip_prefix("$ ") {
        Some(typed) => Some(typed),
        None => (!prompts && begins_with_a_program(line)).then_some(*line),
    });
    typed.map(without_remark).collect()
}

fn begins_with_a_program(line: &str) -> bool {
    line.split(' ').next().is_some_and(|first| PROGRAMS.contains(&first))
}

fn without_remark(line: &str) -> String {
    line.split("  #").next().unwrap_or_default().trim_end().to_owned()
}

/// Why nobody types it here.
fn excuse(shown: &Shown) -> Option<&'static str> {
    let excuses = EXCUSED
        .iter()
        .filter(|(page, beginning, _)| is_meant(shown, page, beginning));
    excuses.map(|(_, _, why)| *why).next()
}

/// A beginning that ends in a word is a whole command.
fn is_meant(shown: &Shown, page: &str, beginning: &str) -> bool {
    let is_whole = !beginning.is_empty() && !beginning.ends_with(' ');
    let of_command = if is_whole {
        shown.command == beginning
    } else {
        format!("{} ", shown.command).starts_with(beginning)
    };
    shown.page == page && of_command
}

/// What stands here for what the pages call something else.
struct Here {
    /// Files of the operator go here.
    folder: PathBuf,
    /// The kubeconfig of the host cluster.
    host: PathBuf,
    /// A Pod of ours.
    pod: String,
}

const CLUSTER: &str = "member1";
const NAMESPACE: &str = "default";
const BINDING: &str = "nginx-deployment";
const POLICY: &str = "not-ready-no-execute";
const PAUSE: &str = "typed";
/// The page that says how a story is found in the logs.
const STORIES: &str = "docs/logs.md";

impl Here {
    /// The command with what is here.
    fn filled(&self, command: &str) -> anyhow::Result<String> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let host = self.host.display().to_string();
        let command = command
            .replace("shop/web-deployment", &format!("{NAMESPACE}/{BINDING}"))
            .replace("/etc/bash_completion.d/failoverctl", &file("completion"))
            .replace("/usr/local/share/man/man1", &file("man1"))
            .replace("/usr/local/bin/kubectl-failover", &file("kubectl-failover"))
            .replace(" -f kubeconfig", &format!(" -f {}", file("taint-manager.kubeconfig")));
        let words = command.split(' ').map(|word| match word {
            "CLUSTER" => CLUSTER.to_owned(),
            "NAMESPACE/NAME" | "BINDING" => format!("{NAMESPACE}/{BINDING}"),
            "NAMESPACE" => NAMESPACE.to_owned(),
            "NAME" => BINDING.to_owned(),
            "POLICY" | "other-value" => POLICY.to_owned(),
            "PAUSE" => PAUSE.to_owned(),
            "POD" => self.pod.clone(),
            "host.yaml" => host.clone(),
            "policy.yaml" | "operator.kubeconfig" => file(word),
            other => other.to_owned(),
        });
        let words: Vec<String> = words.collect();
        if let Some(word) = words.iter().find(|word| is_placeholder(word)) {
            bail!("nothing here stands for {word}");
        }
        Ok(words.join(" ") + consent(&words))
    }
}

fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '/')
}

/// Nobody sits here who could be asked whether to go on.
fn consent(words: &[String]) -> &'static str {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let asks = match words.as_slice() {
        ["failoverctl", "pause", next, ..] => *next != "list",
        ["failoverctl", "drain" | "undrain" | "resume", ..] | ["failoverctl", "queue", "drop" | "undrop", ..] => true,
        _ => false,
    };
    let is_said = words.iter().any(|word| matches!(*word, "--yes" | "--dry-run"));
    if asks && !is_said { " --yes" } else { "" }
}

/// Types them as an administrator of both clusters, and of the member in which the agent stands: how many there were.
pub fn are_typed(
    binaries: &Binaries,
    control_plane: &ControlPlane,
    (host, agents_home): (&Member, &Path),
    queue: (&ConnectionFlags, u16),
    kubelet: &Kubelet,
    pace: &Pace,
) -> anyhow::Result<usize> {
    let here = Here {
        folder: control_plane.folder().path().join("operator"),
        host: host.kubeconfig(Identity::Admin),
        pod: kubelet.pod().to_owned(),
    };
    fs::create_dir_all(here.folder.join("man1"))?;
    let policies = example::taint_policies(pace);
    let policy = policies.first().context("no policy")?;
    fs::write(here.folder.join("policy.yaml"), policy.to_string())?;
    let of_control_plane = control_plane.kubeconfig(Identity::Admin).into_os_string();
    let of_host = here.host.clone().into_os_string();
    let variables = [
        ("KARMADA", of_control_plane.clone()),
        ("MEMBER", agents_home.as_os_str().to_owned()),
        ("KUBECONFIG", of_host.clone()),
        ("KARMADA_FAILOVER_KUBECONFIG", of_control_plane),
        ("KARMADA_FAILOVER_HOST_KUBECONFIG", of_host),
    ];
    let terminal = Terminal::new(binaries, &here.folder, variables)?.with(way_to_the_queue(queue.0, queue.1));
    // One that a page ends.
    terminal.type_in(&format!(
        "failoverctl pause --name {PAUSE} --scope all --reason 'pages are typed' --yes"
    ))?;
    let status = terminal.ask("failoverctl status")?;
    ensure!(answers(&status), "the queue does not answer: {status}");
    type_all(&terminal, &here)
}

/// Whether the queue's leader has answered what `failoverctl status` asks.
pub fn answers(status: &str) -> bool {
    status.lines().any(|line| line.starts_with("Leader "))
}

/// All that is not excused. What asks may answer that something is wrong; everything else has to succeed.
fn type_all(terminal: &Terminal, here: &Here) -> anyhow::Result<usize> {
    let mut count = 0;
    for (page, text) in pages()? {
        for shown in shown(&page, &text) {
            if excuse(&shown).is_some() {
                continue;
            }
            let command = here.filled(&shown.command).with_context(|| page.clone())?;
            let searched = command.split_once(" | grep ");
            if let Some((printing, _)) = searched {
                // A shell does not tell whether there was anything to search.
                let printed = terminal.ask(printing).with_context(|| page.clone())?;
                ensure!(!printed.is_empty(), "{page}: {printing} prints nothing");
            }
            let ended = terminal.end_of(&command)?;
            // A problem that is reported is an answer, and so is that the log has no such line; but what has happened is found.
            let answers = command.starts_with("failoverctl ") || (searched.is_some() && page != STORIES);
            let may_answer_so = answers && ended.status == Some(1);
            ensure!(
                ended.status == Some(0) || may_answer_so,
                "{page}: {command}\nends with {:?}: {}{}",
                ended.status,
                ended.complaint,
                ended.printed
            );
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::installed::typed;

    /// The sections of docs/install.md with commands, how many lines and blocks of them there are, and who types them.
    const SECTIONS: [(&str, usize, &str); 8] = [
        (
            "Before: images and programs",
            2,
            "nobody: `cargo xtask images` carries out the build step of the images, and the programs are built before",
        ),
        ("Standalone, on one cluster", 5, "tests/charts/one_cluster.rs"),
        ("Beside a stock Karmada, v1.16 to v1.19", 13, "beside.rs"),
        ("Standalone, on two clusters", 4, "by_the_book.rs"),
        ("One chart at a time", 2, "beside.rs"),
        ("Pull members", 2, "pull.rs"),
        (
            "The webhook",
            2,
            "tests/charts/one_cluster.rs, and on two clusters webhook.rs",
        ),
        (
            "Upgrade, roll back, take away",
            8,
            "tests/charts/one_cluster.rs, and on two clusters release.rs and beside.rs",
        ),
    ];

    fn here() -> Here {
        Here {
            folder: PathBuf::from("/folder"),
            host: PathBuf::from("/host"),
            pod: "pod".to_owned(),
        }
    }

    fn all() -> Vec<Shown> {
        let pages = pages().unwrap().into_iter();
        pages.flat_map(|(page, text)| shown(&page, &text)).collect()
    }

    #[test]
    fn every_command_is_typed_or_excused() {
        let mut typed = 0;
        for shown in all().into_iter().filter(|shown| excuse(shown).is_none()) {
            let filled = here().filled(&shown.command);
            let filled = filled.unwrap_or_else(|error| panic!("{shown:?}: {error:#}"));
            assert!(
                filled.starts_with("failoverctl ") || filled.starts_with("kubectl ") || filled.starts_with("ln -s "),
                "{shown:?}: may anybody type that anywhere?"
            );
            typed += 1;
        }
        assert!(typed > 70, "only {typed}");
    }

    #[test]
    fn every_excuse_excuses_something() {
        for (page, beginning, _) in EXCUSED {
            let mut all = all().into_iter();
            assert!(
                all.any(|shown| is_meant(&shown, page, beginning)),
                "{page}: {beginning}"
            );
        }
    }

    #[test]
    fn every_section_of_the_installation_is_typed_by_somebody() {
        let text = include_str!("../../../../docs/install.md");
        let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        let found: BTreeMap<&str, usize> = headings
            .filter_map(|heading| {
                let section = typed::section_of(text, heading).unwrap();
                let commands = shown("docs/install.md", section);
                (!commands.is_empty()).then_some((heading, commands.len()))
            })
            .collect();
        let wanted: BTreeMap<&str, usize> = SECTIONS.iter().map(|(heading, count, _)| (*heading, *count)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn commands_are_found_and_filled() {
        let page = "```sh\nhelm a\n  kubectl b\n```\nc\n```sh\nx=$(d)\nhelm e\n```\n```\n$ failoverctl f CLUSTER   # g\nh\n```\n\
                    ```yaml\nfailoverctl: i\n```\n```\nfailoverctl pause --scope all\nj\n```\n";
        let found: Vec<String> = shown("p", page).into_iter().map(|shown| shown.command).collect();
        assert_eq!(
            found,
            [
                "helm a",
                "kubectl b",
                "x=$(d)\nhelm e",
                "failoverctl f CLUSTER",
                "failoverctl pause --scope all"
            ]
        );
        let filled = |command: &str| here().filled(command).unwrap();
        assert_eq!(
            filled("failoverctl explain binding NAMESPACE/NAME"),
            "failoverctl explain binding default/nginx-deployment"
        );
        assert_eq!(
            filled("failoverctl pause --scope all"),
            "failoverctl pause --scope all --yes"
        );
        assert_eq!(
            filled("failoverctl drain CLUSTER --dry-run"),
            "failoverctl drain member1 --dry-run"
        );
        assert_eq!(filled("failoverctl pause list"), "failoverctl pause list");
        assert_eq!(
            filled("failoverctl x -f operator.kubeconfig"),
            "failoverctl x -f /folder/operator.kubeconfig"
        );
        assert!(here().filled("failoverctl explain policy RULE").is_err());
    }
}
