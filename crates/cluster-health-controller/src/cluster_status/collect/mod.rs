//! What a healthy member has to offer: version, APIs, nodes, resources.
//!
//! Nodes and pods are watched, not listed again and again; version and APIs are asked for when the member becomes
//! reachable, when its CRDs change, and every five minutes. What cannot be learned stays as it was last known.

mod discovery;
mod pods;
mod quantity;
mod resources;

use std::time::Duration;

use api_types::cluster::{ApiEnablement, NodeSummary, ResourceSummary};
use controller_kit::{Changes, Context, Informer, Informers, Scope, api_errors};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::core::PartialObjectMeta;
use tokio::time::Instant;
use tracing::debug;

use pods::SlimPod;
pub(crate) use quantity::as_number as quantity_as_number;

/// APIs that no CRD announces (an aggregated server, an upgrade) are found after this time.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(300);
/// The same while not all APIs could be listed: until they are, workloads of the kinds that are missing find no place here.
const ASK_INCOMPLETE_AGAIN_AFTER: Duration = Duration::from_secs(30);

type CrdMeta = PartialObjectMeta<CustomResourceDefinition>;

/// What is known of a member.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    version: Option<String>,
    apis: Option<discovery::Apis>,
    nodes: Option<NodeSummary>,
    resources: Option<ResourceSummary>,
}

impl Facts {
    pub fn version(&self) -> Option<&String> {
        self.version.as_ref()
    }

    pub fn api_enablements(&self) -> Option<&Vec<ApiEnablement>> {
        self.apis.as_ref().map(|apis| &apis.enablements)
    }

    pub fn nodes(&self) -> Option<&NodeSummary> {
        self.nodes.as_ref()
    }

    pub fn resources(&self) -> Option<ResourceSummary> {
        self.resources.clone()
    }

    /// Status, reason and message of the condition `CompleteAPIEnablements`.
    pub fn completeness(&self) -> Option<(&'static str, &'static str, String)> {
        self.apis.as_ref().map(discovery::Apis::completeness)
    }
}

/// Keeps the facts of one member.
pub(super) struct Collector {
    ctx: Context,
    member: String,
    facts: Facts,
    watched: Option<Watched>,
    asked: Option<Instant>,
}

struct Watched {
    informers: Informers,
    nodes: Informer<Node>,
    pods: Informer<SlimPod>,
    crd_changes: Changes<CrdMeta>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.informers.stop();
    }
}

impl Collector {
    pub fn new(ctx: &Context, member: &str) -> Self {
        Self {
            ctx: ctx.clone(),
            member: member.to_owned(),
            facts: Facts::default(),
            watched: None,
            asked: None,
        }
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The member does not answer: watches would only try in vain, and what it offers is asked anew when it is back.
    pub fn lost(&mut self) {
        self.watched = None;
        self.asked = None;
    }

    /// Brings the facts up to date, as far as the member answers. Safe to be cut short.
    pub async fn refresh(&mut self, client: &Client) {
        let watched = self.watched.get_or_insert_with(|| {
            let informers = self.ctx.informers.for_member(&self.member, client.clone());
            Watched {
                nodes: informers.of::<Node>(),
                pods: informers.get::<SlimPod>(Scope::all(), &()),
                crd_changes: informers.of::<CrdMeta>().changes(),
                informers,
            }
        });
        let mut crds_changed = false;
        while watched.crd_changes.try_recv().is_some() {
            crds_changed = true;
        }
        let is_complete = self.facts.apis.as_ref().is_some_and(discovery::Apis::is_complete);
        let ask_again_after = if is_complete {
            ASK_AGAIN_AFTER
        } else {
            ASK_INCOMPLETE_AGAIN_AFTER
        };
        if crds_changed || self.asked.is_none_or(|asked| asked.elapsed() >= ask_again_after) {
            match client.apiserver_version().await {
                Ok(version) => self.facts.version = Some(version.git_version),
                Err(error) => debug!(member = self.member, error = api_errors::one_line(&error), "no version"),
            }
            self.facts.apis = Some(discovery::ask(client, self.facts.apis.clone()).await);
            self.asked = Some(Instant::now());
        }
        let (Ok(nodes), Ok(pods)) = (watched.nodes.synced().await, watched.pods.synced().await) else {
            return;
        };
        let (nodes, pods) = (nodes.list(), pods.list());
        self.facts.nodes = Some(resources::count_nodes(&nodes));
        self.facts.resources = Some(resources::summarize(&nodes, &pods));
    }
}
