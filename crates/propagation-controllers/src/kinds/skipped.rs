//! Kinds whose objects are never templates, in one place: what every API server makes for itself, what the control plane
//! keeps for itself, and what its administrator has excluded.

use std::str::FromStr;

use super::group_of;
use crate::interpreter::KindName;

/// Groups and single kinds (empty: all of the group) that each server makes for itself.
const OF_EACH_SERVER: [(&str, &str); 13] = [
    ("", "Event"),
    ("", "Endpoints"),
    ("", "Node"),
    ("", "Binding"),
    ("", "ComponentStatus"),
    ("events.k8s.io", ""),
    ("coordination.k8s.io", ""),
    ("discovery.k8s.io", "EndpointSlice"),
    ("apiregistration.k8s.io", ""),
    ("authentication.k8s.io", ""),
    ("authorization.k8s.io", ""),
    ("certificates.k8s.io", ""),
    ("metrics.k8s.io", ""),
];

/// Why objects of a kind never go to members by a policy; `None` for a kind that may.
#[must_use]
pub fn skipped(kind: &KindName, excluded: &[SkippedApi]) -> Option<&'static str> {
    let group = group_of(&kind.api_version);
    if group == "karmada.io" || group.ends_with(".karmada.io") {
        return Some("it belongs to the control plane");
    }
    if group.is_empty() && kind.kind == "Namespace" {
        return Some("namespaces go to all members by themselves");
    }
    let of_each = |(own, name): &(&str, &str)| *own == group && (name.is_empty() || *name == kind.kind);
    if OF_EACH_SERVER.iter().any(of_each) {
        return Some("every API server makes its own");
    }
    let is_excluded = excluded.iter().any(|api| api.includes(kind));
    is_excluded.then_some("--skipped-propagating-apis names it")
}

/// APIs that are left out by `--skipped-propagating-apis`, in stock's notation: `GROUP`, `GROUP/VERSION` or
/// `GROUP/VERSION/KIND,KIND`; of the core group `v1` and `v1/KIND`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedApi {
    group: String,
    /// Empty for all.
    version: String,
    /// Lower case; empty for all.
    kinds: Vec<String>,
}

impl SkippedApi {
    fn includes(&self, kind: &KindName) -> bool {
        let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
        self.group == group
            && (self.version.is_empty() || self.version == version)
            && (self.kinds.is_empty() || self.kinds.contains(&kind.kind.to_lowercase()))
    }
}

/// What is wrong with an entry of `--skipped-propagating-apis`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no API: give GROUP, GROUP/VERSION or GROUP/VERSION/KIND,KIND, and v1 or v1/KIND for the core group")]
pub struct NoApi(String);

impl FromStr for SkippedApi {
    type Err = NoApi;

    fn from_str(text: &str) -> Result<Self, NoApi> {
        let parts: Vec<&str> = text.trim().split('/').collect();
        let (group, version, kinds) = match parts.as_slice() {
            ["v1"] => ("", "v1", ""),
            ["v1", kinds] => ("", "v1", *kinds),
            [group] => (*group, "", ""),
            [group, version] => (*group, *version, ""),
            [group, version, kinds] => (*group, *version, *kinds),
            _ => return Err(NoApi(text.to_owned())),
        };
        let is_named = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        let parts_are_named = parts.iter().all(|part| is_named(part)) && kinds.split(',').skip(1).all(is_named);
        if !parts_are_named {
            return Err(NoApi(text.to_owned()));
        }
        Ok(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kinds: kinds
                .split(',')
                .filter(|kind| !kind.is_empty())
                .map(str::to_lowercase)
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn name(api_version: &str, kind: &str) -> KindName {
        KindName {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    #[rstest]
    #[case("v1", "ConfigMap", false)]
    #[case("v1", "Event", true)]
    #[case("v1", "Namespace", true)]
    #[case("events.k8s.io/v1", "Event", true)]
    #[case("coordination.k8s.io/v1", "Lease", true)]
    #[case("discovery.k8s.io/v1", "EndpointSlice", true)]
    #[case("work.karmada.io/v1alpha2", "ResourceBinding", true)]
    #[case("failover.karmada.io/v1alpha1", "FailoverPause", true)]
    #[case("example.io/v1", "Node", false)]
    #[case("notkarmada.io/v1", "Widget", false)]
    #[case("rbac.authorization.k8s.io/v1", "ClusterRole", false)]
    #[case("apiextensions.k8s.io/v1", "CustomResourceDefinition", false)]
    fn of_all_servers(#[case] api_version: &str, #[case] kind: &str, #[case] wanted: bool) {
        assert_eq!(skipped(&name(api_version, kind), &[]).is_some(), wanted);
    }

    #[rstest]
    #[case("networking.k8s.io", true, true)]
    #[case("networking.k8s.io/v1", true, true)]
    #[case("networking.k8s.io/v1beta1", false, false)]
    #[case("networking.k8s.io/v1/ingress,IngressClass", true, false)]
    #[case("v1", false, false)]
    fn excluded(#[case] api: &str, #[case] ingress: bool, #[case] network_policy: bool) {
        let excluded = [api.parse().unwrap()];
        let is_skipped = |kind: &str| skipped(&name("networking.k8s.io/v1", kind), &excluded).is_some();
        assert_eq!(
            (is_skipped("Ingress"), is_skipped("NetworkPolicy")),
            (ingress, network_policy)
        );
    }

    #[test]
    fn the_core_group_has_no_name() {
        let excluded = ["v1/Pod,Secret".parse().unwrap()];
        assert!(skipped(&name("v1", "Secret"), &excluded).is_some());
        assert!(skipped(&name("v1", "ConfigMap"), &excluded).is_none());
    }

    #[rstest]
    #[case("")]
    #[case("a/b/c/d")]
    #[case("a//c")]
    #[case("a b")]
    #[case("a/v1/K,")]
    fn no_api(#[case] text: &str) {
        let error = SkippedApi::from_str(text).unwrap_err().to_string();
        assert!(error.contains("GROUP/VERSION/KIND"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = SkippedApi::from_str(&text);
        }
    }
}
