//! What becomes of a release: it is upgraded, rolled back, and taken away, as docs/install.md says.

use anyhow::{Context as _, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::by_the_book::ByTheBook;
use super::charts::{NAMESPACE, OnHost, WAIT};

async fn certificates(host: &Client) -> anyhow::Result<Vec<Option<ByteString>>> {
    let secrets: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    let mut all = Vec::new();
    for name in [
        "eviction-queue-server-tls",
        "taint-manager-queue-tls",
        "application-failover-controller-queue-tls",
    ] {
        all.push(secrets.get(name).await?.data.unwrap_or_default().remove("tls.crt"));
    }
    Ok(all)
}

async fn arguments(host: &Client, component: &str) -> anyhow::Result<Vec<String>> {
    let deployment = Api::<Deployment>::namespaced(host.clone(), NAMESPACE)
        .get(component)
        .await?;
    let spec = deployment.spec.template.spec.context("no Pod")?;
    Ok(spec
        .containers
        .into_iter()
        .flat_map(|container| container.args.unwrap_or_default())
        .collect())
}

/// All of its life, in a minute.
pub async fn lives(book: &ByTheBook, on_host: &OnHost, host: &Client) -> anyhow::Result<()> {
    let before = certificates(host).await?;
    let said = arguments(host, "scheduler").await?;
    let is_debug = async |component: &str| -> anyhow::Result<bool> {
        Ok(arguments(host, component)
            .await?
            .contains(&"--log-level=debug".to_owned()))
    };
    on_host.change(
        "upgrade",
        &[&["--set", "scheduler.log.level=debug"], &WAIT[..]].concat(),
    )?;
    ensure!(
        is_debug("scheduler").await? && !is_debug("taint-manager").await?,
        "the upgrade changes the scheduler"
    );
    ensure!(certificates(host).await? == before, "an upgrade keeps the certificates");
    book.roll_back()?;
    ensure!(!is_debug("scheduler").await?, "the way back");
    book.upgrade()?;
    let now = arguments(host, "scheduler").await?;
    ensure!(
        now == said,
        "an upgrade keeps what was said: {said:?}, and then {now:?}"
    );
    ensure!(certificates(host).await? == before, "an upgrade keeps the certificates");
    on_host.change("upgrade", &["--set-string", "eviction-queue.tls.generation=2"])?;
    let after = certificates(host).await?;
    let all_new = before.iter().zip(&after).all(|(before, after)| before != after);
    ensure!(all_new, "a new generation makes all of them anew");
    book.take_components_away()?;
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=karmada-failover");
    let left = Api::<Deployment>::namespaced(host.clone(), NAMESPACE)
        .list(&ours)
        .await?;
    ensure!(left.items.is_empty(), "{} Deployments are left", left.items.len());
    Ok(())
}

/// With a kind go all its objects: they are nobody's to delete by the way.
pub async fn kinds_stay(client: &Client) -> anyhow::Result<()> {
    let crds: Vec<String> = Api::<CustomResourceDefinition>::all(client.clone())
        .list(&ListParams::default())
        .await?
        .into_iter()
        .map(|crd| crd.name_any())
        .collect();
    for crd in api_types::crds() {
        ensure!(
            crds.contains(&crd.name_any()),
            "{} went with its release",
            crd.name_any()
        );
    }
    Ok(())
}
