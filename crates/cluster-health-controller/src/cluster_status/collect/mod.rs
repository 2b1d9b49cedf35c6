//! What a healthy member has to offer: version, APIs, nodes, resources.
//!
//! Nodes and pods are watched, not listed again and again; version and APIs are asked for when the member becomes
//! reachable, when its CRDs change, and every five minutes. What cannot be learned stays as it was last known.

mod discovery;
mod pods;
mod resources;

use std::time::Duration;

use api_types::cluster::{ApiEnablement, NodeSummary, ResourceSummary};
use controller_kit::tasks::TaskGuard;
use controller_kit::{Changes, Context, Informer, Informers, Scope, api_errors};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::core::PartialObjectMeta;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::debug;

pub(crate) use failover_core::quantity::as_number as quantity_as_number;
use pods::SlimPod;

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
    asking: Option<Asking>,
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

/// The question for version and APIs: dozens of requests to some members. It goes on in a task of its own when it takes
/// longer than a look.
struct Asking {
    answer: oneshot::Receiver<Answer>,
    _task: TaskGuard,
}

struct Answer {
    version: Option<String>,
    apis: discovery::Apis,
}

impl Collector {
    pub fn new(ctx: &Context, member: &str) -> Self {
        Self {
            ctx: ctx.clone(),
            member: member.to_owned(),
            facts: Facts::default(),
            watched: None,
            asking: None,
            asked: None,
        }
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The member does not answer: watches would only try in vain, and what it offers is asked anew when it is back.
    pub fn lost(&mut self) {
        self.watched = None;
        self.asking = None;
        self.asked = None;
    }

    /// Brings the facts up to date, as far as the member answers. May be cut short at any time: what was not there by
    /// then is there at the next call, if it has come meanwhile.
    pub async fn refresh(&mut self, client: &Client) {
        let crds_changed = self.watch(client);
        if self.asking.is_none() && (crds_changed || self.is_due()) {
            self.asking = Some(self.ask(client));
        }
        let Facts {
            version,
            apis,
            nodes,
            resources,
        } = &mut self.facts;
        let (asking, asked) = (&mut self.asking, &mut self.asked);
        let hear = async {
            let Some(Asking { answer, .. }) = asking else { return };
            if let Ok(answer) = answer.await {
                *version = answer.version.or(version.take());
                *apis = Some(answer.apis);
            }
            *asking = None;
            *asked = Some(Instant::now());
        };
        let watched = &self.watched;
        let sum_up = async {
            let Some(watched) = watched else { return };
            let (Ok(all_nodes), Ok(pods)) = (watched.nodes.synced().await, watched.pods.synced().await) else {
                return;
            };
            let (all_nodes, pods) = (all_nodes.list(), pods.list());
            *nodes = Some(resources::count_nodes(&all_nodes));
            *resources = Some(resources::summarize(&all_nodes, &pods));
        };
        futures::join!(hear, sum_up);
    }

    /// Begins to follow the member if nobody does; whether its CRDs have changed since the last call.
    fn watch(&mut self, client: &Client) -> bool {
        let watched = self.watched.get_or_insert_with(|| {
            let informers = self.ctx.informers.for_member(&self.member, client.clone());
            Watched {
                nodes: informers.of::<Node>(),
                pods: informers.get::<SlimPod>(Scope::all(), &()),
                crd_changes: informers.of::<CrdMeta>().changes(),
                informers,
            }
        });
        let mut changed = false;
        while watched.crd_changes.try_recv().is_some() {
            changed = true;
        }
        changed
    }

    fn is_due(&self) -> bool {
        let is_complete = self.facts.apis.as_ref().is_some_and(discovery::Apis::is_complete);
        let again_after = if is_complete {
            ASK_AGAIN_AFTER
        } else {
            ASK_INCOMPLETE_AGAIN_AFTER
        };
        self.asked.is_none_or(|asked| asked.elapsed() >= again_after)
    }

    fn ask(&self, client: &Client) -> Asking {
        let (say, answer) = oneshot::channel();
        let (client, member, before) = (client.clone(), self.member.clone(), self.facts.apis.clone());
        let task = self.ctx.tasks.spawn(format!("apis of {member}"), async move {
            let version = match client.apiserver_version().await {
                Ok(version) => Some(version.git_version),
                Err(error) => {
                    debug!(member, error = api_errors::one_line(&error), "no version");
                    None
                }
            };
            let apis = discovery::ask(&client, before).await;
            // Nobody listens any more when the member was lost meanwhile.
            let _ = say.send(Answer { version, apis });
        });
        Asking {
            answer,
            _task: task.abort_on_drop(),
        }
    }
}
