//! docs/install.md, typed as it stands there: what goes to the control plane, kubeconfigs, the components on the host cluster.
//! Left out is what asks whether all is well: no kubelet runs the Pods, and the story starts them itself.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use controller_kit::Mode;
use e2e_harness::{Binaries, ControlPlane, Identity, Member};
use tokio::time::Instant;

use super::typed::{Terminal, blocks, lines};

const ON_TWO_CLUSTERS: &str = "Standalone, on two clusters";
const BESIDE: &str = "Beside a stock Karmada, v1.16 to v1.19";
/// Where the list of components stands in the commands that make their kubeconfigs.
const LIST: (&str, &str) = ("for component in ", "; do");
const COMPONENTS: &str = "helm install karmada-failover ";
/// No Pod is run from an image here.
pub const REGISTRY: &str = "registry.example.com/karmada-failover";

/// The page, on a control plane and a host cluster.
pub struct ByTheBook {
    terminal: Terminal,
    section: &'static str,
}

impl ByTheBook {
    pub fn open(binaries: &Binaries, control_plane: &ControlPlane, host: &Member, mode: Mode) -> anyhow::Result<Self> {
        let variables = [
            ("KARMADA", control_plane.kubeconfig(Identity::Admin).into_os_string()),
            ("KUBECONFIG", host.kubeconfig(Identity::Admin).into_os_string()),
            ("REGISTRY", OsString::from(REGISTRY)),
        ];
        Ok(Self {
            terminal: Terminal::new(binaries, control_plane.folder().path(), variables)?,
            section: if mode.is_beside() { BESIDE } else { ON_TWO_CLUSTERS },
        })
    }

    /// What goes to the control plane; how long helm took.
    pub fn control_plane(&self) -> anyhow::Result<Duration> {
        let first = lines(self.section, "helm")?;
        let first = first.into_iter().take_while(|line| !line.starts_with(COMPONENTS));
        self.timed(&first.collect::<Vec<_>>().join("\n"))
    }

    /// The namespace on the host cluster.
    pub fn namespace(&self) -> anyhow::Result<()> {
        let makes_one = |line: &&str| line.starts_with("kubectl create namespace ");
        let namespace = lines(self.section, "kubectl")?.into_iter().find(makes_one);
        let namespace = namespace.with_context(|| format!("{:?} makes no namespace", self.section))?;
        self.timed(namespace).map(drop)
    }

    /// A kubeconfig for each of these, by the commands that are written down beside stock.
    pub fn kubeconfigs(&self, components: &[&str]) -> anyhow::Result<()> {
        let all = blocks(BESIDE)?;
        let each = all.into_iter().find(|block| block.contains(LIST.0));
        let each = each.with_context(|| format!("{BESIDE:?} makes no kubeconfigs"))?;
        let (before, rest) = each.split_once(LIST.0).context("a list of components")?;
        let (listed, after) = rest.split_once(LIST.1).context("the end of a list of components")?;
        let forgotten: Vec<&str> = listed
            .split_ascii_whitespace()
            .filter(|name| !components.contains(name))
            .collect();
        ensure!(forgotten.is_empty(), "{forgotten:?} would have no kubeconfig");
        let list = components.join(" ");
        self.timed(&format!("{before}{}{list}{}{after}", LIST.0, LIST.1))
            .map(drop)
    }

    /// The components, on the host cluster; how long helm took.
    pub fn components(&self) -> anyhow::Result<Duration> {
        self.one(COMPONENTS)
    }

    /// They are let act.
    pub fn let_act(&self) -> anyhow::Result<()> {
        self.one("helm upgrade karmada-failover ").map(drop)
    }

    fn one(&self, beginning: &str) -> anyhow::Result<Duration> {
        let found: Vec<&str> = lines(self.section, "helm")?
            .into_iter()
            .filter(|line| line.starts_with(beginning))
            .collect();
        let [line] = found.as_slice() else {
            anyhow::bail!("{:?} says {beginning:?} {} times", self.section, found.len());
        };
        self.timed(line)
    }

    fn timed(&self, commands: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        tokio::task::block_in_place(|| self.terminal.type_in(commands))?;
        Ok(begun.elapsed())
    }
}
