//! The timeline on the terminal, or one JSON object a line.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use serde::Serialize;

use super::line::{Line, Step};

/// How the story is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// Where the demo can be looked at while it runs.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// Name of the scenario.
    pub scenario: String,
    /// Path of a kubeconfig for the control plane; the members are further contexts in it.
    pub kubeconfig: String,
    /// gRPC address of the eviction queue, `host:port`.
    pub queue: String,
    /// URL of the metrics.
    pub metrics: String,
    /// Path of the components' log.
    pub log: String,
}

/// How the story ended.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Whether everything came out right.
    pub ok: bool,
    /// Seconds since the start.
    #[serde(serialize_with = "super::line::to_milliseconds")]
    pub at: f64,
    /// Replicas by cluster of each binding.
    pub bindings: BTreeMap<String, BTreeMap<String, i32>>,
    /// Evictions that were seen.
    pub evictions: usize,
    /// What went wrong, and which of the correctness rules were broken.
    pub problems: Vec<String>,
}

/// Writes to standard output.
pub struct Printer {
    output: Output,
    colour: bool,
}

/// Something to print that has a name of its own in JSON.
#[derive(Serialize)]
struct Tagged<'a, T: Serialize> {
    step: &'a str,
    #[serde(flatten)]
    content: &'a T,
}

impl Printer {
    /// Colour goes only to a terminal.
    #[must_use]
    pub fn new(output: Output) -> Self {
        Self { output, colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() }
    }

    /// The head.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn started(&self, started: &Started) -> std::io::Result<()> {
        match self.output {
            Output::Json => self.json("Started", started),
            Output::Text => self.text(&format!(
                "Three member clusters and a control plane, all simulated in this process; the controllers are the real ones.\n\
                 Look at it meanwhile from another terminal:\n\n\
                 \x20 export KUBECONFIG={}\n\
                 \x20 kubectl get clusters,rb,work -A          kubectl describe cluster member1\n\
                 \x20 grpcurl -plaintext {} list     curl {}\n\n\
                 The log of the controllers: {}\n",
                started.kubeconfig, started.queue, started.metrics, started.log
            )),
        }
    }

    /// Something that the script does to the fleet. Only people are told: programs read what follows from it.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn act(&self, what: &str) -> std::io::Result<()> {
        match self.output {
            Output::Json => Ok(()),
            Output::Text => self.text(&format!("\n{}", self.paint("1", &format!("-- {what}")))),
        }
    }

    /// One thing that happened.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn line(&self, line: &Line) -> std::io::Result<()> {
        match self.output {
            Output::Json => self.write(&serde_json::to_string(line).unwrap_or_default()),
            Output::Text => {
                let head = format!("{:>6.1} s  {}", line.at, headline(line));
                self.text(&format!("{head}\n          {}", self.paint("2", &line.why)))
            }
        }
    }

    /// The end.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn summary(&self, summary: &Summary) -> std::io::Result<()> {
        if self.output == Output::Json {
            return self.json("Summary", summary);
        }
        let verdict = if summary.ok { self.paint("32", "It came out right") } else { self.paint("31", "It did not come out right") };
        self.text(&format!("\n{verdict} after {:.1} s, with {} eviction(s):", summary.at, summary.evictions))?;
        for (binding, clusters) in &summary.bindings {
            let placed: Vec<_> = clusters.iter().map(|(cluster, replicas)| format!("{replicas} on {cluster}")).collect();
            self.text(&format!("  {binding}: {}", placed.join(", ")))?;
        }
        summary.problems.iter().try_for_each(|problem| self.text(&format!("  problem: {problem}")))
    }

    fn json<T: Serialize>(&self, step: &str, content: &T) -> std::io::Result<()> {
        self.write(&serde_json::to_string(&Tagged { step, content }).unwrap_or_default())
    }

    fn text(&self, text: &str) -> std::io::Result<()> {
        self.write(text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    #[expect(clippy::unused_self, reason = "the only place that knows where output goes")]
    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{text}")?;
        stdout.flush()
    }
}

fn headline(line: &Line) -> String {
    let cluster = line.cluster.as_deref().unwrap_or("a cluster");
    let binding = line.binding.as_deref().unwrap_or("a workload");
    match line.step {
        Step::WorkloadRunning => format!("{binding} runs as its policy asks"),
        Step::ClusterFailed => format!("{cluster} fails"),
        Step::ClusterNotReady => format!("{cluster} counts as not Ready: it failed for the whole threshold, a blip would not"),
        Step::TaintAdded => format!("{cluster} is tainted: a ClusterTaintPolicy matched for its whole window"),
        Step::EvictionQueued => format!("{binding} has to leave {cluster}: it stands in the eviction queue"),
        Step::EvictionReleased => format!("{binding} may leave {cluster} now: the rate and the brakes allow it"),
        Step::ClusterEvicted => format!("{binding} leaves {cluster}: no longer a target, but its old copy is not deleted"),
        Step::Rescheduled => format!("{binding} has a new placement"),
        Step::ReplacementHealthy => format!("{binding} is complete again on {cluster}"),
        Step::OldCopyKept => format!("the old copy on {cluster} may go, and will when {cluster} can be asked to"),
        Step::ClusterReturned => format!("{cluster} is Ready again"),
        Step::TaintRemoved => format!("{cluster} loses a taint: the policy's conditions did not match for its whole removal window"),
        Step::OldCopyRemoved => format!("the old copy of {binding} on {cluster} is gone; nothing moves back by itself"),
    }
}
