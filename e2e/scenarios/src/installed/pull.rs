//! A Pull member, as docs/install.md makes one: rights and a token on the control plane, the agent's chart on the member.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use api_types::cluster::Cluster;
use e2e_harness::{Binaries, ControlPlane, Helm, Identity, Member, eventually, free_port};
use k8s_openapi::api::core::v1::ConfigMap;
use karmada_failover::story::example::Pace;
use karmada_failover::story::objects;
use kube::{Api, Client};
use serde_json::json;
use tokio::time::Instant;

use super::by_the_book::REGISTRY;
use super::charts::{NAMESPACE, WAIT, chart, probing, take_restricted_pods_only};
use super::running::{self, Ready};
use super::typed::{Terminal, commands};

/// Its name in the document.
pub const MEMBER: &str = "member3";
const SOON: Duration = Duration::from_secs(30);

/// The release of the agent on its member.
pub struct Agent {
    helm: Helm,
}

impl Agent {
    /// Types in what the document says, and says how long that took. Then what its Pod would run runs, at this pace, on a port
    /// of this machine.
    pub async fn join(
        binaries: &Binaries,
        control_plane: &ControlPlane,
        member: &Member,
        pace: &Pace,
    ) -> anyhow::Result<(Self, Duration, Ready)> {
        let kubeconfig = member.kubeconfig(Identity::Admin);
        let helm = Helm::new(binaries, kubeconfig.clone())?;
        let variables = [
            ("KARMADA", control_plane.kubeconfig(Identity::Admin).into_os_string()),
            ("REGISTRY", OsString::from(REGISTRY)),
        ];
        let terminal = Terminal::new(binaries, control_plane.folder().path(), variables)?;
        let typed = commands("Pull members")?.replace(&format!("{MEMBER}.config"), &kubeconfig.display().to_string());
        let begun = Instant::now();
        tokio::task::block_in_place(|| terminal.type_in(&typed))?;
        let installing = begun.elapsed();
        take_restricted_pods_only(&member.client().await?).await?;
        let values = control_plane.folder().path().join("agent.json");
        let own = json!({"ports": {"admin": free_port()?}, "settings": probing(pace)});
        std::fs::write(&values, own.to_string())?;
        let (chart, values) = (chart("agent").display().to_string(), values.display().to_string());
        let upgrade = ["upgrade", "agent", &chart, "--namespace", NAMESPACE];
        let kept = ["--reset-then-reuse-values", "--values", &values];
        helm.run(&[&upgrade[..], &kept, &WAIT].concat())?;
        let ready = running::start(control_plane, member, &["agent"]).await?;
        Ok((Self { helm }, installing, ready))
    }

    pub fn uninstall(&self) -> anyhow::Result<()> {
        self.helm
            .run(&["uninstall", "agent", "--namespace", NAMESPACE, "--wait"])?;
        Ok(())
    }
}

/// Its agent has made its Cluster, and says that it is well.
pub async fn has_joined(client: &Client) -> anyhow::Result<()> {
    let clusters = Api::<Cluster>::all(client.clone());
    eventually("the Pull member to be Ready", SOON, async || {
        let cluster = clusters.get(MEMBER).await.map_err(|error| error.to_string())?;
        if cluster.is_ready() && cluster.spec.sync_mode.as_str() == "Pull" {
            Ok(())
        } else {
            Err(format!("{:?}, {:?}", cluster.spec, cluster.condition("Ready")))
        }
    })
    .await?;
    Ok(())
}

/// What a policy sends there its agent applies, and takes away.
pub async fn gets_what_is_sent(client: &Client, member: &Client) -> anyhow::Result<()> {
    let name = "greeting";
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name},
        "data": {"text": "hello"},
    });
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": name}],
            "placement": {"clusterAffinity": {"clusterNames": [MEMBER]}},
        },
    });
    for object in [config_map, policy] {
        objects::create(client, object).await?;
    }
    let there = Api::<ConfigMap>::namespaced(member.clone(), "default");
    let found = eventually("the ConfigMap to be on the Pull member", SOON, async || {
        let found = there.get_opt(name).await.map_err(|error| error.to_string())?;
        found.ok_or_else(|| "it is not there".to_owned())
    })
    .await?;
    let text = found.data.context("a ConfigMap without data")?.remove("text");
    ensure!(text.as_deref() == Some("hello"), "{text:?}");
    Api::<ConfigMap>::namespaced(client.clone(), "default")
        .delete(name, &Default::default())
        .await?;
    eventually("the ConfigMap to leave the Pull member", SOON, async || {
        match there.get_opt(name).await.map_err(|error| error.to_string())? {
            None => Ok(()),
            Some(_) => Err("it is there".to_owned()),
        }
    })
    .await?;
    Ok(())
}
