//! Beside a stock Karmada: what the annotation `failover.karmada.io/failover` of a binding is to say, by the policy that
//! claimed it.

/// Who says something of failover, a policy or a binding that one claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'a> {
    /// The permanent id of the policy.
    pub policy_id: Option<&'a str>,
    /// The annotation.
    pub failover: Option<&'a str>,
}

/// What the annotation of `binding` is to say; `None` where nothing is to be changed.
///
/// Rules: a binding whose policy is gone keeps what it says; a policy of the same name with another id is another one, of
/// which the binding will be told when it is claimed anew.
#[must_use]
pub fn wanted<'a>(binding: Words<'_>, policy: Option<Words<'a>>) -> Option<Option<&'a str>> {
    let policy = policy?;
    if let (Some(claimed_by), Some(id)) = (binding.policy_id, policy.policy_id)
        && claimed_by != id
    {
        return None;
    }
    (policy.failover != binding.failover).then_some(policy.failover)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn words<'a>(policy_id: Option<&'a str>, failover: Option<&'a str>) -> Words<'a> {
        Words { policy_id, failover }
    }

    #[rstest]
    #[case::it_says_so_already(Some("a"), Some(words(Some("a"), Some("{}"))), Some("{}"), None)]
    #[case::it_is_told(Some("a"), Some(words(Some("a"), Some("{}"))), None, Some(Some("{}")))]
    #[case::it_is_told_of_the_end(Some("a"), Some(words(Some("a"), None)), Some("{}"), Some(None))]
    #[case::the_policy_is_gone(Some("a"), None, Some("{}"), None)]
    #[case::another_policy_of_that_name(Some("a"), Some(words(Some("b"), None)), Some("{}"), None)]
    #[case::nobody_has_ids(None, Some(words(None, Some("{}"))), None, Some(Some("{}")))]
    fn a_binding_says_what_its_policy_says(
        #[case] claimed_by: Option<&str>,
        #[case] policy: Option<Words<'_>>,
        #[case] said: Option<&str>,
        #[case] expected: Option<Option<&str>>,
    ) {
        assert_eq!(wanted(words(claimed_by, said), policy), expected);
    }
}
