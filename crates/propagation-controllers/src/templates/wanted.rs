//! Which kinds are wanted: those that a policy selects, that a binding is of, or that something propagated needs.

use std::collections::{BTreeMap, BTreeSet};

use api_types::policy::Policy;
use api_types::work::Binding;

use crate::interpreter::KindName;

/// How often each kind is wanted.
#[derive(Debug, Default)]
pub struct Wanted {
    counts: BTreeMap<KindName, usize>,
}

impl Wanted {
    /// One who wanted some kinds wants others now. Says whether other kinds are wanted for it.
    pub fn moved(&mut self, before: &BTreeSet<KindName>, after: &BTreeSet<KindName>) -> bool {
        let mut moved = false;
        for begun in after.difference(before) {
            let count = self.counts.entry(begun.clone()).or_default();
            *count += 1;
            moved |= *count == 1;
        }
        for ended in before.difference(after) {
            if let Some(count) = self.counts.get_mut(ended) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.counts.remove(ended);
                    moved = true;
                }
            }
        }
        moved
    }

    /// Whether anybody wants it.
    #[must_use]
    pub fn contains(&self, kind: &KindName) -> bool {
        self.counts.contains_key(kind)
    }

    /// All that are wanted.
    #[must_use]
    pub fn all(&self) -> Vec<KindName> {
        self.counts.keys().cloned().collect()
    }
}

/// The kinds that a policy selects from.
#[must_use]
pub fn by_policy(policy: &Policy) -> BTreeSet<KindName> {
    let selectors = policy.spec.resource_selectors.iter();
    selectors
        .map(|selector| KindName {
            api_version: selector.api_version.clone(),
            kind: selector.kind.clone(),
        })
        .collect()
}

/// The kind that a binding is of.
#[must_use]
pub fn by_binding(binding: &Binding) -> BTreeSet<KindName> {
    BTreeSet::from([of_binding(binding)])
}

/// Whether a binding is of a kind.
#[must_use]
pub fn is_of(binding: &Binding, kind: &KindName) -> bool {
    let resource = &binding.spec.resource;
    resource.kind == kind.kind && resource.api_version == kind.api_version
}

/// The same as a name.
#[must_use]
pub fn of_binding(binding: &Binding) -> KindName {
    KindName {
        api_version: binding.spec.resource.api_version.clone(),
        kind: binding.spec.resource.kind.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(names: &[u8]) -> BTreeSet<KindName> {
        let name = |number: &u8| KindName {
            api_version: "v1".to_owned(),
            kind: number.to_string(),
        };
        names.iter().map(name).collect()
    }

    proptest! {
        // Whoever wants what in turn: wanted is what the last wishes of all name together.
        #[test]
        fn what_anybody_wants_is_wanted(wishes in prop::collection::vec((0..3_usize, prop::collection::vec(0..4_u8, 0..4)), 0..20)) {
            let mut wanted = Wanted::default();
            let mut last: [BTreeSet<KindName>; 3] = Default::default();
            for (who, names) in wishes {
                let after = set(&names);
                let known: BTreeSet<_> = wanted.all().into_iter().collect();
                let moved = wanted.moved(&last[who], &after);
                last[who] = after;
                let together: BTreeSet<_> = last.iter().flatten().cloned().collect();
                prop_assert_eq!(wanted.all().into_iter().collect::<BTreeSet<_>>(), together.clone());
                prop_assert_eq!(moved, known != together);
            }
        }
    }
}
