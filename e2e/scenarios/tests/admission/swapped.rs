//! The webhook's certificate changes to one of another authority, and the API server asks on.

use std::sync::atomic::{AtomicBool, Ordering};

use e2e_harness::{Binaries, eventually};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use test_bench::{Authority, Of};

use crate::{PATIENCE, Scene, asked, configurations, is_asked, merge, path_of};

/// How many ask at once: API servers make a connection for each.
const CALLERS: usize = 4;

/// As docs/admission.md says: first both authorities are trusted, then the files change, then the old one goes. Nobody goes
/// unasked meanwhile, also on connections that are made between two steps.
pub async fn a_certificate_is_swapped(scene: &Scene, binaries: &Binaries) {
    let (old, next) = (scene.authority.pem(), Authority::new("the next authority"));
    let is_over = AtomicBool::new(false);
    let calling = async {
        let callers = (0..CALLERS).map(async |_| {
            let mut answers = 0;
            while !is_over.load(Ordering::Relaxed) {
                is_asked(&scene.client).await?;
                answers += 1;
            }
            Ok::<u32, String>(answers)
        });
        futures::future::join_all(callers).await
    };
    let swapping = async {
        trust(scene, binaries, &format!("{old}{}", next.pem())).await;
        asked(&scene.client).await;
        next.issue("webhook", Of::Server).write(scene.folder.path(), "webhook");
        eventually("the new certificate is in force", PATIENCE, async || {
            shows_one_of(&scene.url, &next.pem()).await
        })
        .await
        .unwrap();
        // With other words for the same authorities the API server makes new connections: it sees the new certificate.
        trust(scene, binaries, &format!("{}{old}", next.pem())).await;
        asked(&scene.client).await;
        trust(scene, binaries, &next.pem()).await;
        asked(&scene.client).await;
        is_over.store(true, Ordering::Relaxed);
    };
    let (answers, ()) = tokio::join!(calling, swapping);
    for answers in answers {
        assert!(matches!(answers, Ok(1..)), "{answers:?}");
    }
    let refused = scene
        .running
        .metrics()
        .value("failover_tls_reload_failures_total", &[("use", "webhook")]);
    assert_eq!(refused, Some(0.0));
}

/// The API server is told of these authorities.
async fn trust(scene: &Scene, binaries: &Binaries, authorities: &str) {
    for configuration in configurations(binaries, &scene.url, authorities, &[]) {
        let path = format!("{}/karmada-failover", path_of(&configuration));
        let said = merge(&scene.client, &path, &json!({"webhooks": configuration["webhooks"]})).await;
        assert_eq!(said.status, 200, "{said:?}");
    }
}

/// Whether a server has a certificate of this authority.
async fn shows_one_of(url: &str, authority: &str) -> Result<(), String> {
    let encoded = crate::encoded(authority);
    let kubeconfig = json!({
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": url, "certificate-authority-data": encoded}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    let request = http::Request::get("/").body(kube::client::Body::empty()).unwrap();
    // Whatever it says, it said it with its certificate.
    client.send(request).await.map(drop).map_err(|error| error.to_string())
}
