//! What a person who has kubectl sees of the Clusters of a real control plane.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use api_types::cluster::Cluster;
use e2e_harness::eventually;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Api, Client};

use crate::kubectl::Kubectl;

/// The longest that a change may take to be seen.
pub const SOON: Duration = Duration::from_secs(60);

/// A Cluster as it is now.
pub async fn read(client: &Client, name: &str) -> Result<Cluster, String> {
    let clusters = Api::<Cluster>::all(client.clone());
    clusters.get(name).await.map_err(|error| error.to_string())
}

/// Waits until a condition of a Cluster says one of `wanted`; the condition.
pub async fn condition_is(client: &Client, name: &str, kind: &str, wanted: &[&str]) -> anyhow::Result<Condition> {
    let what = format!("{kind} of {name} to be {}", wanted.join(" or "));
    let condition = eventually(&what, SOON, async || {
        let cluster = read(client, name).await?;
        match cluster.condition(kind) {
            Some(found) if wanted.contains(&found.status.as_str()) => Ok(found.clone()),
            found => Err(format!("{found:?}")),
        }
    });
    Ok(condition.await?)
}

/// When a Lease was renewed last.
pub async fn renewed_at(client: &Client, namespace: &str, name: &str) -> anyhow::Result<Timestamp> {
    let leases = Api::<Lease>::namespaced(client.clone(), namespace);
    let lease = leases.get(name).await?;
    let renewed = lease.spec.and_then(|spec| spec.renew_time);
    Ok(renewed.with_context(|| format!("Lease {name} was never renewed"))?.0)
}

/// That a condition became what it is no earlier than `at_least` after the last sign of life; how long after, in seconds.
/// Judged by what is stored, however late it is seen. Times of conditions are cut to whole seconds.
pub fn not_before(condition: &Condition, sign_of_life: Timestamp, at_least: Duration) -> anyhow::Result<f64> {
    let became = condition.last_transition_time.0 + Duration::from_secs(1);
    let after = became.duration_since(sign_of_life).as_secs_f64();
    ensure!(
        after >= at_least.as_secs_f64(),
        "{} is {} {after:.1} s after the last sign of life, which is good for {at_least:?}",
        condition.type_,
        condition.status
    );
    Ok(after)
}

/// Waits for an event on an object, as `kubectl events` shows it.
pub async fn event_on(
    kubectl: &Kubectl,
    namespace: &str,
    object: &str,
    reason: &str,
    words: &str,
) -> anyhow::Result<()> {
    eventually(
        &format!("an event {reason} with {words:?} on {object}"),
        SOON,
        async || {
            let text = kubectl
                .run(&["events", "-n", namespace, "--for", object])
                .map_err(|error| error.to_string())?;
            let found = text.lines().any(|line| line.contains(reason) && line.contains(words));
            if found { Ok(()) } else { Err(text) }
        },
    )
    .await?;
    Ok(())
}
