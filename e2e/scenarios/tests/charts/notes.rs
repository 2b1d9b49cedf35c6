//! What each chart says after it was installed: the next command, and every command there is one that can be typed.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Parser as _;
use e2e_harness::{Binaries, Helm, Programs, Tool, available_with};
use serde_json::{Value, json};

use crate::objects::objects;
use crate::{COMPONENTS, chart, least};

/// What stands for a file that only the reader has.
const KUBECONFIGS: [&str; 2] = ["CONTROL-PLANE", "HOST"];
const PROGRAMS: [&str; 4] = ["helm", "kubectl", "failoverctl", "agent"];
/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:1";

/// Each chart in the ways in which it says something else.
fn installations() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut all = Vec::new();
    for name in COMPONENTS {
        for more in [&[][..], &["--set", "karmada.kubeconfigSecret=k"]] {
            all.push((name, [least(name), more].concat()));
        }
    }
    let others: [(&str, &[&str]); 5] = [
        ("karmada-crds", &[""]),
        (
            "control-plane",
            &[
                "",
                "mode=beside",
                "tokenSecrets=false",
                "policies.notReadyNoExecute=true",
            ],
        ),
        (
            "monitoring",
            &[
                "",
                "prometheusRule.enabled=false",
                "runbooks=https://git.example.com/docs/runbooks",
            ],
        ),
        (
            "karmada-failover",
            &[
                "",
                "webhook.enabled=true",
                "webhook.enabled=true,control-plane.enabled=false,global.karmada.kubeconfigSecretSuffix=-kubeconfig",
            ],
        ),
        ("eviction-queue", &["tls.source=existing"]),
    ];
    for (name, settings) in others {
        all.extend(settings.iter().map(|settings| match *settings {
            "" => (name, Vec::new()),
            settings => (name, vec!["--set", settings]),
        }));
    }
    all
}

fn notes(helm: &Helm, name: &str, settings: &[&str]) -> String {
    let chart = chart(name).display().to_string();
    let install = ["install", name, &chart, "--namespace", "karmada-system"];
    let dry = ["--dry-run=client", "--output", "json"];
    let told = helm.run(&[&install[..], &dry, settings].concat()).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    told["info"]["notes"].as_str().unwrap_or_default().to_owned()
}

/// The lines that are indented, in their groups, each with the line before it that is not.
fn blocks(notes: &str) -> Vec<(String, String)> {
    let (mut blocks, mut before, mut is_open) = (Vec::<(String, String)>::new(), String::new(), false);
    for line in notes.lines() {
        if let Some(command) = line.strip_prefix("  ") {
            if !is_open {
                blocks.push((before.clone(), String::new()));
            }
            is_open = true;
            let (_, block) = blocks.last_mut().unwrap();
            block.push_str(command);
            block.push('\n');
        } else {
            is_open = false;
            if !line.is_empty() {
                // A sentence may take more than a line.
                let is_new = before.is_empty() || before.ends_with(['.', ':']);
                before = if is_new {
                    line.to_owned()
                } else {
                    format!("{before} {line}")
                };
            }
        }
    }
    blocks
}

/// Types commands in where there are no programs but ours and those of Kubernetes, each of which only writes down what it was
/// told.
struct Paper {
    folder: tempfile::TempDir,
}

impl Paper {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for program in PROGRAMS {
            let file = folder.path().join(program);
            // In one write: of a pipeline all write at a time.
            let script = "#!/bin/sh\nline=$(printf '%s\\037' \"${0##*/}\" \"$@\")\nprintf '%s\\n' \"$line\" >> \"$SEEN\"\necho YQ==\n";
            std::fs::write(&file, script).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    /// The words of each command.
    fn typed(&self, commands: &str) -> Vec<Vec<String>> {
        let seen = self.folder.path().join("seen");
        std::fs::write(&seen, "").unwrap();
        let output = Command::new("/bin/sh")
            .args(["-euc", commands])
            .env_clear()
            .env("PATH", self.folder.path())
            .env("SEEN", &seen)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && complaint.is_empty(),
            "{commands}: {complaint}"
        );
        let seen = std::fs::read_to_string(seen).unwrap();
        let words = |line: &str| line.split_terminator('\u{1f}').map(str::to_owned).collect();
        seen.lines().map(words).collect()
    }
}

/// Those who know whether a command is one.
struct Judges {
    binaries: Binaries,
    helm: Helm,
    kubeconfig: PathBuf,
    _folder: tempfile::TempDir,
}

impl Judges {
    fn new(binaries: Binaries) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let nobodys = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": NOBODY}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": ""}}],
        });
        std::fs::write(&kubeconfig, nobodys.to_string()).unwrap();
        Self {
            helm: Helm::new(&binaries, "/dev/null").unwrap(),
            binaries,
            kubeconfig,
            _folder: folder,
        }
    }

    /// `installed` is the chart whose notes say this, and how it was installed.
    fn judge(&self, words: &[String], installed: (&str, &[&str])) -> Result<(), String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[0] {
            "helm" => self.helm(&words[1..], installed),
            "kubectl" => self.kubectl(&words[1..], installed),
            "failoverctl" => failoverctl::Cli::try_parse_from(&words)
                .map(drop)
                .map_err(|error| error.to_string()),
            program => {
                let program = Programs::find().unwrap().path(program).unwrap();
                let output = Command::new(program).args(&words[1..]).output().unwrap();
                let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
                output.status.success().then_some(()).ok_or(complaint)
            }
        }
    }

    /// It has these flags, and renders the chart with them.
    fn helm(&self, words: &[&str], installed: (&str, &[&str])) -> Result<(), String> {
        let [verb @ ("install" | "upgrade"), release, chart_of, flags @ ..] = words else {
            return Err("what does it do?".to_owned());
        };
        let help = self.helm.run(&[verb, "--help"]).unwrap();
        let name = chart_of
            .strip_prefix("charts/")
            .ok_or("the chart is not of the checkout")?;
        let path = chart(name).display().to_string();
        let mut template = vec!["template", release, &path];
        if (*verb, name) == ("upgrade", installed.0) {
            template.extend(installed.1);
        }
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            let long = flag.split('=').next().unwrap_or_default();
            if !help.contains(&format!("{long} ")) {
                return Err(format!("helm {verb} has no {long}"));
            }
            match long {
                "--create-namespace" | "--reset-then-reuse-values" => {}
                "--kubeconfig" => drop(flags.next()),
                _ => template.extend([*flag].into_iter().chain(flags.next().copied())),
            }
        }
        let path_of = |word: &&str| {
            word.strip_prefix("charts/")
                .map(|file| chart(file).display().to_string())
        };
        let files: Vec<Option<String>> = template.iter().map(path_of).collect();
        let template: Vec<&str> = template
            .iter()
            .zip(&files)
            .map(|(word, file)| file.as_deref().unwrap_or(word))
            .collect();
        self.helm.run(&template).map(drop).map_err(|error| error.to_string())
    }

    /// It takes the words, and turns to the server. A Deployment that is named is one of the chart.
    fn kubectl(&self, words: &[&str], (name, settings): (&str, &[&str])) -> Result<(), String> {
        let kubeconfig = self.kubeconfig.to_str().unwrap();
        let known = words
            .iter()
            .map(|word| if KUBECONFIGS.contains(word) { kubeconfig } else { word });
        let mut kubectl = Command::new(self.binaries.path(Tool::Kubectl))
            .args(known)
            .current_dir(chart(".."))
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}});
        // One that reads nothing has ended.
        let _ = kubectl.stdin.take().unwrap().write_all(object.to_string().as_bytes());
        let output = kubectl.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        if !complaint.contains("refused") {
            return Err(format!("it does not turn to the server: {complaint}"));
        }
        for deployment in words.iter().filter_map(|word| word.strip_prefix("deployment/")) {
            let objects = objects(&self.helm, name, settings);
            let is_there = |object: &Value| object["kind"] == "Deployment" && object["metadata"]["name"] == deployment;
            if !objects.iter().any(is_there) {
                return Err(format!("the chart has no Deployment {deployment}"));
            }
        }
        Ok(())
    }
}

#[test]
fn each_chart_says_the_next_command() {
    let Some(binaries) = available_with(Tool::Helm, "the notes of the charts") else {
        return;
    };
    let judges = Judges::new(binaries);
    let (paper, mut wrong) = (Paper::new(), Vec::new());
    for (name, settings) in installations() {
        let notes = notes(&judges.helm, name, &settings);
        let blocks = blocks(&notes);
        if !blocks.iter().any(|(before, _)| before.starts_with("Next, ")) {
            wrong.push(format!("{name} {settings:?} says no next command:\n{notes}"));
        }
        for (_, block) in &blocks {
            let commands = paper.typed(block);
            assert!(!commands.is_empty(), "{name} {settings:?}: {block}");
            let bad = commands.iter().filter_map(|words| {
                let why = judges.judge(words, (name, &settings)).err()?;
                Some(format!("{name} {settings:?}: {}: {why}", words.join(" ")))
            });
            wrong.extend(bad);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_chart_is_left_out() {
    let charts = std::fs::read_dir(chart("")).unwrap().map(|entry| entry.unwrap().path());
    let charts = charts.filter(|path| path.join("templates").is_dir());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let charts: BTreeSet<String> = charts.map(|path| name(&path)).filter(|name| name != "lib").collect();
    let tried: BTreeSet<String> = installations().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(tried, charts);
}

/// What would be no use is seen.
#[test]
fn commands_that_are_none_are_told() {
    let Some(binaries) = available_with(Tool::Helm, "judging commands") else {
        return;
    };
    let judges = Judges::new(binaries);
    for (command, words) in [
        (
            "helm install taint-manager charts/taint-manager --no-such-flag",
            "has no",
        ),
        ("helm upgrade x charts/no-such-chart", "not found"),
        ("helm install x charts/scheduler --set no.such=value", "not allowed"),
        (
            "kubectl rollout state deployment/scheduler",
            "does not turn to the server",
        ),
        ("kubectl get secret --no-such-flag", "does not turn to the server"),
        ("kubectl rollout status deployment/other", "no Deployment other"),
        ("failoverctl kubeconfigs taint-manager", "unrecognized"),
        ("failoverctl check --no-such-flag", "unexpected"),
    ] {
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let why = judges.judge(&command, ("scheduler", &[])).unwrap_err();
        assert!(why.contains(words), "{command:?}: {why}");
    }
}
