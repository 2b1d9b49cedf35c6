//! What the `main` of every binary does, over real HTTP and with real signals. One test: the signal, the subscriber
//! and the exit belong to the whole process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests, too"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::process::{AdminAddress, Controller, KitFlags};
use controller_kit::{Clock, Context};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_sandbox::{Sandbox, SandboxOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn watcher(told: tokio::sync::oneshot::Sender<usize>) -> Controller {
    Controller::new("watcher", |ctx: Context| async move {
        let store = ctx.informers.of::<ConfigMap>().synced().await?;
        let _ = told.send(store.len());
        ctx.shutdown.cancelled().await;
        Ok(())
    })
}

fn holder(sandbox: &Sandbox) -> String {
    let lease = sandbox
        .get("coordination.k8s.io/v1", "Lease", Some("karmada-system"), "watcher")
        .unwrap();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_binary_starts_works_and_ends_on_sigterm() {
    let clock = Clock::system();
    let now = clock.clone();
    let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
    for object in [
        serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}),
        serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}),
    ] {
        sandbox.create(object).unwrap();
    }
    let served = sandbox.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let kubeconfig: PathBuf = std::env::temp_dir().join(format!("controller-kit-binary-{}", std::process::id()));
    std::fs::write(&kubeconfig, served.kubeconfig()).unwrap();
    let flags = KitFlags {
        kubeconfig: Some(kubeconfig.clone()),
        admin_bind_address: AdminAddress::Off,
        ..KitFlags::default()
    };

    let allowed = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(256),
        ..allowed
    };
    setrlimit(Resource::Nofile, few).unwrap();
    let (told, hears) = tokio::sync::oneshot::channel();
    let main = std::thread::spawn(move || controller_kit::main("test", flags, vec![watcher(told)]));
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(30), hears)
            .await
            .unwrap()
            .unwrap(),
        1
    );
    assert!(
        holder(&sandbox).contains('_'),
        "a unique identity: {}",
        holder(&sandbox)
    );
    assert_eq!(
        getrlimit(Resource::Nofile).current,
        allowed.maximum,
        "as many connections as the system allows"
    );
    let pid = std::process::id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status()
        .unwrap();
    assert!(sent.success());
    let code = tokio::task::spawn_blocking(move || main.join().unwrap()).await.unwrap();
    assert_eq!(code, ExitCode::SUCCESS);
    assert_eq!(holder(&sandbox), "", "the lease was handed back");

    std::fs::remove_file(&kubeconfig).unwrap();
}
