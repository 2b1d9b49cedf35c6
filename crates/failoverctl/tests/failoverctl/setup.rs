//! `kubeconfig`, `completion`, man pages, and the program under its other name.

use std::path::PathBuf;

use clap::{CommandFactory, Parser};
use failoverctl::Cli;
use failoverctl::cli::{Command, KubeconfigArgs};
use failoverctl::control_plane::ControlPlane;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::kubeconfig::{COMPONENTS, Place, kubeconfig};
use failoverctl::run::Surroundings;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::live::World;
use crate::objects::now;
use crate::server::api_server;

fn args(words: &[&str]) -> KubeconfigArgs {
    let cli = Cli::try_parse_from([&["failoverctl", "kubeconfig"], words].concat()).unwrap();
    match cli.command {
        Command::Kubeconfig(args) => args,
        _ => unreachable!(),
    }
}

fn place() -> Place {
    Place {
        server: "https://karmada.example:5443".to_owned(),
        authority: Some(b"the kubeconfig's".to_vec()),
        server_name: None,
    }
}

const NAMESPACE: &str = "/api/v1/namespaces/karmada-system";

async fn on(answers: Vec<(String, Value)>, words: &[&str]) -> Result<String, Failure> {
    let control_plane = ControlPlane::new(api_server(answers), "karmada-system");
    let around = Surroundings::plain(controller_kit::Clock::simulated(now()));
    kubeconfig(&control_plane, place(), &args(words), &around).await
}

fn secret(data: &Value) -> Vec<(String, Value)> {
    let secret = json!({"metadata": {"name": "taint-manager-token"}, "type": "kubernetes.io/service-account-token", "data": data});
    vec![(format!("{NAMESPACE}/secrets/taint-manager-token"), secret)]
}

/// `secret-token` and `the Secret's` in base64.
fn filled() -> Vec<(String, Value)> {
    secret(&json!({"token": "c2VjcmV0LXRva2Vu", "ca.crt": "dGhlIFNlY3JldCdz"}))
}

#[tokio::test(start_paused = true)]
async fn a_component_gets_its_own_token() {
    assert_snapshot!("kubeconfig", on(filled(), &["taint-manager"]).await.unwrap());
    let elsewhere = on(filled(), &["taint-manager", "--server", "https://10.0.0.1:6443"])
        .await
        .unwrap();
    assert!(elsewhere.contains("server: https://10.0.0.1:6443"), "{elsewhere}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let path = file.to_str().unwrap();
    assert_eq!(on(filled(), &["taint-manager", "-f", path]).await.unwrap(), "");
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, on(filled(), &["taint-manager"]).await.unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = on(filled(), &["taint-manager", "-f", path]).await.unwrap_err();
    assert!(again.to_string().ends_with("none is overwritten"), "{again}");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_ends() {
    let answer = json!({
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {},
        "spec": {"audiences": [], "expirationSeconds": 3600},
        "status": {"token": "short-lived", "expirationTimestamp": "2026-01-31T13:00:00Z"},
    });
    let path = format!("{NAMESPACE}/serviceaccounts/webhook/token");
    let text = on(vec![(path, answer)], &["webhook", "--expires-in", "1h"])
        .await
        .unwrap();
    assert!(text.contains("token: short-lived"), "{text}");
    assert!(
        text.contains("certificate-authority-data: dGhlIGt1YmVjb25maWcncw=="),
        "{text}"
    );
    let failure = on(vec![], &["webhook", "--expires-in", "1h"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert!(
        failure
            .to_string()
            .contains("there is no ServiceAccount webhook in namespace karmada-system"),
        "{failure}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_token_and_what_to_do() {
    let failure = on(vec![], &["taint-manager"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!("kubeconfig_no_secret", failure.to_string());
    let failure = on(secret(&json!({})), &["taint-manager"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::TimedOut);
    assert_snapshot!("kubeconfig_not_filled", failure.to_string());
    let refused = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": "secrets \"taint-manager-token\" is forbidden",
    });
    let path = format!("{NAMESPACE}/secrets/taint-manager-token");
    let failure = on(vec![(path, refused)], &["taint-manager"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!("kubeconfig_no_rights", failure.to_string());
    let wrong = Cli::try_parse_from(["failoverctl", "kubeconfig", "taint-manger"])
        .unwrap_err()
        .to_string();
    assert!(wrong.contains("taint-manager"), "{wrong}");
}

/// The whole way: the kubeconfig that comes out leads where the one that went in does.
#[tokio::test(flavor = "multi_thread")]
async fn it_leads_to_the_same_server() {
    let world = World::new(&[]);
    for component in COMPONENTS {
        world.put(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("{component}-token"), "namespace": "karmada-system"},
            "type": "kubernetes.io/service-account-token", "data": {"token": "c2VjcmV0LXRva2Vu"},
        }));
    }
    let served = world.sandbox.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let admin = directory.path().join("admin");
    std::fs::write(&admin, served.kubeconfig()).unwrap();
    let own: PathBuf = directory.path().join("own");
    let words = |file: &PathBuf, more: &[&str]| {
        let words = [&["failoverctl", "--kubeconfig", file.to_str().unwrap()], more].concat();
        Cli::try_parse_from(words).unwrap()
    };
    for component in COMPONENTS {
        let text = failoverctl::run(&words(&admin, &["kubeconfig", component]), &world.around)
            .await
            .unwrap()
            .text;
        std::fs::write(&own, text).unwrap();
        let told = failoverctl::run(&words(&own, &["pause", "list"]), &world.around)
            .await
            .unwrap();
        assert!(
            told.text.contains("no FailoverPause") || told.status == ExitStatus::Fine,
            "{}",
            told.text
        );
    }
}

fn program() -> assert_cmd::Command {
    assert_cmd::Command::new(env!("CARGO_BIN_EXE_failoverctl"))
}

#[test]
fn every_shell_gets_its_completion() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = program().args(["completion", shell]).output().unwrap();
        assert!(output.status.success(), "{shell}");
        let text = String::from_utf8(output.stdout).unwrap();
        for word in ["undrain", "handback", "--host-kubeconfig"] {
            let bare = word.trim_start_matches("--");
            assert!(text.contains(bare), "{shell} does not know {word}");
        }
    }
    let output = program().args(["completion", "tcsh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn every_command_has_its_page() {
    let directory = tempfile::tempdir().unwrap();
    let told = program()
        .arg("man-pages")
        .arg(directory.path().join("man1"))
        .output()
        .unwrap();
    assert!(told.status.success(), "{told:?}");
    let pages: Vec<String> = String::from_utf8(told.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    for page in [
        "failoverctl.1",
        "failoverctl-queue-drop.1",
        "failoverctl-explain-binding.1",
        "failoverctl-handback.1",
    ] {
        assert!(pages.contains(&page.to_owned()), "{page} of {pages:?}");
    }
    for page in &pages {
        let text = std::fs::read_to_string(directory.path().join("man1").join(page)).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}");
    }
    let failed = program().args(["man-pages", "/dev/null/x"]).output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert!(
        String::from_utf8(failed.stderr)
            .unwrap()
            .contains("cannot write man pages to /dev/null/x")
    );
}

/// Each command that people can find says what it is for, and the page about the program names it.
#[test]
fn every_command_is_documented() {
    let page = include_str!("../../../../docs/failoverctl.md");
    for command in Cli::command()
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        let named = format!("failoverctl {}", command.get_name());
        assert!(page.contains(&named), "docs/failoverctl.md does not name {named}");
    }
}

#[cfg(unix)]
#[test]
fn as_a_plugin_of_kubectl_it_names_itself_so() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("kubectl-failover");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_failoverctl"), &plugin).unwrap();
    let run = |words: &[&str]| {
        let output = assert_cmd::Command::new(&plugin)
            .args(words)
            .env_remove("KUBECONFIG")
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (_, help) = run(&["--help"]);
    assert!(help.contains("Usage: kubectl failover [OPTIONS] <COMMAND>"), "{help}");
    let (_, help) = run(&["queue", "drop", "--help"]);
    assert!(help.contains("Usage: kubectl failover queue drop "), "{help}");
    let (code, usage) = run(&["queue", "drop"]);
    assert_eq!(code, Some(2));
    assert!(usage.contains("kubectl failover queue drop"), "{usage}");
    let (code, told) = run(&["--from", "/nowhere", "status"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("cannot read the dump /nowhere"), "{told}");
    std::fs::write(directory.path().join("empty"), "").unwrap();
    let (_, told) = run(&["--from", directory.path().join("empty").to_str().unwrap(), "status"]);
    assert!(told.contains("give a file that kubectl failover dump wrote"), "{told}");
}

/// What cannot be written, for another reason than that its reader left, is told: a script must not take half an answer for one.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_failoverctl"));
    let output = program.args(["completion", "bash"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        told,
        "error: cannot write the answer to standard output: No space left on device (os error 28)\n  \
         next: make room there, or write it to another place\n"
    );
}
