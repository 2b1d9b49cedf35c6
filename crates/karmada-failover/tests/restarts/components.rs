//! The components as they are packaged: each in its own process, with a client of its own name.

use std::collections::BTreeMap;

use controller_kit::{Ended, Running};

use super::common::World;

/// A component, by the name of its binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    Health,
    TaintPolicy,
    TaintManager,
    ApplicationFailover,
    Queue,
    Scheduler,
    GracefulEviction,
    Propagation,
}

impl Component {
    pub const ALL: [Self; 8] = [
        Self::Health,
        Self::TaintPolicy,
        Self::TaintManager,
        Self::ApplicationFailover,
        Self::Queue,
        Self::Scheduler,
        Self::GracefulEviction,
        Self::Propagation,
    ];

    fn controllers(self) -> &'static str {
        match self {
            Self::Health => "clusterStatus,cluster",
            Self::TaintPolicy => "clusterTaintPolicy",
            Self::TaintManager => "taintManager,evictor",
            Self::ApplicationFailover => "applicationFailover",
            Self::Queue => "evictionQueue",
            Self::Scheduler => "scheduler",
            Self::GracefulEviction => "gracefulEviction",
            Self::Propagation => "detector,dependencies,binding,execution,workStatus,bindingStatus,namespace",
        }
    }

    /// Name of the n-th process of this component, and of its client.
    pub fn identity(self, n: u32) -> String {
        format!("{self:?}-{n}")
    }
}

/// All components, each running or not.
pub struct System<'a> {
    world: &'a World,
    flags: &'a [String],
    suffix: &'static str,
    running: BTreeMap<Component, Running>,
    starts: BTreeMap<Component, u32>,
}

impl<'a> System<'a> {
    /// Starts every component.
    pub async fn start(world: &'a World, flags: &'a [String]) -> Self {
        Self::restart(world, flags, "").await
    }

    /// Starts every component under other names than before.
    pub async fn restart(world: &'a World, flags: &'a [String], suffix: &'static str) -> Self {
        let mut system = Self {
            world,
            flags,
            suffix,
            running: BTreeMap::new(),
            starts: BTreeMap::new(),
        };
        for component in Component::ALL {
            system.start_one(component).await;
        }
        system
    }

    /// Starts a component as a new process, under an identity that nobody had before.
    pub async fn start_one(&mut self, component: Component) {
        let n = self.starts.entry(component).and_modify(|n| *n += 1).or_insert(1);
        let controllers = format!("--controllers={}", component.controllers());
        let mut flags = vec![controllers.as_str()];
        flags.extend(self.flags.iter().map(String::as_str));
        let identity = component.identity(*n) + self.suffix;
        let running = self.world.run(&identity, &flags).await;
        assert!(
            self.running.insert(component, running).is_none(),
            "{component:?} runs already"
        );
    }

    /// Asks a component to end.
    pub async fn stop_one(&mut self, component: Component) -> Ended {
        self.running.remove(&component).unwrap().stop().await
    }

    /// Ends a component in the middle of whatever it does.
    pub fn crash_one(&mut self, component: Component) {
        self.running.remove(&component).unwrap().crash();
    }

    /// Who ended although nobody asked for it.
    pub fn deserters(&self) -> Vec<String> {
        let ended = self
            .running
            .iter()
            .filter_map(|(component, running)| Some((component, running.has_ended()?)));
        ended
            .map(|(component, ended)| format!("{component:?} ended by itself: {ended:?}"))
            .collect()
    }

    /// Ends everything; who did not end in order.
    pub async fn stop(mut self) -> Vec<String> {
        let mut problems = Vec::new();
        for component in Component::ALL {
            if let Some(running) = self.running.remove(&component) {
                let ended = running.stop().await;
                if ended != Ended::Stopped {
                    problems.push(format!("{component:?} did not end in order: {ended:?}"));
                }
            }
        }
        problems
    }
}
