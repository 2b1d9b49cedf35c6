//! What Kubernetes takes as a label.

/// The longest value of a label, and name in its key.
const MAX_LENGTH: usize = 63;
/// The longest prefix of a label's key.
const MAX_PREFIX: usize = 253;

/// Whether a text can be the value of a label: empty, or at most 63 letters, digits, `-`, `_` and `.`, the first and the
/// last a letter or digit.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// Whether a text can be the key of a label: a name like a value that is not empty, with a DNS name and `/` before it or
/// not.
#[must_use]
pub fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        None => is_name(text),
        Some((prefix, name)) => is_name(name) && prefix.len() <= MAX_PREFIX && prefix.split('.').all(is_dns_label),
    }
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let at_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= MAX_LENGTH
        && at_end(bytes.first())
        && at_end(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_dns_label(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(fits) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("", true)]
    #[case("2", true)]
    #[case("a.b_c-D", true)]
    #[case("-a", false)]
    #[case("a.", false)]
    #[case("a b", false)]
    #[case("{}", false)]
    #[case("ä", false)]
    #[case(&"x".repeat(63), true)]
    #[case(&"x".repeat(64), false)]
    fn label_values(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_label_value(text), expected);
    }

    #[rstest]
    #[case("job", true)]
    #[case("failover.example.com/job", true)]
    #[case("", false)]
    #[case("/job", false)]
    #[case("Example.com/job", false)]
    #[case("a/b/c", false)]
    #[case("a..b/c", false)]
    fn label_keys(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_label_key(text), expected);
    }
}
