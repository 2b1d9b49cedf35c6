//! The cluster that runs the components' pods: the one that the command line names, or the control plane itself.

use std::path::PathBuf;

use controller_kit::connect;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::{Client, Config};

use crate::cli::Target;
use crate::failure::{Failure, is_forbidden};

/// A host cluster.
#[derive(Clone)]
pub struct Host {
    client: Client,
    namespace: String,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Host").field(&self.namespace).finish()
    }
}

impl Host {
    /// The host cluster that the command line names; nothing when it names none.
    ///
    /// # Errors
    /// The kubeconfig is wrong.
    pub async fn named(target: &Target) -> Result<Option<Self>, Failure> {
        if target.host_kubeconfig.is_none() && target.host_context.is_none() {
            return Ok(None);
        }
        let found = config(target.host_kubeconfig.clone(), target.host_context.as_deref()).await;
        let config = found.map_err(|failure| failure.about_flags("--host-kubeconfig", "--host-context"))?;
        let client = connect::connect(config, target.request_timeout())?;
        Ok(Some(Self::new(client, &target.host_namespace)))
    }

    /// A host cluster that is found already.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
        }
    }

    /// For what only one command asks.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Where the pods are.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether there is such a pod, as far as this user may look.
    pub(crate) async fn has_pod(&self, name: &str) -> bool {
        let api = Api::<Pod>::namespaced(self.client(), &self.namespace);
        matches!(api.get_opt(name).await, Ok(Some(_)))
    }

    /// The Deployments of the namespace.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn deployments(&self) -> Result<Vec<Deployment>, DeploymentsNotListed> {
        let api = Api::<Deployment>::namespaced(self.client.clone(), &self.namespace);
        let what = format!(
            "cannot list deployments in namespace {} of the host cluster",
            self.namespace
        );
        match api.list(&ListParams::default()).await {
            Ok(list) => Ok(list.items),
            Err(error) => {
                let needed = "use a --kubeconfig whose user may list deployments.apps there";
                let failure =
                    Failure::of_api_needing(&what, &error, needed).about_flags("--host-kubeconfig", "--host-context");
                // 401 is a user that is not known there, which no other question would show.
                Err(if is_forbidden(&error) {
                    DeploymentsNotListed::Forbidden(failure)
                } else {
                    DeploymentsNotListed::Failed(failure)
                })
            }
        }
    }
}

/// Why Deployments cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentsNotListed {
    /// The user is known there and may not.
    Forbidden(Failure),
    /// Everything else.
    Failed(Failure),
}

/// Without a file a context is looked for where kubectl looks.
async fn config(file: Option<PathBuf>, context: Option<&str>) -> Result<Config, Failure> {
    Ok(connect::find_config(file.as_deref(), context).await?)
}
