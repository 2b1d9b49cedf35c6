//! The plugins of the scheduler that a binding names: several schedulers may place one fleet, each with plugins of its own.
//! Whoever asks what a scheduler would do asks with that one's.

use std::collections::BTreeMap;

use api_types::work::Binding;

use crate::ours::scheduler_of;
use crate::plugin::{Plugins, Registry};

/// The scheduler of bindings that name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The plugins of every scheduler that is known by name.
#[derive(Clone, Debug)]
pub struct Schedulers {
    by_name: BTreeMap<String, Plugins>,
    /// Of those that are not known.
    fallback: Plugins,
}

/// The plugins of one scheduler.
#[derive(Clone, Copy, Debug)]
pub struct OfScheduler<'a> {
    /// Its plugins, or what stands for them.
    pub plugins: &'a Plugins,
    /// The scheduler's name, where it is not known and the default plugins stand for its own.
    pub unknown: Option<&'a str>,
}

impl Schedulers {
    /// Knows this plugins as those of the default scheduler; they stand for those of schedulers that are not known.
    #[must_use]
    pub fn new(plugins: Plugins) -> Self {
        Self {
            by_name: BTreeMap::from([(DEFAULT_SCHEDULER.to_owned(), plugins.clone())]),
            fallback: plugins,
        }
    }

    /// Knows one more, or another answer for one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, plugins: Plugins) -> Self {
        self.by_name.insert(name.into(), plugins);
        self
    }

    /// Knows those that the values of a flag name, each `NAME=LIST` with the list that this scheduler has as its own
    /// `--plugins`. A list counts for one that is known already, too.
    ///
    /// # Errors
    /// One sentence for each value that cannot be read.
    pub fn with_lists(self, flag: &str, values: &[String], registry: &Registry) -> Result<Self, Vec<String>> {
        let example = "default-scheduler=*,ClusterEviction";
        let named = name_selection::select_for_each(flag, values, &registry.known(), example)?;
        let with = |schedulers: Self, (name, names)| schedulers.with(name, registry.enable(&names));
        Ok(named.into_iter().fold(self, with))
    }

    /// The plugins for a binding.
    #[must_use]
    pub fn of<'a>(&'a self, binding: &'a Binding) -> OfScheduler<'a> {
        let name = scheduler_of(binding);
        match self.by_name.get(name) {
            Some(plugins) => OfScheduler { plugins, unknown: None },
            None => OfScheduler {
                plugins: &self.fallback,
                unknown: Some(name),
            },
        }
    }
}

impl Default for Schedulers {
    fn default() -> Self {
        Self::new(Plugins::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::deployment;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::none_named(json!({}), &["APIEnablement"], None)]
    #[case::empty(json!({"schedulerName": ""}), &["APIEnablement"], None)]
    #[case::the_default(json!({"schedulerName": "default-scheduler"}), &["APIEnablement"], None)]
    #[case::another(json!({"schedulerName": "mine"}), &["ClusterEviction"], None)]
    #[case::nobody_knows_it(json!({"schedulerName": "theirs"}), &["APIEnablement"], Some("theirs"))]
    fn each_scheduler_has_its_own(
        #[case] spec: serde_json::Value,
        #[case] expected: &[&str],
        #[case] unknown: Option<&str>,
    ) {
        let only = |name: &'static str| Registry::builtin().enable(&[name].into());
        let schedulers = Schedulers::new(only("APIEnablement")).with("mine", only("ClusterEviction"));
        let binding = deployment(spec);
        let of = schedulers.of(&binding);
        assert_eq!((of.plugins.names().as_slice(), of.unknown), (expected, unknown));
    }

    #[test]
    fn a_flag_names_them_with_their_lists() {
        let read = |value: &str| {
            Schedulers::default().with_lists("--scheduler-plugins", &[value.to_owned()], &Registry::builtin())
        };
        let schedulers = read("mine=APIEnablement,-ClusterAffinity").unwrap();
        let of = |spec| schedulers.of(&deployment(spec)).plugins.names().len();
        assert_eq!(of(json!({"schedulerName": "mine"})), 1);
        assert_eq!(of(json!({})), Plugins::default().names().len());
        let problems = read("mine=Gone").unwrap_err();
        assert!(
            problems[0].starts_with("--scheduler-plugins=mine=Gone: unknown: Gone; known are APIEnablement, "),
            "{problems:?}"
        );
    }
}
