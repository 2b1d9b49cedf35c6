//! The two kinds of plugin, and the registry from which `--plugins` chooses.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use api_types::cluster::Cluster;
use name_selection::{Known, UnknownNames, select};

/// Whether `*` in `--plugins` covers a plugin.
pub use name_selection::DefaultState;

pub use crate::plugins::builtin;
use crate::request::{Refusal, Request};

/// Highest score of one plugin for one cluster; the lowest is 0.
pub const MAX_SCORE: i64 = 100;

/// Says whether a cluster can be chosen at all.
pub trait Filter: Send + Sync {
    /// The name for `--plugins`.
    fn name(&self) -> &'static str;

    /// Judges one cluster.
    ///
    /// # Errors
    /// The reason why the cluster cannot be chosen.
    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal>;

    /// Whether this filter may pass a cluster that it refused, now that the cluster has changed from `before` to `after`:
    /// then bindings that look for a place are looked at. Only for what no built-in filter reads: after a change of
    /// labels, provider, region, zones, APIs, taints, readiness or deletion they are looked at anyway.
    fn may_pass_after(&self, before: &Cluster, after: &Cluster) -> bool {
        let _ = (before, after);
        false
    }
}

/// Says how good a cluster that can be chosen is.
pub trait Score: Send + Sync {
    /// The name for `--plugins`.
    fn name(&self) -> &'static str;

    /// From 0 to [`MAX_SCORE`], higher is better. Scores of all plugins are added.
    fn score(&self, request: &Request<'_>, cluster: &Cluster) -> i64;
}

#[derive(Clone)]
enum Entry {
    Filter(Arc<dyn Filter>),
    Score(Arc<dyn Score>),
}

impl Entry {
    fn name(&self) -> &'static str {
        match self {
            Self::Filter(filter) => filter.name(),
            Self::Score(score) => score.name(),
        }
    }
}

/// Every plugin that a scheduler knows, in the order in which filters are asked.
#[derive(Clone, Default)]
pub struct Registry {
    entries: Vec<(Entry, DefaultState)>,
}

impl Registry {
    /// The plugins of this crate.
    #[must_use]
    pub fn builtin() -> Self {
        builtin()
    }

    /// Adds a filter. A plugin of the same name that is there already is replaced.
    #[must_use]
    pub fn with_filter(self, filter: impl Filter + 'static, default: DefaultState) -> Self {
        self.with(Entry::Filter(Arc::new(filter)), default)
    }

    /// Adds a score. A plugin of the same name that is there already is replaced.
    #[must_use]
    pub fn with_score(self, score: impl Score + 'static, default: DefaultState) -> Self {
        self.with(Entry::Score(Arc::new(score)), default)
    }

    fn with(mut self, entry: Entry, default: DefaultState) -> Self {
        match self.entries.iter_mut().find(|(known, _)| known.name() == entry.name()) {
            Some(known) => *known = (entry, default),
            None => self.entries.push((entry, default)),
        }
        self
    }

    /// What can be switched, in order.
    #[must_use]
    pub fn known(&self) -> Vec<Known> {
        self.entries
            .iter()
            .map(|(entry, default)| Known {
                name: entry.name(),
                default: *default,
            })
            .collect()
    }

    /// The plugins that a list switches on, the value of `--plugins`: `*` = all that are on by default, `NAME` = on,
    /// `-NAME` = off.
    ///
    /// # Errors
    /// [`UnknownNames`] with every name that no plugin bears.
    pub fn select(&self, list: &[String]) -> Result<Plugins, UnknownNames> {
        select(list, &self.known()).map(|names| self.enable(&names))
    }

    /// The plugins named; names that are not known are not looked at.
    #[must_use]
    pub fn enable(&self, names: &BTreeSet<&str>) -> Plugins {
        self.choose(|name, _| names.contains(name))
    }

    /// The plugins that are on by default.
    #[must_use]
    pub fn defaults(&self) -> Plugins {
        self.choose(|_, default| default == DefaultState::On)
    }

    fn choose(&self, on: impl Fn(&str, DefaultState) -> bool) -> Plugins {
        let mut plugins = Plugins {
            filters: Vec::new(),
            scores: Vec::new(),
        };
        for (entry, _) in self
            .entries
            .iter()
            .filter(|(entry, default)| on(entry.name(), *default))
        {
            match entry {
                Entry::Filter(filter) => plugins.filters.push(Arc::clone(filter)),
                Entry::Score(score) => plugins.scores.push(Arc::clone(score)),
            }
        }
        plugins
    }
}

/// The plugins that are on.
#[derive(Clone)]
pub struct Plugins {
    filters: Vec<Arc<dyn Filter>>,
    scores: Vec<Arc<dyn Score>>,
}

impl Plugins {
    /// Asks every filter; the first refusal counts.
    ///
    /// # Errors
    /// The first refusal.
    pub fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        self.filters
            .iter()
            .try_for_each(|filter| filter.filter(request, cluster))
    }

    /// Whether some filter says that it may pass a cluster, now that it has changed ([`Filter::may_pass_after`]).
    #[must_use]
    pub fn may_pass_after(&self, before: &Cluster, after: &Cluster) -> bool {
        self.filters.iter().any(|filter| filter.may_pass_after(before, after))
    }

    /// The sum of all scores.
    #[must_use]
    pub fn score(&self, request: &Request<'_>, cluster: &Cluster) -> i64 {
        self.each_score(request, cluster).map(|(_, score)| score).sum()
    }

    /// What each plugin gives, by its name, in their order.
    #[must_use]
    pub fn scores(&self, request: &Request<'_>, cluster: &Cluster) -> Vec<(&'static str, i64)> {
        self.each_score(request, cluster).collect()
    }

    /// Each is kept within 0 and [`MAX_SCORE`].
    fn each_score(&self, request: &Request<'_>, cluster: &Cluster) -> impl Iterator<Item = (&'static str, i64)> {
        self.scores
            .iter()
            .map(move |plugin| (plugin.name(), plugin.score(request, cluster).clamp(0, MAX_SCORE)))
    }

    /// Names of what is on: filters, then scores.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.filters
            .iter()
            .map(|f| f.name())
            .chain(self.scores.iter().map(|s| s.name()))
            .collect()
    }
}

impl Default for Plugins {
    /// The built-in plugins that are on by default.
    fn default() -> Self {
        Registry::builtin().defaults()
    }
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plugins").field(&self.names()).finish()
    }
}
