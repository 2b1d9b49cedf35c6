//! How a Pod finds the cluster that it runs in: two variables, and the token of its ServiceAccount, at a path that is the same
//! in every Pod. So that it is the same here, the process has a folder of its own mounted there, which nobody else sees.
//! Where the system does not allow that, it is told by a variable what else it would find there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use e2e_harness::{Launch, Member};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use crate::accounts;
use crate::telling::say;

/// Where a client looks.
const PLACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Mounts `$1` at `$0`, and becomes what follows. What else is in /var/run has not to do with a Pod.
const ENTER: &str = r#"
mount -t tmpfs tmpfs /var/run
mkdir -p "$0"
mount --bind "$1" "$0"
shift
exec "$@"
"#;
/// Mounts something, and ends.
const TRY: &str = "mount -t tmpfs tmpfs /var/run";
const UNSHARE: [&str; 5] = ["unshare", "--mount", "--map-root-user", "sh", "-ec"];
/// Of a program that lives in a member: what it asks instead of its Pod's files.
const INSTEAD: &str = "KARMADA_FAILOVER_MEMBER_KUBECONFIG";

/// What a Pod of this cluster is given of it; nothing where it asks for nothing.
pub struct OwnCluster {
    files: PathBuf,
    kubeconfig: PathBuf,
    variables: BTreeMap<String, String>,
}

impl OwnCluster {
    /// Of this Pod, as its ServiceAccount; the files are in this folder.
    pub async fn of(cluster: &Member, pod: &Pod, folder: &Path) -> anyhow::Result<Option<Self>> {
        let spec = pod.spec.as_ref().context("a Pod without a spec")?;
        if spec.automount_service_account_token != Some(true) {
            return Ok(None);
        }
        let account = spec.service_account_name.as_deref().unwrap_or("default");
        let namespace = pod.namespace().unwrap_or_default();
        let server = cluster.api();
        let token = accounts::token(server, &namespace, account).await?;
        let files = folder.join("own-cluster");
        fs::create_dir_all(&files)?;
        fs::write(files.join("token"), &token)?;
        fs::write(files.join("ca.crt"), server.ca_bundle())?;
        fs::write(files.join("namespace"), &namespace)?;
        let kubeconfig = folder.join("own-cluster.kubeconfig");
        fs::write(&kubeconfig, accounts::kubeconfig(server, &token).to_string())?;
        let address = server.endpoint().trim_start_matches("https://");
        let (host, port) = address
            .rsplit_once(':')
            .with_context(|| format!("{address} has no port"))?;
        let variables = [("KUBERNETES_SERVICE_HOST", host), ("KUBERNETES_SERVICE_PORT", port)];
        Ok(Some(Self {
            files,
            kubeconfig,
            variables: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        }))
    }

    /// A program that finds this.
    pub fn launch(self, name: &str, program: &Path, arguments: Vec<String>) -> Launch {
        let Self {
            files,
            kubeconfig,
            variables,
        } = self;
        let launch = match may_mount() {
            Ok(()) => Launch::new(name, UNSHARE[0])
                .args(UNSHARE.iter().skip(1).copied())
                .args([ENTER, PLACE])
                .arg(files)
                .arg(program)
                .args(arguments),
            Err(why) => {
                say(&format!(
                    "no files can be put where a Pod has them, so {name} is told of its cluster by {INSTEAD}: {why}"
                ));
                Launch::new(name, program).args(arguments).env(INSTEAD, kubeconfig)
            }
        };
        variables
            .into_iter()
            .fold(launch, |launch, (name, value)| launch.env(name, value))
    }
}

/// Whether a process may have mounts of its own here, and why not.
fn may_mount() -> Result<(), String> {
    let tried = Command::new(UNSHARE[0]).args(&UNSHARE[1..]).arg(TRY).output();
    let output = tried.map_err(|error| format!("{}: {error}", UNSHARE[0]))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
