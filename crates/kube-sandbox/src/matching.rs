//! Which requests and events a fault, a count or a freeze is about.

use crate::request::{Target, Verb};

/// Which requests or events something applies to; every part that is set must fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    verbs: Vec<Verb>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    pub(crate) client: Option<String>,
}

impl Match {
    /// Everything, also discovery and health.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// All requests that may change something.
    #[must_use]
    pub fn writes() -> Self {
        Self {
            verbs: vec![
                Verb::Create,
                Verb::Update,
                Verb::Patch,
                Verb::Delete,
                Verb::DeleteCollection,
            ],
            ..Self::default()
        }
    }

    /// Also this verb.
    #[must_use]
    pub fn verb(mut self, verb: Verb) -> Self {
        self.verbs.push(verb);
        self
    }

    /// Only this resource, by its plural name.
    #[must_use]
    pub fn resource(mut self, plural: &str) -> Self {
        self.resource = Some(plural.to_owned());
        self
    }

    /// Only this subresource; `""` means the main resource only.
    #[must_use]
    pub fn subresource(mut self, name: &str) -> Self {
        self.subresource = Some(name.to_owned());
        self
    }

    /// Only objects in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Only objects of this name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only requests of the client of this name (see [`crate::Sandbox::client_named`]).
    #[must_use]
    pub fn client(mut self, name: &str) -> Self {
        self.client = Some(name.to_owned());
        self
    }

    pub(crate) fn fits(&self, seen: &Seen<'_>) -> bool {
        let same = |wanted: &Option<String>, actual: Option<&str>| {
            wanted.as_deref().is_none_or(|w| w == actual.unwrap_or_default())
        };
        (self.verbs.is_empty() || self.verbs.contains(&seen.verb))
            && same(&self.resource, Some(seen.resource))
            && same(&self.subresource, seen.subresource)
            && same(&self.namespace, seen.namespace)
            && same(&self.name, seen.name)
            && same(&self.client, Some(seen.client))
    }
}

/// A request or event, as matches see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub client: &'a str,
    pub verb: Verb,
    pub resource: &'a str,
    pub subresource: Option<&'a str>,
    pub namespace: Option<&'a str>,
    pub name: Option<&'a str>,
}

impl<'a> Seen<'a> {
    pub(crate) fn request(client: &'a str, verb: Verb, target: Option<&'a Target>) -> Self {
        Self {
            client,
            verb,
            resource: target.map_or("", |t| t.resource.as_str()),
            subresource: target.and_then(|t| t.subresource.as_deref()),
            namespace: target.and_then(|t| t.namespace.as_deref()),
            name: target.and_then(|t| t.name.as_deref()),
        }
    }
}
