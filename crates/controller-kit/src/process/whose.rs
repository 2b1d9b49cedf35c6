//! Whose control plane it is, by what its API server serves.
//!
//! Guarantees: asked once a process, and only where somebody must know; who may not work there does not begin to.

use std::sync::Arc;

use kube::Client;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::api_errors;
use crate::kinds::until_answered;
use crate::mode::Mode;

const CLUSTERS: &str = "cluster.karmada.io/v1alpha1";
/// Stock's aggregated API server serves this subresource of Clusters, and no CRD can. Discovery is open to everybody: its
/// APIService, by which people with more rights can tell, is not.
const STOCKS_ALONE: &str = "clusters/proxy";

/// Whose control plane it is, once somebody wants to know. Clones share the answer.
#[derive(Clone)]
pub(crate) struct Whose {
    client: Client,
    seed: Arc<str>,
    mode: Arc<OnceCell<Mode>>,
}

/// Why a controller does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "this is the control plane of a stock Karmada (its API server serves {STOCKS_ALONE}), and this controller is told that \
         all is ours here: two would do one job. Check --kubeconfig; beside a stock Karmada set mode: beside in the charts' \
         values, which installs only what stock leaves to us and starts it with --beside-stock"
    )]
    Stocks,
    #[error("stopped while waiting for the API server")]
    Stopped,
}

impl Whose {
    pub(crate) fn new(client: Client, seed: &str) -> Self {
        Self {
            client,
            seed: seed.into(),
            mode: Arc::default(),
        }
    }

    /// Whether a controller for this mode may work here. One for a control plane beside a stock Karmada may anywhere: without
    /// stock some of what it does is of no use, and none of it in anybody's way.
    pub(crate) async fn admits(&self, mode: Option<Mode>, stop: &CancellationToken) -> Result<(), Refusal> {
        if mode != Some(Mode::Standalone) {
            return Ok(());
        }
        let ask = || async {
            let answer = until_answered(stop, &[&self.seed, "whose"], || seen(&self.client)).await;
            answer.ok_or(Refusal::Stopped)
        };
        match self.mode.get_or_try_init(ask).await? {
            Mode::Standalone => Ok(()),
            Mode::Beside => Err(Refusal::Stocks),
        }
    }
}

async fn seen(client: &Client) -> Result<Mode, kube::Error> {
    match client.list_api_group_resources(CLUSTERS).await {
        Ok(list) if list.resources.iter().any(|resource| resource.name == STOCKS_ALONE) => Ok(Mode::Beside),
        Ok(_) => Ok(Mode::Standalone),
        // No CRDs yet: a controller that needs them says so itself.
        Err(error) if api_errors::is_not_found(&error) => Ok(Mode::Standalone),
        Err(error) => Err(error),
    }
}
