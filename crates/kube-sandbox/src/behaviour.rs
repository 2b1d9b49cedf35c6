//! What workloads do on a member: scripted, by name or by image.

use std::time::Duration;

use serde_json::Value;

/// How a workload fares once its pods are to be started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// All replicas are ready this much later; a job has finished by then.
    ReadyAfter(Duration),
    /// Replicas start and never become ready; a job runs for ever.
    NeverReady,
    /// Ready after the first time, and not ready any more after another time; a job fails after both.
    CrashAfter {
        /// From the start to ready.
        ready: Duration,
        /// From ready to the crash.
        crash: Duration,
    },
}

impl Behaviour {
    /// Ready after the start of the pods, and crashed after it; `None` is never.
    pub(crate) fn times(self) -> (Option<Duration>, Option<Duration>) {
        match self {
            Self::ReadyAfter(after) => (Some(after), None),
            Self::NeverReady => (None, None),
            Self::CrashAfter { ready, crash } => (Some(ready), Some(ready + crash)),
        }
    }
}

/// Which workloads a behaviour is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Who {
    /// All.
    Everything,
    /// Those of this name, in any namespace.
    Name(String),
    /// Those in this namespace.
    Namespace(String),
    /// Those with a container whose image begins so.
    Image(String),
}

impl Who {
    pub(crate) fn fits(&self, object: &Value) -> bool {
        match self {
            Self::Everything => true,
            Self::Name(name) => object["metadata"]["name"] == **name,
            Self::Namespace(namespace) => object["metadata"]["namespace"] == **namespace,
            Self::Image(prefix) => object["spec"]["template"]["spec"]["containers"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|c| c["image"].as_str())
                .any(|image| image.starts_with(prefix)),
        }
    }
}

/// The behaviours of one member; of several that fit, the one that was added last counts.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    lines: Vec<(Who, Behaviour)>,
}

impl Script {
    pub(crate) fn new(default: Behaviour) -> Self {
        Self {
            lines: vec![(Who::Everything, default)],
        }
    }

    pub(crate) fn add(&mut self, who: Who, behaviour: Behaviour) {
        self.lines.retain(|(w, _)| *w != who);
        self.lines.push((who, behaviour));
    }

    pub(crate) fn behaviour_of(&self, object: &Value) -> Behaviour {
        self.lines
            .iter()
            .rev()
            .find(|(who, _)| who.fits(object))
            .map_or(Behaviour::NeverReady, |(_, b)| *b)
    }
}
