//! Whose control plane it is, and whether it keeps what we write, by what its API server serves.
//!
//! Guarantees: asked once a process, and only where somebody must know; who may not work there does not begin to.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::our_fields;
use kube::Client;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::controller::Place;
use crate::api_errors;
use crate::kinds::until_answered;
use crate::mode::Mode;
use crate::readiness::Readiness;

const CLUSTERS: &str = "cluster.karmada.io/v1alpha1";
/// Stock's aggregated API server serves this subresource of Clusters, and no CRD can. Discovery is open to everybody: its
/// APIService, by which people with more rights can tell, is not.
const STOCKS_ALONE: &str = "clusters/proxy";

/// How many dropped fields a refusal names.
const SHOWN: usize = 3;

/// What `/readyz` calls the wait for an answer.
const CHECK: &str = "control plane";

/// What is known of a control plane, once somebody wants to know. Clones share the answers.
#[derive(Clone)]
pub(crate) struct Whose {
    client: Client,
    readiness: Readiness,
    seed: Arc<str>,
    answers: Arc<Answers>,
}

#[derive(Default)]
struct Answers {
    mode: OnceCell<Mode>,
    /// Fields of ours that the API server drops, as `KIND FIELD`.
    dropped: OnceCell<Vec<String>>,
}

/// Why a controller does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "this is the control plane of a stock Karmada (its API server serves {STOCKS_ALONE}), and this controller would do what \
         stock's does: two would do one job. Check --kubeconfig; beside a stock Karmada set mode: beside in the charts' values, \
         which installs only what stock leaves to us and starts it with --beside-stock"
    )]
    Stocks,
    #[error(
        "the API server drops {}: its CRDs are of another version, and what people say there would be taken for not said. Bring \
         them to this version: helm upgrade of the chart karmada-crds; are they a stock Karmada's, set mode: beside in the \
         charts' values",
        the_first(_0)
    )]
    Dropped(Vec<String>),
    #[error("stopped while waiting for the API server")]
    Stopped,
}

/// As many names as a person reads, and how many more there are.
fn the_first(dropped: &[String]) -> String {
    let shown = dropped.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match dropped.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more fields (failoverctl check names them)"),
    }
}

impl Whose {
    pub(crate) fn new(client: Client, readiness: Readiness, seed: &str) -> Self {
        Self {
            client,
            readiness,
            seed: seed.into(),
            answers: Arc::default(),
        }
    }

    /// Whether a controller may work here. One for a control plane beside a stock Karmada may anywhere: without stock some of
    /// what it does is of no use, and none of it in anybody's way.
    pub(crate) async fn admits(&self, place: Place, stop: &CancellationToken) -> Result<(), Refusal> {
        if matches!(place, Place::Anywhere | Place::Told(Mode::Beside)) {
            return Ok(());
        }
        let unanswered = || Err("the API server has not said yet what it serves".to_owned());
        self.readiness.check(CHECK, unanswered);
        self.is_not_stocks(stop).await?;
        if place == Place::Told(Mode::Standalone) {
            self.keeps_our_fields(stop).await?;
        }
        self.readiness.remove(CHECK);
        Ok(())
    }

    async fn is_not_stocks(&self, stop: &CancellationToken) -> Result<(), Refusal> {
        let ask = || async {
            let answer = until_answered(stop, &[&self.seed, "whose"], || mode_of(&self.client)).await;
            answer.ok_or(Refusal::Stopped)
        };
        match self.answers.mode.get_or_try_init(ask).await? {
            Mode::Standalone => Ok(()),
            Mode::Beside => Err(Refusal::Stocks),
        }
    }

    async fn keeps_our_fields(&self, stop: &CancellationToken) -> Result<(), Refusal> {
        let ask = || async {
            let answer = until_answered(stop, &[&self.seed, "fields"], || dropped_by(&self.client)).await;
            answer.ok_or(Refusal::Stopped)
        };
        let dropped = self.answers.dropped.get_or_try_init(ask).await?;
        if dropped.is_empty() {
            return Ok(());
        }
        Err(Refusal::Dropped(dropped.clone()))
    }
}

async fn mode_of(client: &Client) -> Result<Mode, kube::Error> {
    match client.list_api_group_resources(CLUSTERS).await {
        Ok(list) if list.resources.iter().any(|resource| resource.name == STOCKS_ALONE) => Ok(Mode::Beside),
        Ok(_) => Ok(Mode::Standalone),
        // No CRDs yet: a controller that needs them says so itself.
        Err(error) if api_errors::is_not_found(&error) => Ok(Mode::Standalone),
        Err(error) => Err(error),
    }
}

async fn dropped_by(client: &Client) -> Result<Vec<String>, kube::Error> {
    let mut documents = BTreeMap::new();
    for api_version in our_fields::api_versions() {
        let request = http::Request::get(format!("/openapi/v3/apis/{api_version}"))
            .body(Vec::new())
            .map_err(kube::Error::HttpError)?;
        match client.request::<Value>(request).await {
            Ok(document) => {
                documents.insert(api_version, document);
            }
            Err(error) if api_errors::is_not_found(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(our_fields::dropped(&documents))
}
