//! The control plane: etcd, an API server, and the controllers without which no API server is whole.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use e2e_control_plane::{Binaries, Tool, locate};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;

use crate::api_server::ApiServer;
use crate::audit::Auditing;
use crate::credentials::Identity;
use crate::error::Error;
use crate::etcd::Etcd;
use crate::member::Member;
use crate::process::{Launch, Process};
use crate::run_folder::RunFolder;

/// The name of the control plane's API server.
const NAME: &str = "control-plane";

/// A control plane without any of our objects or programs yet.
///
/// Nothing on it runs pods: a Deployment stays a template, as on a Karmada control plane.
#[derive(Debug)]
pub struct ControlPlane {
    controllers: Process,
    api: ApiServer,
    shared: Shared,
}

/// What a control plane and its members have in common; the last owner ends etcd and the folder.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub etcd: Arc<Etcd>,
    pub binaries: Binaries,
    pub folder: Arc<RunFolder>,
    pub auditing: Auditing,
}

impl ControlPlane {
    /// Starts one, and comes back when it is ready (2.5 s on an idle machine).
    ///
    /// # Errors
    /// [`Error::Missing`] where the programs are not here (ask [`crate::available`] first); else whatever kept a
    /// server from coming up.
    pub async fn start() -> Result<Self, Error> {
        Self::start_auditing(Auditing::Off).await
    }

    /// The same, and it and its members write down who asks them for what ([`ApiServer::audit_log`]).
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn start_audited() -> Result<Self, Error> {
        Self::start_auditing(Auditing::On).await
    }

    async fn start_auditing(auditing: Auditing) -> Result<Self, Error> {
        let binaries = locate()?;
        let folder = RunFolder::create()?;
        let etcd = Arc::new(Etcd::start(&folder, &binaries).await?);
        let api = ApiServer::start(NAME, &folder, &binaries, &etcd, auditing).await?;
        // As on a Karmada control plane, whose components come with tokens that stand in Secrets, and whose rights
        // are gathered from several ClusterRoles.
        let launch = controllers(
            &api,
            &binaries,
            &[
                "namespace-controller",
                "garbage-collector-controller",
                "serviceaccount-token-controller",
                "clusterrole-aggregation-controller",
            ],
        )
        .arg(format!(
            "--service-account-private-key-file={}",
            api.private_key().display()
        ))
        .arg(format!("--root-ca-file={}", api.certificate().display()));
        let controllers = Process::start(&folder, launch)?;
        Ok(Self {
            controllers,
            api,
            shared: Shared {
                etcd,
                binaries,
                folder,
                auditing,
            },
        })
    }

    /// Adds a member cluster with one ready node.
    ///
    /// # Errors
    /// Whatever kept one of its servers from coming up.
    pub async fn start_member(&self, name: &str) -> Result<Member, Error> {
        Member::start(self, name).await
    }

    /// Its API server.
    #[must_use]
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// Its API server, to be stopped, paused or started again.
    pub fn api_mut(&mut self) -> &mut ApiServer {
        &mut self.api
    }

    /// A client that may do everything.
    ///
    /// # Errors
    /// [`Error::Api`] or [`Error::Kubeconfig`] when no client can be made.
    pub async fn client(&self) -> Result<Client, Error> {
        self.api.client(Identity::Admin).await
    }

    /// The kubeconfig of a user.
    #[must_use]
    pub fn kubeconfig(&self, identity: Identity) -> PathBuf {
        self.api.kubeconfig(identity)
    }

    /// The folder of its data and logs, and those of its members.
    #[must_use]
    pub fn folder(&self) -> &Arc<RunFolder> {
        &self.shared.folder
    }

    /// The address of its etcd, `http://127.0.0.1:PORT`, where a test can compact the history.
    #[must_use]
    pub fn etcd_endpoint(&self) -> &str {
        self.shared.etcd.endpoint()
    }

    /// The programs it runs: kubectl and grpcurl may be among them.
    #[must_use]
    pub fn binaries(&self) -> &Binaries {
        &self.shared.binaries
    }

    /// Gives `identity` rights in the whole control plane, beside those that it has, under the name `right`.
    ///
    /// # Errors
    /// [`Error::Api`], also when it has been given the right of that name before.
    pub async fn grant(&self, identity: Identity, right: &str, rules: Vec<PolicyRule>) -> Result<(), Error> {
        self.api.grant(identity, right, rules).await
    }

    /// Starts a program of ours against this control plane: `KUBECONFIG` is the kubeconfig of `identity`, the log is
    /// `NAME.log` in the folder.
    ///
    /// # Errors
    /// [`Error::System`] when it cannot be started.
    pub fn spawn<T: Into<OsString>>(
        &self,
        name: &str,
        program: &Path,
        identity: Identity,
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Process, Error> {
        let launch = Launch::new(name, program)
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig(identity));
        Process::start(&self.shared.folder, launch)
    }

    /// Ends its controllers and API server, in order; its data and members stay.
    ///
    /// # Errors
    /// [`Error::TooLate`] when one had to be killed.
    pub async fn stop(&mut self) -> Result<(), Error> {
        self.controllers.kill()?;
        self.api.stop().await
    }

    /// Ends and starts it again, on the same port and data.
    ///
    /// # Errors
    /// [`Error::Ended`] or [`Error::TooLate`] when it does not come up.
    pub async fn restart(&mut self) -> Result<(), Error> {
        self.controllers.kill()?;
        self.api.kill()?;
        self.api.start_again().await?;
        self.controllers.start_again()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

/// A controller manager that runs these controllers and no others.
pub(crate) fn controllers(api: &ApiServer, binaries: &Binaries, names: &[&str]) -> Launch {
    let name = format!("{}-controllers", api.name());
    Launch::new(name, binaries.path(Tool::KubeControllerManager)).args([
        format!("--kubeconfig={}", api.kubeconfig(Identity::Admin).display()),
        format!("--controllers={}", names.join(",")),
        "--leader-elect=false".to_owned(),
        // It serves nothing.
        "--secure-port=0".to_owned(),
        "--kube-api-qps=200".to_owned(),
        "--kube-api-burst=400".to_owned(),
    ])
}
