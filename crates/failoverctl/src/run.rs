//! From a command line to an answer.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::Clock;
use controller_kit::durations::format_duration;
use eviction_queue_api::QueueClient;
use eviction_queue_api::memory::MemoryNetwork;
use k8s_openapi::api::coordination::v1::Lease;

use crate::check;
use crate::cli::{Cli, Command, ExplainCommand, LintArgs, QueueCommand, Target};
use crate::console::{Console, Standard};
use crate::control_plane::ControlPlane;
use crate::controllers::{self, ControllerView, Mode};
use crate::drain;
use crate::dump;
use crate::entries;
use crate::explain;
use crate::failure::{ExitStatus, Failure};
use crate::handback;
use crate::history;
use crate::host::Host;
use crate::kubeconfig;
use crate::lint;
use crate::order;
use crate::output::{Report, Screen, render};
use crate::pause;
use crate::plan;
use crate::port_forward::{self, Forward};
use crate::queue::{self, Queue};
use crate::shell;
use crate::status;
use crate::watch;

/// How long `lint` waits for a control plane that the command line does not name.
const AT_ONCE: Duration = Duration::from_secs(3);

/// What a command runs in.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The time.
    pub clock: Clock,
    /// What the answer is shown on.
    pub screen: Screen,
    /// Who is at the other end.
    pub console: Arc<dyn Console>,
    /// A network inside the process, through which the queue is reached instead of by sockets.
    pub network: Option<MemoryNetwork>,
    /// The host cluster, where it is found already.
    pub host: Option<Host>,
}

impl Surroundings {
    /// Sockets and no terminal.
    #[must_use]
    pub fn plain(clock: Clock) -> Self {
        Self {
            clock,
            screen: Screen::NONE,
            console: Arc::new(Standard::default()),
            network: None,
            host: None,
        }
    }

    /// The host cluster: one that is found already, or the one that the command line names.
    pub(crate) async fn host(&self, target: &Target) -> Result<Option<Host>, Failure> {
        match &self.host {
            Some(host) => Ok(Some(host.clone())),
            None => Host::named(target).await,
        }
    }

    /// The queue at the end of a port-forward.
    async fn queue_by(
        &self,
        control_plane: &ControlPlane,
        host: &Host,
        forward: Forward,
        target: &Target,
    ) -> Result<Queue, Failure> {
        let credentials = port_forward::credentials(control_plane, host, target, self.console.as_ref()).await?;
        let security = credentials.flags.security(&self.clock);
        // What is read stays in memory; the user's token stands in no file while a command waits.
        drop(credentials);
        let client = QueueClient::at(&forward.address)
            .secured(security)
            .through(forward.network.clone());
        let shown = format!("{} (pod {})", forward.address, forward.pod);
        Ok(Queue::through(client, &shown, target.request_timeout()).kept_by(forward))
    }

    fn queue(&self, address: &str, target: &Target) -> Queue {
        let client = QueueClient::at(address).secured(target.queue.security(&self.clock));
        let client = match &self.network {
            Some(network) => client.through(network.clone()),
            None => client,
        };
        Queue::through(client, address, target.request_timeout())
    }
}

/// What goes to standard output, and how the program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// Fine, or Problem.
    pub status: ExitStatus,
}

impl Answer {
    fn nothing(status: ExitStatus) -> Self {
        let text = String::new();
        Self { text, status }
    }
}

/// Carries a command out.
///
/// # Errors
/// What was wanted, why it failed, what to do; with how the program ends.
pub async fn run(cli: &Cli, around: &Surroundings) -> Result<Answer, Failure> {
    if let Some(file) = &cli.target.from {
        dump::check(cli, file)?;
        let dumped = dump::open(file, cli, around)?;
        let asked = answer(cli, &dumped.control_plane, &dumped.around).await;
        around.console.note(&dumped.note());
        return asked;
    }
    match &cli.command {
        Command::Completion(args) => {
            return Ok(Answer {
                text: shell::completion(args.shell),
                status: ExitStatus::Fine,
            });
        }
        Command::ManPages(args) => {
            let pages = shell::man_pages(&args.directory)?;
            return Ok(Answer {
                text: pages.join("\n") + "\n",
                status: ExitStatus::Fine,
            });
        }
        _ => {}
    }
    // With a fixed address, the commands about the queue need no API server.
    if let (Command::Queue(command), Some(address)) = (&cli.command, &cli.target.queue_address) {
        return about_queue(command, async || Ok(around.queue(address, &cli.target)), cli, around).await;
    }
    if let Command::Lint(args) = &cli.command {
        return in_time(cli.target.timeout, about_files(args, cli, around)).await;
    }
    if let Command::Pause(args) = &cli.command {
        // What is wrong with the arguments is said before anything is looked for.
        pause::check(args, around.clock.now())?;
    }
    let control_plane = in_time(cli.target.timeout, ControlPlane::find(&cli.target)).await?;
    answer(cli, &control_plane, around).await
}

/// Carries a command out on a control plane that is found already.
///
/// # Errors
/// As [`run`].
pub async fn answer(cli: &Cli, control_plane: &ControlPlane, around: &Surroundings) -> Result<Answer, Failure> {
    let find = async || {
        control_plane.require_our_kinds().await?;
        find_queue(cli, control_plane, &control_plane.leases().await?, around).await
    };
    match &cli.command {
        // A watch lasts as long as somebody looks, a change waits for an answer: each question has its own time limit.
        Command::Queue(command) => about_queue(command, find, cli, around).await,
        Command::Pause(args) if args.command.is_none() => {
            let queue = find().await;
            came(
                pause::pause(control_plane, queue, args, &cli.target, around).await?,
                cli,
                around,
            )
        }
        Command::Drain(args) => {
            let queue = find().await;
            came(
                drain::drain(control_plane, queue, args, &cli.target, around).await?,
                cli,
                around,
            )
        }
        Command::Undrain(args) => {
            let queue = find().await;
            came(
                drain::undrain(control_plane, queue, args, &cli.target, around).await?,
                cli,
                around,
            )
        }
        Command::Dump(args) => {
            // As long as it takes: each request has its own time limit.
            let queue = match control_plane.leases().await {
                Ok(leases) => find_queue(cli, control_plane, &leases, around).await,
                Err(failure) => Err(failure),
            };
            let Some(written) = dump::dump(control_plane, queue, args, around).await? else {
                return Ok(Answer::nothing(ExitStatus::Fine));
            };
            if written.file == "-" {
                let text = render(&written, cli.output, around.clock.now(), around.screen)?;
                around.console.note(&text);
                return Ok(Answer::nothing(written.status()));
            }
            finish(&written, cli, around)
        }
        Command::Handback(args) => came(handback::handback(control_plane, args, around).await?, cli, around),
        Command::Kubeconfig(args) => {
            let place = in_time(cli.target.timeout, kubeconfig::place(&cli.target)).await?;
            let text = in_time(
                cli.target.timeout,
                kubeconfig::kubeconfig(control_plane, place, args, around),
            )
            .await?;
            let status = ExitStatus::Fine;
            Ok(Answer { text, status })
        }
        Command::Resume(args) => {
            let queue = find().await;
            came(
                pause::resume(control_plane, queue, args, &cli.target, around).await?,
                cli,
                around,
            )
        }
        _ => in_time(cli.target.timeout, look(cli, control_plane, around)).await,
    }
}

/// What only looks, at the control plane.
async fn look(cli: &Cli, control_plane: &ControlPlane, around: &Surroundings) -> Result<Answer, Failure> {
    if let Command::Lint(args) = &cli.command {
        let sources = lint::sources(&args.files)?;
        return finish(
            &lint::lint(&sources, args, Ok(control_plane), &around.clock).await?,
            cli,
            around,
        );
    }
    if let Command::History(args) = &cli.command {
        let now = around.clock.now();
        return finish(&history::gather(control_plane, args, now).await?, cli, around);
    }
    if let Command::Check(args) = &cli.command {
        let queue = match control_plane.leases().await {
            Ok(leases) => find_queue(cli, control_plane, &leases, around).await,
            Err(failure) => Err(failure),
        };
        let facts = check::gather(control_plane, queue, args, &cli.target, around).await?;
        return finish(&check::report(&facts, &args.ignore), cli, around);
    }
    control_plane.require_our_kinds().await?;
    let leases = control_plane.leases().await?;
    let queue = find_queue(cli, control_plane, &leases, around).await;
    match &cli.command {
        Command::Status { cluster } => {
            let mode = control_plane.mode().await?;
            let gathered = status::gather(control_plane, leases, mode, queue, cluster.as_deref()).await?;
            let now = around.clock.now();
            finish(&status::report(&gathered, now)?, cli, around)
        }
        Command::Plan(args) => {
            let proposal = plan::proposal(args)?;
            let mode = control_plane.mode().await?;
            let gathered = plan::gather(control_plane, leases, mode, queue).await?;
            let gate = if args.gate_on {
                plan::Gate::On
            } else {
                plan::Gate::AsItIs
            };
            let now = around.clock.now();
            let report = plan::report(&gathered, &proposal, &args.settings, gate, now)?;
            finish(&report.limited(args.limit), cli, around)
        }
        Command::Explain(ExplainCommand::Binding { binding }) => {
            let mode = control_plane.mode().await?;
            let gathered = explain::binding::gather(control_plane, leases, mode, queue, binding).await?;
            finish(&explain::binding::report(&gathered, around.clock.now()), cli, around)
        }
        Command::Explain(ExplainCommand::Cluster { name }) => {
            let mode = control_plane.mode().await?;
            let gathered =
                explain::cluster::gather(control_plane, leases, mode, queue, name, around.clock.now()).await?;
            finish(&explain::cluster::report(&gathered, around.clock.now()), cli, around)
        }
        Command::Explain(ExplainCommand::Policy { name }) => {
            let mode = control_plane.mode().await?;
            let gathered = explain::policy::gather(control_plane, leases, mode, name).await?;
            finish(&explain::policy::report(&gathered, around.clock.now()), cli, around)
        }
        // `pause list`; the others were answered above.
        _ => finish(&pause::list(control_plane, queue).await?, cli, around),
    }
}

async fn about_queue(
    command: &QueueCommand,
    find: impl AsyncFn() -> Result<Queue, Failure>,
    cli: &Cli,
    around: &Surroundings,
) -> Result<Answer, Failure> {
    if let QueueCommand::Watch(args) = command {
        watch::watch(find, args, cli, around).await?;
        return Ok(Answer::nothing(ExitStatus::Fine));
    }
    let wanted = match command {
        QueueCommand::Drop(args) => Some(order::Wanted::from(args)),
        QueueCommand::Undrop(args) => Some(order::Wanted::from(args)),
        _ => None,
    };
    if let Some(wanted) = wanted {
        let mut queue = find().await?;
        return came(
            order::order(&mut queue, &wanted, &cli.target, around).await?,
            cli,
            around,
        );
    }
    in_time(cli.target.timeout, async {
        let mut queue = find().await?;
        match command {
            QueueCommand::List(args) => finish(&entries::list(&mut queue, args).await?, cli, around),
            QueueCommand::Show(args) => finish(&entries::show(&mut queue, args).await?, cli, around),
            QueueCommand::Recent(args) => finish(&entries::recent(&mut queue, args).await?, cli, around),
            // Answered above.
            QueueCommand::Watch(_) | QueueCommand::Drop(_) | QueueCommand::Undrop(_) => {
                Ok(Answer::nothing(ExitStatus::Fine))
            }
        }
    })
    .await
}

/// What came of a command that may have been declined.
pub enum Came<R> {
    /// It was done, or would be.
    To(R),
    /// The person said no.
    Nothing,
}

/// What came of a change.
fn came<R: Report>(came: Came<R>, cli: &Cli, around: &Surroundings) -> Result<Answer, Failure> {
    match came {
        Came::To(report) => finish(&report, cli, around),
        Came::Nothing => {
            around.console.note("nothing was changed\n");
            // What follows in a script counts on the change.
            Ok(Answer::nothing(ExitStatus::Problem))
        }
    }
}

/// Looks at files; a control plane that the command line does not name is asked only if it answers at once.
async fn about_files(args: &LintArgs, cli: &Cli, around: &Surroundings) -> Result<Answer, Failure> {
    let sources = lint::sources(&args.files)?;
    let is_named = cli.target.kubeconfig.is_some() || cli.target.context.is_some();
    if args.offline {
        let report = lint::lint(&sources, args, Err("--offline is given".to_owned()), &around.clock).await?;
        return finish(&report, cli, around);
    }
    let compared = async {
        let control_plane = ControlPlane::find(&cli.target).await?;
        lint::lint(&sources, args, Ok(&control_plane), &around.clock).await
    };
    if is_named {
        return finish(&compared.await?, cli, around);
    }
    let why_not = match tokio::time::timeout(AT_ONCE, compared).await {
        Ok(Ok(report)) => return finish(&report, cli, around),
        Ok(Err(failure)) => failure.one_line(),
        Err(_) => format!("the API server did not answer within {}", format_duration(AT_ONCE)),
    };
    finish(
        &lint::lint(&sources, args, Err(why_not), &around.clock).await?,
        cli,
        around,
    )
}

/// The queue's Lease is the same whoever else runs here: the mode plays no part.
async fn find_queue(
    cli: &Cli,
    control_plane: &ControlPlane,
    leases: &[Lease],
    around: &Surroundings,
) -> Result<Queue, Failure> {
    let controllers = controllers::controllers(leases, Mode::Unknown, around.clock.now());
    let target = &cli.target;
    if target.queue_address.is_none() {
        if let Some(host) = around.host(target).await? {
            let (pod, port) = port_forward::leader(&controllers, &target.system_namespace)?;
            let forward = Forward::to(&host, &pod, port).await?;
            return around.queue_by(control_plane, &host, forward, target).await;
        }
        if let Some(host) = own_host(control_plane, &controllers, target, around).await {
            let (pod, port) = port_forward::leader(&controllers, &target.system_namespace)?;
            match Forward::to(&host, &pod, port).await {
                Ok(forward) => return around.queue_by(control_plane, &host, forward, target).await,
                // Nobody named this cluster for it: who may look at pods only may still reach the address, from inside.
                Err(failure) => around.console.note(&format!(
                    "no port-forward to the eviction queue, so its address is called: {}\n",
                    failure.one_line()
                )),
            }
        }
    }
    let address = queue::address(target.queue_address.as_deref(), &controllers, &target.system_namespace)?;
    Ok(around.queue(&address, target))
}

/// The control plane itself, where one cluster is both: its API server has the leader's pod, and its address leads nowhere from
/// outside. A queue whose connection the flags spell out is called at its address.
async fn own_host(
    control_plane: &ControlPlane,
    controllers: &[ControllerView],
    target: &Target,
    around: &Surroundings,
) -> Option<Host> {
    if around.network.is_some() || target.queue.queue_ca_file.is_some() {
        return None;
    }
    let (pod, _) = port_forward::leader(controllers, &target.system_namespace).ok()?;
    let host = Host::new(control_plane.client(), &target.host_namespace);
    host.has_pod(&pod).await.then_some(host)
}

fn finish<R: Report>(report: &R, cli: &Cli, around: &Surroundings) -> Result<Answer, Failure> {
    let text = render(report, cli.output, around.clock.now(), around.screen)?;
    Ok(Answer {
        text,
        status: report.status(),
    })
}

async fn in_time<T>(limit: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        Err(Failure::new(
            ExitStatus::TimedOut,
            "cannot answer",
            format!(
                "the API server and the queue did not answer within {}",
                format_duration(limit)
            ),
            "try again, with a longer --timeout if they are slow",
        ))
    })
}
