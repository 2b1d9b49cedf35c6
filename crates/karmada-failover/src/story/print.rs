//! The timeline on the terminal, or one JSON object a line.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use parking_lot::Mutex;
use serde::Serialize;

use super::headline::{groups, headline};
use super::line::Line;

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
    /// What it shows.
    pub description: String,
    /// How many members there are.
    pub members: usize,
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

/// Whether somebody listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ears {
    Open,
    Closed,
}

/// What happens so many seconds later is not told together any more.
const GATHERED_SECONDS: f64 = 1.0;

/// Writes to standard output.
pub struct Printer {
    output: Output,
    colour: bool,
    ears: Ears,
    /// Lines that are told together.
    gathered: Mutex<Vec<Line>>,
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
        Self {
            output,
            colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            ears: Ears::Open,
            gathered: Mutex::default(),
        }
    }

    /// Tells nobody: for tests.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            output: Output::Json,
            colour: false,
            ears: Ears::Closed,
            gathered: Mutex::default(),
        }
    }

    /// The head.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn started(&self, started: &Started) -> std::io::Result<()> {
        match self.output {
            Output::Json => self.json("Started", started),
            Output::Text => self.text(&format!(
                "{}\n\n\
                 {} member clusters and a control plane, all simulated in this process; the controllers are the real ones.\n\
                 Look at it meanwhile from another terminal:\n\n\
                 \x20 export KUBECONFIG={}\n\
                 \x20 kubectl get clusters,rb,work -A          kubectl describe cluster member1\n\
                 \x20 grpcurl -plaintext {} list     curl {}\n\n\
                 The log of the controllers: {}\n",
                started.description, started.members, started.kubeconfig, started.queue, started.metrics, started.log
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
            Output::Text => {
                self.settle()?;
                self.text(&format!("\n{}", self.paint("1", &format!("-- {what}"))))
            }
        }
    }

    /// The heading of a chapter; nothing when it is empty.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn heading(&self, heading: &str) -> std::io::Result<()> {
        if heading.is_empty() || self.output == Output::Json {
            return Ok(());
        }
        self.settle()?;
        self.text(&format!("\n{}", self.paint("1;4", heading)))
    }

    /// One thing that happened. Programs get it at once; for people it is kept until [`Self::settle`], and told
    /// together with what is alike.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn line(&self, line: &Line) -> std::io::Result<()> {
        match self.output {
            Output::Json => self.write(&serde_json::to_string(line).unwrap_or_default()),
            Output::Text => {
                let is_late = self
                    .gathered
                    .lock()
                    .first()
                    .is_some_and(|first| line.at - first.at > GATHERED_SECONDS);
                if is_late {
                    self.settle()?;
                }
                self.gathered.lock().push(line.clone());
                Ok(())
            }
        }
    }

    /// Prints what was kept.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn settle(&self) -> std::io::Result<()> {
        let gathered = std::mem::take(&mut *self.gathered.lock());
        groups(gathered).iter().try_for_each(|alike| {
            let at = alike.first().map_or(0.0, |line| line.at);
            let why = alike.first().map_or("", |line| line.why.as_str());
            self.text(&format!(
                "{at:>6.1} s  {}\n          {}",
                headline(alike),
                self.paint("2", why)
            ))
        })
    }

    /// The end.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn summary(&self, summary: &Summary) -> std::io::Result<()> {
        if self.output == Output::Json {
            return self.json("Summary", summary);
        }
        self.settle()?;
        let verdict = if summary.ok {
            self.paint("32", "It came out right")
        } else {
            self.paint("31", "It did not come out right")
        };
        self.text(&format!(
            "\n{verdict} after {:.1} s, with {} eviction(s):",
            summary.at, summary.evictions
        ))?;
        for (binding, clusters) in &summary.bindings {
            let placed: Vec<_> = clusters
                .iter()
                .map(|(cluster, replicas)| format!("{replicas} on {cluster}"))
                .collect();
            self.text(&format!("  {binding}: {}", placed.join(", ")))?;
        }
        summary
            .problems
            .iter()
            .try_for_each(|problem| self.text(&format!("  problem: {problem}")))
    }

    fn json<T: Serialize>(&self, step: &str, content: &T) -> std::io::Result<()> {
        self.write(&serde_json::to_string(&Tagged { step, content }).unwrap_or_default())
    }

    fn text(&self, text: &str) -> std::io::Result<()> {
        self.write(text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        if self.ears == Ears::Closed {
            return Ok(());
        }
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{text}")?;
        stdout.flush()
    }
}
