//! docs/install.md, typed as it stands there: what goes to the control plane, kubeconfigs, the components on the host cluster;
//! what asks whether all is well, as an operator; and what changes and ends it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use controller_kit::Mode;
use e2e_harness::{Binaries, ControlPlane, Identity, Member};
use eviction_queue_api::ConnectionFlags;
use tokio::time::Instant;

use super::host_name;
use super::typed::{Terminal, block_with, in_a_sentence, line, lines};

const ON_TWO_CLUSTERS: &str = "Standalone, on two clusters";
const BESIDE: &str = "Beside a stock Karmada, v1.16 to v1.19";
const ONE_BY_ONE: &str = "One chart at a time";
const WEBHOOK: &str = "The webhook";
const LATER: &str = "Upgrade, roll back, take away";
/// Where the list of components stands in the commands that make their kubeconfigs.
const LIST: (&str, &str) = ("for component in ", "; do");
const COMPONENTS: &str = "helm install karmada-failover ";
const KINDS: &str = "helm upgrade karmada-crds ";
/// The webhook's address on the page.
const SOME_ADDRESS: &str = "https://webhook.example.com:443";
/// The file with the operator's kubeconfig.
const OPERATORS: &str = "operator.kubeconfig";
/// No Pod is run from an image here.
pub const REGISTRY: &str = "registry.example.com/karmada-failover";

/// The page, on a control plane and a host cluster.
pub struct ByTheBook {
    terminal: Terminal,
    section: &'static str,
    mode: Mode,
    home: PathBuf,
}

impl ByTheBook {
    pub fn open(binaries: &Binaries, control_plane: &ControlPlane, host: &Member, mode: Mode) -> anyhow::Result<Self> {
        let variables = [
            ("KARMADA", control_plane.kubeconfig(Identity::Admin).into_os_string()),
            ("KUBECONFIG", host.kubeconfig(Identity::Admin).into_os_string()),
            ("REGISTRY", OsString::from(REGISTRY)),
        ];
        let home = control_plane.folder().path();
        // Where kubectl and helm look by themselves.
        fs::create_dir_all(home.join(".kube"))?;
        fs::copy(host.kubeconfig(Identity::Admin), home.join(".kube/config"))?;
        Ok(Self {
            terminal: Terminal::new(binaries, home, variables)?,
            section: if mode.is_beside() { BESIDE } else { ON_TWO_CLUSTERS },
            mode,
            home: home.to_owned(),
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
        let each = block_with(BESIDE, LIST.0)?;
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
        self.timed(line(self.section, COMPONENTS)?)
    }

    /// Some of them, each by its own chart; and they go again.
    pub fn one_by_one(&self) -> anyhow::Result<()> {
        for install in lines(ONE_BY_ONE, "helm")? {
            self.timed(&format!("{install} --wait"))?;
        }
        // What needs another goes before it.
        for install in lines(ONE_BY_ONE, "helm")?.iter().rev() {
            let release = install.split(' ').nth(2).context("a release")?;
            self.timed(&format!("helm uninstall {release} --namespace karmada-system --wait"))?;
        }
        Ok(())
    }

    /// They are let act.
    pub fn let_act(&self) -> anyhow::Result<()> {
        self.timed(line(self.section, "helm upgrade karmada-failover ")?)
            .map(drop)
    }

    /// What step 0 says is in the way.
    pub fn look_first(&self) -> anyhow::Result<String> {
        let look = line(BESIDE, "failoverctl --kubeconfig \"$KARMADA\" check --before-install ")?;
        in_place(|| self.terminal.ask(look))
    }

    /// A kubeconfig for who operates it. Whatever is typed from now on is asked of the queue with its token.
    pub fn make_operator(&mut self, queue: &ConnectionFlags, port: u16) -> anyhow::Result<()> {
        let make = line(BESIDE, "failoverctl --kubeconfig \"$KARMADA\" kubeconfig failoverctl ")?;
        ensure!(make.ends_with(OPERATORS), "{make:?} writes elsewhere");
        self.timed(&self.placed(make))?;
        let token = self.placed(
            "kubectl --kubeconfig operator.kubeconfig config view --raw --output jsonpath='{.users[0].user.token}'",
        );
        let token = in_place(|| self.terminal.ask(&token))?;
        ensure!(!token.is_empty(), "the operator has no token");
        let file = self.home.join("token-of-the-operator");
        fs::write(&file, token)?;
        let shown = ConnectionFlags {
            queue_token_file: Some(file),
            ..queue.clone()
        };
        self.terminal = self.terminal.clone().with(way_to_the_queue(&shown, port));
        Ok(())
    }

    /// How it is, as the operator sees it.
    pub fn status(&self) -> anyhow::Result<String> {
        let host = line(BESIDE, "export KARMADA_FAILOVER_HOST_KUBECONFIG=")?;
        let status = line(BESIDE, "failoverctl --kubeconfig operator.kubeconfig status")?;
        in_place(|| self.terminal.ask(&format!("{host}\n{}", self.placed(status))))
    }

    /// What is odd once all is there.
    pub fn check(&self) -> anyhow::Result<String> {
        let check = line(BESIDE, "failoverctl --kubeconfig \"$KARMADA\" check --host-kubeconfig ")?;
        in_place(|| self.terminal.ask(check))
    }

    /// What would happen, before they are let act.
    pub fn plan(&self) -> anyhow::Result<String> {
        let plan = in_a_sentence(BESIDE, "failoverctl --kubeconfig \"$KARMADA\" plan ")?;
        in_place(|| self.terminal.ask(plan))
    }

    /// The API server is told of the webhook, which listens at this address here.
    pub fn call_webhook(&self, address: &str) -> anyhow::Result<()> {
        let authority = line(WEBHOOK, "ca=")?;
        let tell = line(WEBHOOK, "helm upgrade control-plane ")?;
        ensure!(tell.contains(SOME_ADDRESS), "{tell:?} names no address");
        let tell = tell.replace(SOME_ADDRESS, address);
        self.timed(&format!("{authority}\n{tell}")).map(drop)
    }

    /// All of it to the next version.
    pub fn upgrade(&self) -> anyhow::Result<()> {
        let mut lines: Vec<&str> = block_with(LATER, "helm upgrade control-plane ")?.lines().collect();
        if self.mode.is_beside() {
            // Its kinds are stock's.
            lines.retain(|line| !line.starts_with(KINDS));
        }
        self.timed(&lines.join("\n")).map(drop)
    }

    /// The components back to what they were before the last change.
    pub fn roll_back(&self) -> anyhow::Result<()> {
        self.timed(line(LATER, "helm rollback ")?).map(drop)
    }

    /// The components go.
    pub fn take_components_away(&self) -> anyhow::Result<()> {
        self.timed(line(LATER, "helm uninstall karmada-failover ")?).map(drop)
    }

    /// What is on the control plane goes, but for the kinds.
    pub fn take_control_plane_away(&self) -> anyhow::Result<()> {
        self.timed(line(LATER, "helm uninstall control-plane ")?).map(drop)
    }

    /// The way back to stock.
    pub fn way_back(&self) -> anyhow::Result<WayBack<'_>> {
        let lines: Vec<&str> = block_with(BESIDE, " handback\n")?.lines().collect();
        let count = lines.len();
        let lines = lines.try_into();
        let lines = lines.map_err(|_| anyhow::anyhow!("the way back has {count} steps"))?;
        Ok(WayBack { book: self, lines })
    }

    /// With the place of the operator's kubeconfig: the page leaves it where one is.
    fn placed(&self, command: &str) -> String {
        let file = self.home.join(OPERATORS);
        command.replace(OPERATORS, &file.display().to_string())
    }

    fn timed(&self, commands: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        in_place(|| self.terminal.type_in(commands))?;
        Ok(begun.elapsed())
    }
}

/// "And back": its steps in their order.
pub struct WayBack<'a> {
    book: &'a ByTheBook,
    lines: [&'static str; 6],
}

impl WayBack<'_> {
    pub fn pause(&self) -> anyhow::Result<()> {
        self.agreed(self.lines[0])
    }

    /// The moves that go on.
    pub fn open_moves(&self) -> anyhow::Result<String> {
        in_place(|| self.book.terminal.ask(self.lines[1]))
    }

    pub fn take_components_away(&self) -> anyhow::Result<()> {
        self.book.timed(self.lines[2]).map(drop)
    }

    /// What would be handed back.
    pub fn try_handback(&self) -> anyhow::Result<String> {
        in_place(|| self.book.terminal.ask(self.lines[3]))
    }

    pub fn handback(&self) -> anyhow::Result<()> {
        self.agreed(self.lines[4])
    }

    pub fn take_control_plane_away(&self) -> anyhow::Result<()> {
        self.book.timed(self.lines[5]).map(drop)
    }

    /// Nobody sits here who could be asked.
    fn agreed(&self, command: &str) -> anyhow::Result<()> {
        self.book.timed(&format!("{command} --yes")).map(drop)
    }
}

/// The environment of who asks the queue: empty where the way there is found by its Pod's name, as from anywhere. Where Pods'
/// processes have no names, they are called so.
pub fn way_to_the_queue(queue: &ConnectionFlags, port: u16) -> Vec<(&'static str, OsString)> {
    if host_name::may_be_named() {
        return Vec::new();
    }
    let file = |file: &Option<PathBuf>| file.as_deref().map(Path::as_os_str).map(OsString::from);
    let name = queue.queue_server_name.as_ref().map(OsString::from);
    let known = [
        (
            "KARMADA_FAILOVER_QUEUE_ADDRESS",
            Some(OsString::from(format!("127.0.0.1:{port}"))),
        ),
        ("KARMADA_FAILOVER_QUEUE_CA_FILE", file(&queue.queue_ca_file)),
        ("KARMADA_FAILOVER_QUEUE_TOKEN_FILE", file(&queue.queue_token_file)),
        ("KARMADA_FAILOVER_QUEUE_SERVER_NAME", name),
    ];
    let known = known.into_iter();
    known.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Other tasks go on elsewhere meanwhile.
fn in_place<T>(act: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(act)
}
