//! One API server: its users, its address, its kubeconfigs, its outages.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use e2e_control_plane::{Binaries, Tool};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde_json::json;

use crate::audit::{AuditLog, Auditing, POLICY};
use crate::credentials::{Identity, ServiceAccountKeys, Tokens, base64};
use crate::error::Error;
use crate::etcd::Etcd;
use crate::ports;
use crate::process::{Launch, Process};
use crate::run_folder::RunFolder;
use crate::wait::while_it_runs;

/// From the start to `/readyz`: 2 s on an idle machine.
const READY_WITHIN: Duration = Duration::from_secs(120);
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long a server has to let go of its clients when it is asked to end.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// An API server with storage, users and a port of its own; it can go away and come back.
#[derive(Debug)]
pub struct ApiServer {
    name: String,
    endpoint: String,
    ca_bundle: String,
    tokens: Tokens,
    kubeconfigs: PathBuf,
    private_key: PathBuf,
    certificate: PathBuf,
    audit_log: Option<AuditLog>,
    process: Process,
}

/// The files that an API server is given.
struct Files {
    certificates: PathBuf,
    kubeconfigs: PathBuf,
    tokens: PathBuf,
    private_key: PathBuf,
    public_key: PathBuf,
    /// The policy of auditing, and the log.
    audit: Option<(PathBuf, PathBuf)>,
}

impl ApiServer {
    /// Starts one named `name`, whose objects live under `/NAME` in `etcd`, and waits until it is ready.
    pub(crate) async fn start(
        name: &str,
        folder: &Arc<RunFolder>,
        binaries: &Binaries,
        etcd: &Etcd,
        auditing: Auditing,
    ) -> Result<Self, Error> {
        let mut tries_left = ports::TRIES;
        loop {
            tries_left -= 1;
            match Self::start_on(ports::free()?, name, folder, binaries, etcd, auditing).await {
                Err(error) if error.is_port_taken() && tries_left > 0 => {}
                done => return done,
            }
        }
    }

    async fn start_on(
        port: u16,
        name: &str,
        folder: &Arc<RunFolder>,
        binaries: &Binaries,
        etcd: &Etcd,
        auditing: Auditing,
    ) -> Result<Self, Error> {
        let tokens = Tokens::generate();
        let keys = ServiceAccountKeys::generate()?;
        let files = Files {
            certificates: folder.make(&format!("{name}/certificates"))?,
            kubeconfigs: folder.make(&format!("{name}/kubeconfigs"))?,
            tokens: folder.write(&format!("{name}/tokens.csv"), tokens.file().as_bytes())?,
            private_key: folder.write(&format!("{name}/service-accounts.key"), keys.private.as_bytes())?,
            public_key: folder.write(&format!("{name}/service-accounts.pub"), keys.public.as_bytes())?,
            audit: match auditing {
                Auditing::Off => None,
                Auditing::On => {
                    let policy = folder.write(&format!("{name}/audit-policy.json"), POLICY.as_bytes())?;
                    let log = policy.with_file_name("audit.log");
                    Some((policy, log))
                }
            },
        };
        let process = Process::start(folder, launch(port, name, binaries, etcd, &files))?;
        let mut server = Self {
            name: name.to_owned(),
            endpoint: format!("https://127.0.0.1:{port}"),
            ca_bundle: String::new(),
            tokens,
            kubeconfigs: files.kubeconfigs,
            private_key: files.private_key,
            certificate: files.certificates.join("apiserver.crt"),
            audit_log: files.audit.map(|(_, log)| AuditLog::at(&log)),
            process,
        };
        // The server signs its certificate itself, once: it is its own authority, also after a restart.
        let certificate = server.certificate.clone();
        server.ca_bundle = while_it_runs(
            &mut server.process,
            "the server's certificate",
            READY_WITHIN,
            async || match fs::read_to_string(&certificate) {
                Ok(text) if text.trim_end().ends_with("-----END CERTIFICATE-----") => Ok(text),
                Ok(_) => Err("half a file".to_owned()),
                Err(error) => Err(format!("{}: {error}", certificate.display())),
            },
        )
        .await?;
        server.write_kubeconfigs()?;
        server.ready().await?;
        Ok(server)
    }

    /// Its name: `control-plane` or the member's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address, `https://127.0.0.1:PORT`, the same for its whole life.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The certificates, in PEM, by which a client knows it.
    #[must_use]
    pub fn ca_bundle(&self) -> &str {
        &self.ca_bundle
    }

    /// The bearer token of a user; empty for a component that [`Identity::ALL`] does not name.
    #[must_use]
    pub fn token(&self, identity: Identity) -> &str {
        self.tokens.of(identity).unwrap_or_default()
    }

    /// The kubeconfig of a user.
    #[must_use]
    pub fn kubeconfig(&self, identity: Identity) -> PathBuf {
        self.kubeconfigs.join(identity.name())
    }

    /// A client that speaks as `identity` and does not retry by itself: a test sees each failure.
    ///
    /// # Errors
    /// [`Error::Api`] or [`Error::Kubeconfig`] when no client can be made.
    pub async fn client(&self, identity: Identity) -> Result<Client, Error> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig(identity)).map_err(Box::new)?;
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(Box::new)?;
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT_WITHIN);
        Client::try_from(config).map_err(Error::api(format!("a client for {}", self.name)))
    }

    /// Ends it at once, as a crash does: connections break, new ones are refused. Its data stay.
    ///
    /// # Errors
    /// [`Error::System`] when the system refuses.
    pub fn kill(&mut self) -> Result<(), Error> {
        self.process.kill()
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// [`Error::TooLate`] when it had to be killed; [`Error::NotRunning`] when it did not run.
    pub async fn stop(&mut self) -> Result<(), Error> {
        self.process.stop(STOP_WITHIN).await.map(drop)
    }

    /// Starts it again on the same port, with the same data and certificates, and waits until it is ready.
    ///
    /// # Errors
    /// [`Error::Ended`] or [`Error::TooLate`] when it does not come up.
    pub async fn start_again(&mut self) -> Result<(), Error> {
        self.process.start_again()?;
        self.ready().await
    }

    /// Freezes it: it takes connections and answers nothing.
    ///
    /// # Errors
    /// [`Error::NotRunning`] when it does not run.
    pub fn pause(&self) -> Result<(), Error> {
        self.process.pause()
    }

    /// Lets it go on after [`ApiServer::pause`].
    ///
    /// # Errors
    /// [`Error::NotRunning`] when it does not run.
    pub fn resume(&self) -> Result<(), Error> {
        self.process.resume()
    }

    /// Who asked it for what, where it was started to write that down.
    #[must_use]
    pub fn audit_log(&self) -> Option<&AuditLog> {
        self.audit_log.as_ref()
    }

    /// Gives `identity` rights on all that it has, beside those that it has already, under the name `right`.
    ///
    /// # Errors
    /// [`Error::Api`], also when it has been given the right of that name before.
    pub async fn grant(&self, identity: Identity, right: &str, rules: Vec<PolicyRule>) -> Result<(), Error> {
        let client = self.client(Identity::Admin).await?;
        let metadata = ObjectMeta {
            name: Some(format!("{}-{right}", identity.name())),
            ..ObjectMeta::default()
        };
        let role = ClusterRole {
            metadata: metadata.clone(),
            rules: Some(rules),
            ..ClusterRole::default()
        };
        let binding = ClusterRoleBinding {
            role_ref: RoleRef {
                api_group: Some("rbac.authorization.k8s.io".to_owned()),
                kind: "ClusterRole".to_owned(),
                name: metadata.name.clone().unwrap_or_default(),
            },
            subjects: Some(vec![Subject {
                api_group: Some("rbac.authorization.k8s.io".to_owned()),
                kind: "User".to_owned(),
                name: identity.user(),
                ..Subject::default()
            }]),
            metadata,
        };
        let create = PostParams::default();
        Api::all(client.clone())
            .create(&create, &role)
            .await
            .map_err(Error::api("create a ClusterRole"))?;
        Api::all(client)
            .create(&create, &binding)
            .await
            .map_err(Error::api("create a ClusterRoleBinding"))?;
        Ok(())
    }

    /// With which tokens of service accounts are signed.
    pub(crate) fn private_key(&self) -> &Path {
        &self.private_key
    }

    /// Its certificate, which is its own authority.
    pub(crate) fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    async fn ready(&mut self) -> Result<(), Error> {
        let client = self.client(Identity::Admin).await?;
        let what = format!("the API server {} is ready", self.name);
        while_it_runs(&mut self.process, &what, READY_WITHIN, async || {
            let request = http::Request::get("/readyz")
                .body(Vec::new())
                .map_err(|error| error.to_string())?;
            client
                .request_text(request)
                .await
                .map(drop)
                .map_err(|error| error.to_string())
        })
        .await
    }

    fn write_kubeconfigs(&self) -> Result<(), Error> {
        for (identity, token) in self.tokens.iter() {
            let path = self.kubeconfig(identity);
            let kubeconfig = self.kubeconfig_text(identity, token);
            fs::write(&path, kubeconfig).map_err(Error::system(format!("cannot write {}", path.display())))?;
        }
        Ok(())
    }

    /// JSON, which is YAML.
    fn kubeconfig_text(&self, identity: Identity, token: &str) -> String {
        let context = json!({ "cluster": self.name, "user": identity.name(), "namespace": "default" });
        let cluster = json!({
            "server": self.endpoint,
            "certificate-authority-data": base64(self.ca_bundle.as_bytes()),
        });
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": self.name, "cluster": cluster }],
            "users": [{ "name": identity.name(), "user": { "token": token } }],
            "contexts": [{ "name": self.name, "context": context }],
            "current-context": self.name,
        })
        .to_string()
    }
}

fn launch(port: u16, name: &str, binaries: &Binaries, etcd: &Etcd, files: &Files) -> Launch {
    let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let auditing = files.audit.iter();
    let auditing = auditing.flat_map(|(policy, log)| [flag("audit-policy-file", policy), flag("audit-log-path", log)]);
    let launch = Launch::new(format!("{name}-apiserver"), binaries.path(Tool::KubeApiserver)).args([
        format!("--etcd-servers={}", etcd.endpoint()),
        format!("--etcd-prefix=/{name}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        flag("cert-dir", &files.certificates),
        flag("token-auth-file", &files.tokens),
        "--authorization-mode=RBAC".to_owned(),
        flag("service-account-key-file", &files.public_key),
        flag("service-account-signing-key-file", &files.private_key),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        // Nobody reaches this server as the Service `kubernetes`, whose endpoints may not be loopback addresses.
        "--endpoint-reconciler-type=none".to_owned(),
        // Pods need no service accounts here, and no controller would take a new node's not-ready taint away.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".to_owned(),
        "--profiling=false".to_owned(),
    ]);
    launch.args(auditing)
}
