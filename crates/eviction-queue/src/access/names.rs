//! Which roles the names of certificates have. Pure.

use std::collections::BTreeSet;

use super::method::Role;

/// Stands for every certificate that the authority has issued.
const EVERYBODY: &str = "*";

/// Names of certificates by role: each a common name, a URI or a DNS name, compared as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleNames {
    producers: BTreeSet<String>,
    consumers: BTreeSet<String>,
    readers: BTreeSet<String>,
    admins: BTreeSet<String>,
}

impl RoleNames {
    /// These names have this role as well.
    #[must_use]
    pub fn with(mut self, role: Role, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names = names.into_iter().map(Into::into).filter(|name| !name.is_empty());
        self.of_mut(role).extend(names);
        self
    }

    /// Nobody has any role.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        Role::ALL.into_iter().all(|role| self.of(role).is_empty())
    }

    /// The roles of a certificate with these names, without what they cover.
    #[must_use]
    pub fn roles_of(&self, names: &[String]) -> Vec<Role> {
        let listed = |role: &Role| {
            let of_role = self.of(*role);
            of_role.contains(EVERYBODY) || names.iter().any(|name| of_role.contains(name))
        };
        Role::ALL.into_iter().filter(listed).collect()
    }

    /// The first of these names that is listed with a role that covers this one; nothing when no name gives it, as when
    /// everybody has it.
    #[must_use]
    pub fn giver<'a>(&self, role: Role, names: &'a [String]) -> Option<&'a str> {
        let gives = |name: &&String| {
            Role::ALL
                .into_iter()
                .any(|of| of.covers(role) && self.of(of).contains(*name))
        };
        names
            .iter()
            .filter(|name| *name != EVERYBODY)
            .find(gives)
            .map(String::as_str)
    }

    fn of(&self, role: Role) -> &BTreeSet<String> {
        match role {
            Role::Producer => &self.producers,
            Role::Consumer => &self.consumers,
            Role::Reader => &self.readers,
            Role::Admin => &self.admins,
        }
    }

    fn of_mut(&mut self, role: Role) -> &mut BTreeSet<String> {
        match role {
            Role::Producer => &mut self.producers,
            Role::Consumer => &mut self.consumers,
            Role::Reader => &mut self.readers,
            Role::Admin => &mut self.admins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(names: &[&str]) -> Vec<Role> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        RoleNames::default()
            .with(Role::Producer, ["manager", ""])
            .with(Role::Consumer, ["spiffe://fleet/manager"])
            .with(Role::Admin, ["ops.example.org"])
            .roles_of(&names)
    }

    #[test]
    fn names_are_compared_as_they_are_written() {
        assert_eq!(roles(&["manager"]), [Role::Producer]);
        assert_eq!(
            roles(&["manager", "spiffe://fleet/manager"]),
            [Role::Producer, Role::Consumer]
        );
        assert_eq!(roles(&["*.example.org", "Manager", "manager.", ""]), []);
        assert_eq!(roles(&["*"]), [], "a certificate cannot call itself everybody");
    }

    #[test]
    fn the_name_that_gives_a_role() {
        let names = RoleNames::default()
            .with(Role::Admin, ["spiffe://fleet/ops", "*"])
            .with(Role::Reader, ["somebody"]);
        let has = ["somebody", "spiffe://fleet/ops"].map(String::from);
        assert_eq!(names.giver(Role::Admin, &has), Some("spiffe://fleet/ops"));
        assert_eq!(names.giver(Role::Reader, &has), Some("somebody"), "the first of two");
        assert_eq!(
            names.giver(Role::Reader, &has[1..]),
            Some("spiffe://fleet/ops"),
            "by what covers it"
        );
        assert_eq!(names.giver(Role::Admin, &has[..1]), None, "it is everybody's");
        assert_eq!(
            names.giver(Role::Admin, &["*".to_owned()]),
            None,
            "nobody is called everybody"
        );
        assert_eq!(names.giver(Role::Producer, &has), None);
    }

    #[test]
    fn everybody_is_whoever_has_a_certificate() {
        let names = RoleNames::default().with(Role::Reader, ["*"]);
        assert_eq!(names.roles_of(&[]), [Role::Reader]);
        assert!(!names.is_empty() && RoleNames::default().is_empty());
    }
}
