//! What the server serves: one [`ResourceDef`] for each (group, version, plural).
//!
//! Guarantee: lookups and listings come in a fixed order (by group, version, plural), whatever was added when.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::schema::Schema;

/// What a resource is called and how it behaves. Built-in kinds and versions of CRDs look the same from here on.
#[derive(Debug)]
pub(crate) struct ResourceDef {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// Has a `/status` subresource: then writes to the main resource leave the status alone, and the reverse.
    pub status_subresource: bool,
    pub scale: Option<ScalePaths>,
    /// `apiVersion` of the stored form: differs from [`Self::api_version`] for the non-storage versions.
    pub storage_api_version: String,
    /// Where the objects live: shared by all versions of a resource, and by both groups of events.
    pub storage: StorageKey,
    pub origin: Origin,
    /// Structural schema with its rules; none for built-in kinds and for CRDs that keep everything.
    pub schema: Option<Arc<Schema>>,
    /// `additionalPrinterColumns` of a CRD.
    pub columns: Vec<Column>,
    /// JSON paths (`.spec.x`) that may stand in field selectors besides name and namespace.
    pub selectable: Vec<String>,
    pub verbs: &'static [&'static str],
}

/// Who defines a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    Custom,
}

/// JSON paths (as in a CRD, with a leading dot) of the scale subresource.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

/// One column of `kubectl get`.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub type_: String,
    pub format: String,
    pub description: String,
    pub priority: i64,
    pub json_path: String,
}

/// Group and plural: the name of a table of objects.
pub(crate) type StorageKey = Arc<str>;

pub(crate) const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// The same for custom resources, in the order in which their server lists them.
pub(crate) const CUSTOM_VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

impl ResourceDef {
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural.group`, or only the plural for the core group.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.origin == Origin::Custom
    }

    /// Whether this is the built-in kind of that name (a CRD may use the name as well).
    pub(crate) fn is(&self, kind: &str) -> bool {
        !self.is_custom() && self.kind == kind
    }

    /// The `details` of a Status about one object.
    pub(crate) fn details(&self, name: &str, kind: &str) -> Value {
        let mut details = Map::new();
        if !name.is_empty() {
            details.insert("name".into(), name.into());
        }
        if !self.group.is_empty() {
            details.insert("group".into(), self.group.clone().into());
        }
        details.insert("kind".into(), kind.into());
        Value::Object(details)
    }
}

/// All resources served.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    defs: BTreeMap<(String, String, String), Arc<ResourceDef>>,
    /// Changes with every change of the set: key of derived documents (discovery, OpenAPI).
    pub revision: u64,
}

impl Registry {
    pub(crate) fn add(&mut self, def: ResourceDef) {
        self.revision += 1;
        self.defs.insert(
            (def.group.clone(), def.version.clone(), def.plural.clone()),
            Arc::new(def),
        );
    }

    pub(crate) fn remove_resource(&mut self, group: &str, plural: &str) {
        self.revision += 1;
        self.defs.retain(|(g, _, p), _| g != group || p != plural);
    }

    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<ResourceDef>> {
        self.defs
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
            .cloned()
    }

    /// Whether anything is served under this group and version.
    pub(crate) fn serves(&self, group: &str, version: &str) -> bool {
        self.defs.keys().any(|(g, v, _)| g == group && v == version)
    }

    /// Whether the group is one of the server's own.
    pub(crate) fn is_built_in_group(&self, group: &str) -> bool {
        self.defs.values().any(|d| d.group == group && !d.is_custom())
    }

    /// By `apiVersion` and kind, as manifests name things.
    pub(crate) fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<ResourceDef>> {
        self.defs
            .values()
            .find(|d| d.kind == kind && d.api_version() == api_version)
            .cloned()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ResourceDef>> {
        self.defs.values()
    }

    /// Any served version of a stored resource (the storage version where it is served).
    pub(crate) fn by_storage(&self, storage: &str) -> Option<Arc<ResourceDef>> {
        let mut found = None;
        for def in self.defs.values().filter(|d| &*d.storage == storage) {
            if def.api_version() == def.storage_api_version {
                return Some(def.clone());
            }
            found.get_or_insert_with(|| def.clone());
        }
        found
    }

    /// Groups with their versions, most stable and newest first, as discovery orders them; the core group is left out.
    pub(crate) fn groups(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for def in self.defs.values().filter(|d| !d.group.is_empty()) {
            let versions = groups.entry(def.group.clone()).or_default();
            if !versions.contains(&def.version) {
                versions.push(def.version.clone());
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|v| std::cmp::Reverse(version_priority(v)));
        }
        groups
    }
}

/// Orders versions like Kubernetes: `v2 > v1 > v1beta2 > v1alpha1 > anything else`.
pub(crate) fn version_priority(version: &str) -> (u8, u64, u64) {
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let Ok(major) = major.parse::<u64>() else {
        return (0, 0, 0);
    };
    if rest.is_empty() {
        return (3, major, 0);
    }
    for (word, rank) in [("beta", 2), ("alpha", 1)] {
        if let Some(minor) = rest.strip_prefix(word).and_then(|m| m.parse::<u64>().ok()) {
            return (rank, major, minor);
        }
    }
    (0, 0, 0)
}
