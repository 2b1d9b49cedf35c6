//! The way to the queue's leader through the API server of the cluster that runs its pod, as `kubectl port-forward` goes it.
//!
//! The leader's identity on Lease `eviction-queue` begins with its pod's name. Each connection to the queue is a stream of its
//! own to that pod; TLS and tokens go through it as through a socket.

use std::path::PathBuf;
use std::sync::Arc;

use controller_kit::connect;
use eviction_queue_api::ConnectionFlags;
use eviction_queue_api::memory::{MemoryListener, MemoryNetwork};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Api;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::task::JoinSet;

use crate::cli::Target;
use crate::console::Console;
use crate::control_plane::ControlPlane;
use crate::controllers::{ControllerView, Running};
use crate::failure::{ExitStatus, Failure};
use crate::host::Host;
use crate::token;

/// The port that the queue serves on where its address does not say one.
const PORT: u16 = 9443;
/// The name under which the queue is reached through a forward: certificates of the charts have it.
const NAME: &str = "eviction-queue";

/// The Secret with the queue's certificate on its cluster; its authority stands beside it.
const CERTIFICATE: &str = "eviction-queue-server-tls";

/// How the queue is called, and the files that hold it for as long as this lives: until they are read, and no longer.
#[derive(Debug)]
pub struct Credentials {
    /// As flags say it.
    pub flags: ConnectionFlags,
    _files: Option<TempDir>,
}

/// How the queue is called through a forward: as the flags say, and, where they name no authority, by the one that
/// stands beside the queue's certificate on its cluster, with the token of the kubeconfig's user, or, where that has none, one of
/// ServiceAccount `failoverctl`, if this user may make it. Who may not read that Secret calls as the flags say. No token goes
/// anywhere without TLS.
///
/// # Errors
/// The files cannot be written.
pub async fn credentials(
    control_plane: &ControlPlane,
    host: &Host,
    target: &Target,
    console: &dyn Console,
) -> Result<Credentials, Failure> {
    let as_given = Credentials {
        flags: target.queue.clone(),
        _files: None,
    };
    if target.queue.queue_ca_file.is_some() {
        return Ok(as_given);
    }
    let api = Api::<Secret>::namespaced(host.client(), host.namespace());
    let secret = api.get_opt(CERTIFICATE).await.ok().flatten();
    let Some(authority) = secret.and_then(|secret| secret.data?.remove("ca.crt")) else {
        return Ok(as_given);
    };
    let shows_something = target.queue.queue_token_file.is_some() || target.queue.queue_client_cert_file.is_some();
    let shown = if shows_something {
        Shown::AsGiven
    } else {
        shown(control_plane, target, console).await
    };
    let with_files = || {
        let files = tempfile::tempdir()?;
        let mut flags = target.queue.clone();
        let file = files.path().join("ca.crt");
        std::fs::write(&file, &authority.0)?;
        flags.queue_ca_file = Some(file);
        match shown {
            Shown::AsGiven => {}
            Shown::File(file) => flags.queue_token_file = Some(file),
            Shown::Token(token) => {
                let file = files.path().join("token");
                std::fs::write(&file, token.expose_secret())?;
                flags.queue_token_file = Some(file);
            }
        }
        Ok(Credentials {
            flags,
            _files: Some(files),
        })
    };
    with_files().map_err(|error: std::io::Error| {
        Failure::new(
            ExitStatus::Problem,
            "cannot keep the queue's authority for the time of the call",
            error.to_string(),
            "make $TMPDIR writable, or give --queue-ca-file",
        )
    })
}

/// What the queue is shown.
enum Shown {
    /// What the flags say, or nothing.
    AsGiven,
    /// What stands in a file, now and later.
    File(PathBuf),
    /// This token.
    Token(SecretString),
}

async fn shown(control_plane: &ControlPlane, target: &Target, console: &dyn Console) -> Shown {
    let found = connect::find_config(target.kubeconfig.as_deref(), target.context.as_deref()).await;
    if let Ok(config) = found {
        if let Some(file) = &config.auth_info.token_file {
            return Shown::File(file.into());
        }
        if let Some(token) = token::of(&config).await {
            return Shown::Token(token);
        }
    }
    match token::of_account(control_plane).await {
        Some((token, said)) => {
            console.note(&said);
            Shown::Token(token)
        }
        None => Shown::AsGiven,
    }
}

/// A way to the leader's pod. It is there for as long as this lives.
#[derive(Clone)]
pub struct Forward {
    /// The network in which the queue has its address.
    pub network: MemoryNetwork,
    /// Its address there.
    pub address: String,
    /// NAMESPACE/NAME of the pod.
    pub pod: String,
    _serving: Arc<JoinSet<()>>,
}

impl std::fmt::Debug for Forward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Forward").field(&self.pod).finish()
    }
}

/// The pod of the queue's leader and its port, by its Lease. Pure.
///
/// # Errors
/// Nobody leads, or the holder's name is no pod's.
pub fn leader(controllers: &[ControllerView], namespace: &str) -> Result<(String, u16), Failure> {
    let lease = format!("Lease eviction-queue in namespace {namespace}");
    let leads = |view: &&ControllerView| view.name == "evictionQueue" && view.state == Running::Running;
    let Some(queue) = controllers.iter().find(leads) else {
        return Err(Failure::new(
            ExitStatus::Unreachable,
            "cannot ask the eviction queue",
            format!("no eviction queue runs: nobody holds a fresh {lease}"),
            "start the eviction queue (controller evictionQueue), or name it with --queue-address HOST:PORT",
        ));
    };
    let holder = queue.holder.as_deref().unwrap_or_default();
    let Some((pod, _)) = holder.rsplit_once('_').filter(|(pod, _)| !pod.is_empty()) else {
        return Err(Failure::new(
            ExitStatus::Unreachable,
            "cannot ask the eviction queue",
            format!("{holder:?}, which holds {lease}, is no name of a pod"),
            "name the queue with --queue-address HOST:PORT",
        ));
    };
    let port = queue.address.as_deref().and_then(|address| address.rsplit_once(':'));
    let port = port.and_then(|(_, port)| port.parse().ok()).unwrap_or(PORT);
    Ok((pod.to_owned(), port))
}

impl Forward {
    /// A way to this pod's port.
    ///
    /// # Errors
    /// There is no such pod on the host, or this user may not look at it.
    pub async fn to(host: &Host, pod: &str, port: u16) -> Result<Self, Failure> {
        let api = Api::<Pod>::namespaced(host.client(), host.namespace());
        let shown = format!("{}/{pod}", host.namespace());
        let what = format!("cannot reach the eviction queue in pod {shown}");
        match api.get_opt(pod).await {
            Ok(Some(_)) => {}
            Ok(None) => {
                return Err(Failure::new(
                    ExitStatus::Unreachable,
                    what,
                    "the host cluster has no such pod",
                    "check --host-kubeconfig, --host-context and --host-namespace, or give --queue-address HOST:PORT",
                ));
            }
            Err(error) => {
                let needed =
                    "use a --host-kubeconfig whose user may get pods, and get and create pods/portforward, there";
                return Err(
                    Failure::of_api_needing(&what, &error, needed).about_flags("--host-kubeconfig", "--host-context")
                );
            }
        }
        // Once for trial: what is refused later is only seen as a connection that breaks.
        if let Err(error) = api.portforward(pod, &[port]).await {
            let needed = "use a --host-kubeconfig whose user may get and create pods/portforward there";
            return Err(
                Failure::of_api_needing(&what, &error, needed).about_flags("--host-kubeconfig", "--host-context")
            );
        }
        let network = MemoryNetwork::default();
        let address = format!("{NAME}:{port}");
        let listener = network.listen(&address);
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, api, pod.to_owned(), port));
        Ok(Self {
            network,
            address,
            pod: shown,
            _serving: Arc::new(serving),
        })
    }
}

/// Each connection becomes a stream to the pod. One that cannot be had breaks: who connected tries again or says so.
async fn serve(mut listener: MemoryListener, api: Api<Pod>, pod: String, port: u16) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.next() => {
                let Some(Ok(mut stream)) = accepted else { return };
                let (api, pod) = (api.clone(), pod.clone());
                open.spawn(async move {
                    // Who connected sees that the connection broke, and says so.
                    let Ok(mut forward) = api.portforward(&pod, &[port]).await else { return };
                    if let Some(mut there) = forward.take_stream(port) {
                        let _ = copy_bidirectional(&mut stream, &mut there).await;
                    }
                });
            }
            Some(_) = open.join_next() => {}
        }
    }
}
