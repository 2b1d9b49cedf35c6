//! Which namespaces and objects are the control plane's own and never go to members.

use api_types::names::namespace::{CLUSTER, EXECUTION_PREFIX, SYSTEM};
use regex::Regex;

use crate::objects::TemplateKey;

/// Namespaces that are left out.
#[derive(Clone, Debug)]
pub struct Reserved {
    skipped: Vec<Regex>,
    system_namespace: String,
}

impl Reserved {
    /// With the expressions of `--skipped-propagating-namespaces`.
    #[must_use]
    pub fn new(skipped: &[Regex], system_namespace: &str) -> Self {
        Self {
            skipped: skipped.to_vec(),
            system_namespace: system_namespace.to_owned(),
        }
    }

    /// Whether nothing of this namespace goes to members.
    #[must_use]
    pub fn namespace(&self, name: &str) -> bool {
        [SYSTEM, CLUSTER, &self.system_namespace].contains(&name)
            || name.starts_with(EXECUTION_PREFIX)
            || self.skipped.iter().any(|skipped| whole(skipped, name))
    }

    /// Whether an object is one that each API server makes for itself: a policy for "all ConfigMaps" does not mean it.
    #[must_use]
    pub fn template(&self, key: &TemplateKey) -> bool {
        let namespace = key.object.namespace.as_deref().unwrap_or_default();
        let own = match key.kind.kind() {
            _ if !key.kind.group().is_empty() => false,
            "ConfigMap" => key.object.name == "kube-root-ca.crt",
            "ServiceAccount" => key.object.name == "default",
            "Service" => namespace == "default" && key.object.name == "kubernetes",
            _ => false,
        };
        own || self.namespace(namespace)
    }
}

/// The expression has to describe the whole name.
fn whole(expression: &Regex, name: &str) -> bool {
    expression
        .find_iter(name)
        .any(|found| found.start() == 0 && found.end() == name.len())
}

#[cfg(test)]
mod tests {
    use controller_kit::ObjectKey;
    use rstest::rstest;

    use super::*;
    use crate::kinds::{Kind, KindScope};

    fn reserved() -> Reserved {
        Reserved::new(&[Regex::new("kube-.*").unwrap()], "failover-system")
    }

    #[rstest]
    #[case("kube-system", true)]
    #[case("karmada-system", true)]
    #[case("karmada-cluster", true)]
    #[case("karmada-es-member1", true)]
    #[case("failover-system", true)]
    #[case("my-kube-shop", false)]
    #[case("default", false)]
    fn namespaces(#[case] name: &str, #[case] wanted: bool) {
        assert_eq!(reserved().namespace(name), wanted);
    }

    #[rstest]
    #[case("ConfigMap", "kube-root-ca.crt", true)]
    #[case("ConfigMap", "mine", false)]
    #[case("Service", "kubernetes", true)]
    #[case("Secret", "kubernetes", false)]
    #[case("ServiceAccount", "default", true)]
    #[case("ServiceAccount", "shop", false)]
    fn objects(#[case] kind: &str, #[case] name: &str, #[case] wanted: bool) {
        let kind = Kind::new("", "v1", kind, "", KindScope::Namespaced);
        let key = TemplateKey::new(kind, ObjectKey::namespaced("default", name));
        assert_eq!(reserved().template(&key), wanted);
    }
}
