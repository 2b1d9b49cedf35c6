//! Who needs what, as it was found at the last look: so that an object that appears, changes or goes leads to those that
//! need it.

use std::collections::{BTreeMap, BTreeSet};

use api_types::BindingKey;
use controller_kit::ObjectKey;

use crate::interpreter::{DependentObject, KindName};
use crate::kinds::group_of;

/// Group and kind: an object is the same in all versions.
type Kindred = (String, String);

/// A named object, or (without a name) any object of a kind in a namespace.
type Needed = (Kindred, String, Option<String>);

/// Dependencies by referrer and back.
#[derive(Debug, Default)]
pub struct Needs {
    by_referrer: BTreeMap<BindingKey, (BTreeSet<Needed>, BTreeSet<KindName>)>,
    referrers: BTreeMap<Needed, BTreeSet<BindingKey>>,
}

impl Needs {
    /// A referrer needs these now; nothing: it needs nothing any more. Returns the kinds that it needed before.
    pub fn set(&mut self, referrer: &BindingKey, dependencies: &[DependentObject]) -> BTreeSet<KindName> {
        let needed: BTreeSet<Needed> = dependencies.iter().map(needed).collect();
        let (before, kinds_before) = self.by_referrer.remove(referrer).unwrap_or_default();
        for gone in before.difference(&needed) {
            if let Some(referrers) = self.referrers.get_mut(gone) {
                referrers.remove(referrer);
                if referrers.is_empty() {
                    self.referrers.remove(gone);
                }
            }
        }
        for new in needed.difference(&before) {
            self.referrers.entry(new.clone()).or_default().insert(referrer.clone());
        }
        if !needed.is_empty() {
            let kinds = kinds(dependencies);
            self.by_referrer.insert(referrer.clone(), (needed, kinds));
        }
        kinds_before
    }

    /// Those that need an object, or may, in whatever version of its kind.
    #[must_use]
    pub fn referrers_of(&self, kind: &KindName, object: &ObjectKey) -> Vec<BindingKey> {
        let namespace = object.namespace.clone().unwrap_or_default();
        let by_name = (kindred(kind), namespace.clone(), Some(object.name.clone()));
        let by_labels = (kindred(kind), namespace, None);
        let found = [by_name, by_labels].map(|needed| self.referrers.get(&needed));
        found.into_iter().flatten().flatten().cloned().collect()
    }

    /// Those that need objects of a kind, in whatever version.
    #[must_use]
    pub fn referrers_of_kind(&self, kind: &KindName) -> Vec<BindingKey> {
        let kind = kindred(kind);
        let of_kind = self.referrers.iter().filter(|((needed, _, _), _)| *needed == kind);
        of_kind.flat_map(|(_, referrers)| referrers).cloned().collect()
    }
}

/// The kinds that are needed.
#[must_use]
pub fn kinds(dependencies: &[DependentObject]) -> BTreeSet<KindName> {
    dependencies.iter().map(kind).collect()
}

/// The kind of what is needed.
#[must_use]
pub fn kind(dependency: &DependentObject) -> KindName {
    KindName {
        api_version: dependency.api_version.clone(),
        kind: dependency.kind.clone(),
    }
}

fn needed(dependency: &DependentObject) -> Needed {
    (
        kindred(&kind(dependency)),
        dependency.namespace.clone(),
        dependency.name.clone(),
    )
}

fn kindred(kind: &KindName) -> Kindred {
    (group_of(&kind.api_version).to_owned(), kind.kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(kind: &str, name: Option<&str>) -> DependentObject {
        DependentObject {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: "shop".to_owned(),
            name: name.map(str::to_owned),
            label_selector: None,
        }
    }

    #[test]
    fn an_object_leads_to_those_that_need_it() {
        let mut needs = Needs::default();
        let [web, api] = ["web", "api"].map(|name| BindingKey::namespaced("shop", name));
        needs.set(
            &web,
            &[dependency("Secret", Some("key")), dependency("ConfigMap", None)],
        );
        needs.set(&api, &[dependency("Secret", Some("key"))]);
        let secret = kind(&dependency("Secret", None));
        let map = kind(&dependency("ConfigMap", None));
        let key = ObjectKey::namespaced("shop", "key");
        assert_eq!(needs.referrers_of(&secret, &key), [api.clone(), web.clone()]);
        assert_eq!(
            needs.referrers_of(&map, &key),
            std::slice::from_ref(&web),
            "any ConfigMap may have the labels"
        );
        assert_eq!(needs.referrers_of(&secret, &ObjectKey::namespaced("bank", "key")), []);
        let mut older = secret.clone();
        older.api_version = "v1beta1".to_owned();
        assert_eq!(
            needs.referrers_of(&older, &key),
            [api.clone(), web.clone()],
            "it is the same object"
        );
        assert_eq!(needs.set(&web, &[]), BTreeSet::from([secret.clone(), map.clone()]));
        assert_eq!(needs.referrers_of_kind(&secret), [api]);
        assert_eq!(needs.referrers_of_kind(&map), []);
    }
}
