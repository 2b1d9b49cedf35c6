//! For whom a member's token acts, as its Secret says.
//!
//! Guarantee: what the Secret says is taken whole or refused in words; a slip never makes requests as the token's own user, who
//! may have other rights.

use std::fmt;

use super::address::AddressError;

/// Key of the user's name in a member's Secret.
const USER: &str = "impersonateUser";
/// Key of the groups' names in a member's Secret.
const GROUPS: &str = "impersonateGroups";

/// The user as whom the member is asked, in place of the token's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impersonation {
    /// Header `Impersonate-User`.
    pub user: String,
    /// Headers `Impersonate-Group`.
    pub groups: Vec<String>,
}

impl Impersonation {
    /// By `value`, which gives the value of a key of the Secret `place`. Blanks and line ends around a name are a slip, and so
    /// are empty lines between groups.
    pub(super) fn of_secret(
        value: impl Fn(&str) -> Option<Vec<u8>>,
        cluster: &str,
        place: &dyn fmt::Display,
    ) -> Result<Option<Self>, AddressError> {
        let wrong = |key, what, help| AddressError::Impersonation {
            cluster: cluster.to_owned(),
            place: place.to_string(),
            key,
            what,
            help,
        };
        let text = |key, help| match value(key).map(String::from_utf8) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err(wrong(key, "is not text", help)),
        };
        let user = text(USER, ONE_USER)?.map(|user| user.trim().to_owned());
        let groups = text(GROUPS, SOME_GROUPS)?.map(|lines| {
            let names = lines.lines().map(|line| line.trim().to_owned());
            names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
        });
        let cannot_be_sent = |name: &str| name.chars().any(char::is_control);
        match (user, groups) {
            (None, None) => Ok(None),
            (Some(user), _) if user.is_empty() => Err(wrong(USER, "is empty", ONE_USER)),
            (Some(user), _) if cannot_be_sent(&user) => {
                Err(wrong(USER, "has line breaks or control characters inside", ONE_USER))
            }
            (None, Some(_)) => Err(wrong(GROUPS, "asks for groups without impersonating a user", USER_TOO)),
            (Some(_), Some(groups)) if groups.is_empty() => Err(wrong(GROUPS, "is empty", SOME_GROUPS)),
            (Some(_), Some(groups)) if groups.iter().any(|name| cannot_be_sent(name)) => {
                Err(wrong(GROUPS, "has control characters inside", SOME_GROUPS))
            }
            (Some(user), groups) => Ok(Some(Self {
                user,
                groups: groups.unwrap_or_default(),
            })),
        }
    }
}

const ONE_USER: &str = "put the name of one user there, or remove the key to act as the token's own";
const SOME_GROUPS: &str = "put the name of one group on each line, or remove the key";
const USER_TOO: &str = "put the user's name under impersonateUser, or remove the key";

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn read(user: Option<&[u8]>, groups: Option<&[u8]>) -> Result<Option<Impersonation>, String> {
        let value = |key: &str| if key == USER { user } else { groups }.map(<[u8]>::to_vec);
        Impersonation::of_secret(value, "m1", &"karmada-cluster/m1").map_err(|error| error.to_string())
    }

    #[rstest]
    #[case::nobody(None, None, None)]
    #[case::user(Some("deployer"), None, Some(("deployer", &[][..])))]
    #[case::line_end(Some(" deployer\r\n"), None, Some(("deployer", &[][..])))]
    #[case::common_name(Some("Jana Müller"), None, Some(("Jana Müller", &[][..])))]
    #[case::groups(Some("d"), Some("a\n\n b c \r\nd\n"), Some(("d", &["a", "b c", "d"][..])))]
    fn for_whom_it_acts(
        #[case] user: Option<&str>,
        #[case] groups: Option<&str>,
        #[case] expected: Option<(&str, &[&str])>,
    ) {
        let expected = expected.map(|(user, groups)| Impersonation {
            user: user.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
        });
        assert_eq!(read(user.map(str::as_bytes), groups.map(str::as_bytes)), Ok(expected));
    }

    #[rstest]
    #[case::empty(Some(&b""[..]), None, "impersonateUser", "is empty: put the name of one user")]
    #[case::blank(Some(&b" \n"[..]), Some(&b"a"[..]), "impersonateUser", "is empty: put")]
    #[case::binary(Some(&b"\xff"[..]), None, "impersonateUser", "is not text: put")]
    #[case::two_lines(Some(&b"a\nb"[..]), None, "impersonateUser", "has line breaks or")]
    #[case::control(Some(&b"a\0b"[..]), None, "impersonateUser", "control characters inside: put")]
    #[case::groups_alone(
        None,
        Some(&b"a"[..]),
        "impersonateGroups",
        "asks for groups without impersonating a user: put the user's name under impersonateUser"
    )]
    #[case::no_group(Some(&b"a"[..]), Some(&b"\n"[..]), "impersonateGroups", "is empty: put the name of one group on")]
    #[case::binary_group(Some(&b"a"[..]), Some(&b"\xff"[..]), "impersonateGroups", "is not text: put")]
    #[case::control_group(Some(&b"a"[..]), Some(&b"a\nb\0"[..]), "impersonateGroups", "control characters inside")]
    fn what_is_refused_where_and_what_to_do(
        #[case] user: Option<&[u8]>,
        #[case] groups: Option<&[u8]>,
        #[case] key: &str,
        #[case] words: &str,
    ) {
        let error = read(user, groups).unwrap_err();
        let place = format!("{key} in secret karmada-cluster/m1 (spec.secretRef of cluster m1) ");
        assert!(error.starts_with(&place) && error.contains(words), "{error}");
    }
}
