//! Control planes as `check` finds them when it asks.

use clap::Parser;
use failoverctl::Cli;
use failoverctl::cli::Command;
use failoverctl::control_plane::ControlPlane;
use failoverctl::failure::ExitStatus;
use failoverctl::host::Host;
use kube_sandbox::{Authorization, Effect, Match, Served};
use serde_json::{Value, json};

use super::deployments;
use crate::live::{LIMIT, World};
use crate::objects::now;

#[tokio::test(start_paused = true)]
async fn a_control_plane_is_looked_at() {
    tokio::time::timeout(LIMIT, async {
        let mut world = World::new(&[]);
        let host = World::new(&[]);
        for deployment in deployments("v1.17.0", &[], &[], &[]) {
            host.put(json!(deployment));
        }
        let told = world.ask_json(&["check"]).await;
        let state = |told: &Value, code: &str| {
            let checks = told["checks"].as_array().unwrap();
            checks.iter().find(|check| check["code"] == code).unwrap()["state"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(told["mode"], "standalone");
        for (code, expected) in [
            ("kinds", "Fine"),
            ("fields", "Fine"),
            ("prefer-no-execute", "Fine"),
            ("no-execute-policies", "Fine"),
            ("rights", "Fine"),
            ("stock-version", "NotApplicable"),
            // The World renews no Lease of the queue.
            ("queue", "Problem"),
            ("controllers", "Problem"),
        ] {
            assert_eq!(state(&told, code), expected, "{code}: {told:#}");
        }
        world.around.host = Some(Host::new(host.sandbox.client(), "karmada-system"));
        let told = world
            .ask(&["check", "--mode", "beside", "--before-install", "-o", "json"])
            .await;
        assert_eq!(told.status, ExitStatus::Problem);
        let told: Value = serde_json::from_str(&told.text).unwrap();
        assert_eq!(told["mode"], "beside");
        assert_eq!(state(&told, "mode"), "Problem", "no stock Karmada serves Clusters");
        assert_eq!(state(&told, "stock-version"), "Fine");
        assert_eq!(state(&told, "stock-graceful-eviction"), "Problem");
        assert_eq!(state(&told, "controllers"), "NotApplicable");
    })
    .await
    .unwrap();
}

/// A kubeconfig with this token, on a server that knows `t` as that of `bob`, who has no rights.
async fn kubeconfig_of_bob(world: &World, token: &str) -> (tempfile::NamedTempFile, Served) {
    world.sandbox.set_access(|access| {
        access.authorization = Authorization::Rbac;
        access.tokens.insert("t".to_owned(), "bob".to_owned());
    });
    let served = world.sandbox.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut kubeconfig: Value = serde_saphyr::from_str(&served.kubeconfig()).unwrap();
    kubeconfig["users"] = json!([{"name": "bob", "user": {"token": token}}]);
    kubeconfig["contexts"][0]["context"]["user"] = json!("bob");
    std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
    (file, served)
}

#[tokio::test(start_paused = true)]
async fn somebody_without_rights_is_told_which() {
    let world = World::new(&[]);
    let (file, _served) = kubeconfig_of_bob(&world, "t").await;
    let path = file.path().to_str().unwrap();
    let cli = Cli::try_parse_from(["failoverctl", "--kubeconfig", path, "check", "-o", "json"]).unwrap();
    assert!(matches!(cli.command, Command::Check(_)));
    let answer = failoverctl::run(&cli, &world.around).await.unwrap();
    let told: Value = serde_json::from_str(&answer.text).unwrap();
    let rights = told["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["code"] == "rights")
        .unwrap();
    assert_eq!(rights["state"], "Problem", "{rights:#}");
    let details = rights["details"].as_array().unwrap();
    assert!(
        details.contains(&json!("may not list clusters.cluster.karmada.io")),
        "{rights:#}"
    );
    assert!(
        !details.iter().any(|detail| detail.as_str().unwrap().contains("patch")),
        "{rights:#}"
    );
}

/// A token that has expired, or that nobody knows: the server answers no question, and nothing was checked.
#[tokio::test(start_paused = true)]
async fn somebody_who_is_not_known_is_told_so() {
    let world = World::new(&[]);
    let (file, _served) = kubeconfig_of_bob(&world, "expired").await;
    let path = file.path().to_str().unwrap();
    for args in [
        &["check"][..],
        &["check", "--before-install"],
        &["status"],
        &["queue", "list"],
    ] {
        let args = [&["failoverctl", "--kubeconfig", path], args].concat();
        let cli = Cli::try_parse_from(&args).unwrap();
        let failure = failoverctl::run(&cli, &world.around).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Unreachable, "{args:?}");
        let told = failure.to_string();
        assert!(
            told.contains("the API server does not know who asks: HTTP 401"),
            "{told}"
        );
        assert!(told.contains("token or certificate is not accepted"), "{told}");
        assert!(!told.contains("whose user may"), "{told}");
    }
}

/// Another server than was meant: nothing of Karmada, and an answer in a line.
#[tokio::test(start_paused = true)]
async fn the_wrong_server_is_told() {
    let sandbox = kube_sandbox::Sandbox::new(kube_sandbox::SandboxOptions::new(std::sync::Arc::new(now)));
    let world = World::new(&[]);
    let cli = Cli::try_parse_from(["failoverctl", "check"]).unwrap();
    let control_plane = ControlPlane::new(sandbox.client(), "karmada-system");
    let answer = failoverctl::run::answer(&cli, &control_plane, &world.around)
        .await
        .unwrap();
    assert_eq!(answer.status, ExitStatus::Problem);
    assert!(answer.text.contains("10 of 10 kinds are not served"), "{}", answer.text);
    assert!(
        answer
            .text
            .contains("this does not look like a Karmada control plane at all"),
        "{}",
        answer.text
    );
}

/// A webhook that refuses is told from an API server that did not come to an answer.
#[tokio::test(start_paused = true)]
async fn a_trial_that_fails_is_no_refusal() {
    tokio::time::timeout(LIMIT, async {
        for (code, message, expected) in [
            (
                400,
                "admission webhook \"x\" denied the request: NoExecute is not allowed",
                "Problem",
            ),
            (403, "clustertaintpolicies is forbidden", "NotSeen"),
            (429, "too many requests", "NotSeen"),
            (500, "failed calling webhook \"x\"", "NotSeen"),
            (503, "unavailable", "NotSeen"),
        ] {
            let world = World::new(&[]);
            let effect = Effect::Error {
                code,
                reason: "Some".to_owned(),
                message: message.to_owned(),
            };
            let trials = Match::writes().client("failoverctl").resource("clustertaintpolicies");
            world.sandbox.faults().inject(trials, effect);
            let told = world.ask_json(&["check"]).await;
            let checks = told["checks"].as_array().unwrap();
            let check = checks
                .iter()
                .find(|check| check["code"] == "no-execute-policies")
                .unwrap();
            assert_eq!(check["state"], expected, "{code}: {check:#}");
        }
    })
    .await
    .unwrap();
}

/// A host cluster that somebody named and that is not there is no "not seen".
#[tokio::test]
async fn a_named_host_that_does_not_answer_is_an_error() {
    let mut world = World::new(&[]);
    let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    world.around.host = Some(Host::new(kube::Client::try_from(config).unwrap(), "karmada-system"));
    let failure = world
        .try_ask(&["check", "--mode", "beside", "--before-install"])
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert!(failure.to_string().contains("of the host cluster"), "{failure}");
}
