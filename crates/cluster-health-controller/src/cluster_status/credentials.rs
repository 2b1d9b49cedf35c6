//! From a Cluster and its secret to something that can be connected to; or a sentence about what is wrong.

use std::time::Duration;

use api_types::cluster::Cluster;
use controller_kit::durations::format_duration;
use controller_kit::informer::{Followed, NotRead, ReadFailureKind};
use controller_kit::members::MemberAddress;
use controller_kit::{Context, MemberTarget, ObjectKey};
use k8s_openapi::api::core::v1::Secret;
use tokio::time::{Instant, timeout};

/// Why there is no target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoTarget {
    /// Something is wrong that a person can mend: what, where, what to do.
    Wrong(String),
    /// We are not allowed to read its Secret.
    Denied {
        /// Which Secret, what was answered, what to do.
        what: String,
        /// When that was answered.
        at: Instant,
    },
    /// Nothing is known yet: its Secret has not been read. Which one, and why as far as that is known.
    NotReadYet(String),
}

/// The Secret that a Cluster names, followed while it names it.
#[derive(Default)]
pub(super) struct Named {
    secret: Option<Followed<Secret>>,
}

impl Named {
    fn at(&mut self, ctx: &Context, place: &ObjectKey) -> &Followed<Secret> {
        let same = self.secret.take_if(|secret| secret.key() == place);
        self.secret
            .insert(same.unwrap_or_else(|| ctx.informers.object::<Secret>(place, &())))
    }
}

/// What is needed to talk to the member.
pub(super) async fn target(
    ctx: &Context,
    cluster: &Cluster,
    named: &mut Named,
    patience: Duration,
) -> Result<MemberTarget, NoTarget> {
    let address = MemberAddress::of(cluster);
    let wrong = |error: controller_kit::members::AddressError| NoTarget::Wrong(error.to_string());
    let place = address.secret_place().map_err(wrong)?;
    let secret = named.at(ctx, &ObjectKey::namespaced(place.namespace, place.name));
    let _ = timeout(patience, secret.read()).await;
    let secret = secret
        .as_read()
        .map_err(|not_read| no_secret(secret.key(), not_read, patience))?;
    address.target(secret.as_deref(), patience).map_err(wrong)
}

fn no_secret(secret: &ObjectKey, not_read: NotRead, patience: Duration) -> NoTarget {
    match not_read.failure {
        Some(failure) if failure.kind == ReadFailureKind::Denied => NoTarget::Denied {
            what: format!(
                "secret {secret}, which its spec.secretRef names, may not be read: {failure}; give the service account of \
                 clusterStatus the verbs list and watch on that secret"
            ),
            at: failure.at,
        },
        _ => NoTarget::NotReadYet(format!(
            "secret {secret}, which its spec.secretRef names, has not been read within {}: {not_read}",
            format_duration(patience)
        )),
    }
}
