//! Keeps the status of policies: a projection of the Clusters, written only when it changes.

use std::sync::atomic::{AtomicBool, Ordering};

use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::{Context, Next, ObjectKey, api_errors};
use failover_core::taint_policy::{FailoverGate, Report, status};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tracing::warn;

use crate::index::Index;

/// Fields that are left out when they are empty, and must then be removed.
const OPTIONAL: [&str; 5] = [
    "observedGeneration",
    "conditions",
    "nextChangeAt",
    "clusters",
    "clustersOmitted",
];

pub(crate) struct PolicyStatus {
    ctx: Context,
    index: Index,
    gate: FailoverGate,
    told_unsupported: AtomicBool,
}

impl PolicyStatus {
    pub fn new(ctx: &Context, index: &Index, gate: FailoverGate) -> Self {
        Self {
            ctx: ctx.clone(),
            index: index.clone(),
            gate,
            told_unsupported: AtomicBool::new(false),
        }
    }

    pub async fn bring_up_to_date(&self, key: &ObjectKey) -> Result<Next, kube::Error> {
        let Some(policy) = self.index.policies.get(key) else {
            return Ok(Next::Done);
        };
        let uid = policy.metadata.uid.as_deref().unwrap_or_default();
        let status_of = |reports: &[(&str, &Report)]| {
            let now = self.ctx.clock.now();
            status::of_policy(&policy, reports, self.gate, now)
        };
        // Until every Cluster has been looked at, what is known is not the whole: the last look makes this due again.
        let Some(wanted) = self.index.read_reports(&key.name, uid, status_of) else {
            return Ok(Next::Done);
        };
        if policy.status.as_ref() == Some(&wanted) {
            return Ok(Next::Done);
        }
        let mut value = serde_json::to_value(&wanted).map_err(kube::Error::SerdeError)?;
        for field in OPTIONAL {
            if value.get(field).is_none() {
                value[field] = Value::Null;
            }
        }
        let patch = json!({"metadata": {"resourceVersion": policy.metadata.resource_version}, "status": value});
        let api = Api::<ClusterTaintPolicy>::all(self.ctx.client.clone());
        match api
            .patch_status(&key.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Ok(_) => Ok(Next::Done),
            Err(error) if api_errors::is_not_found(&error) => {
                if !self.told_unsupported.swap(true, Ordering::Relaxed) {
                    warn!(policy = %key, "no status written: the policy is gone, or its CRD (stock Karmada's) has no status");
                }
                Ok(Next::Done)
            }
            Err(error) => Err(error),
        }
    }
}
