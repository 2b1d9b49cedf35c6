//! From a Cluster and its secret to something that can be connected to; or a sentence about what is wrong.

use std::time::Duration;

use api_types::cluster::Cluster;
use controller_kit::informer::Followed;
use controller_kit::members::{MemberAddress, SecretPlace, TlsVerification};
use controller_kit::{Context, MemberTarget, ObjectKey};
use k8s_openapi::api::core::v1::Secret;

/// Why there is no target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoTarget {
    /// Something is wrong that a person can mend: what, where, what to do.
    Wrong(String),
    /// Nothing is known yet: its Secret has not been read.
    NotReadYet,
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
    let (name, spec) = (cluster.cluster_name(), &cluster.spec);
    let address = MemberAddress {
        cluster: name.as_str(),
        api_endpoint: spec.api_endpoint.as_deref(),
        secret: spec.secret_ref.as_ref().map(|reference| SecretPlace {
            namespace: &reference.namespace,
            name: &reference.name,
        }),
        proxy_url: spec.proxy_url.as_deref(),
        verification: match spec.insecure_skip_tls_verification {
            Some(true) => TlsVerification::Skip,
            _ => TlsVerification::Verify,
        },
    };
    let wrong = |error: controller_kit::members::AddressError| NoTarget::Wrong(error.to_string());
    let address = address.without_proxy_header(&spec.proxy_header).map_err(wrong)?;
    let place = address.secret_place().map_err(wrong)?;
    let secret = named.at(ctx, &ObjectKey::namespaced(place.namespace, place.name));
    let Ok(Ok(secret)) = tokio::time::timeout(patience, secret.read()).await else {
        return Err(NoTarget::NotReadYet);
    };
    address.target(secret.as_deref(), patience).map_err(wrong)
}
