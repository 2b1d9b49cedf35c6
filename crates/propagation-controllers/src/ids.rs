//! Permanent ids, which stock's webhooks draw at random. Here they follow from what they belong to, so that a crash
//! between two writes, or two writers at once, end with the same id.

use api_types::names::fnv1a_32;

/// A UUID (version 8: the maker's own rule) that depends on `parts` alone.
#[must_use]
pub fn permanent_id(parts: &[&str]) -> String {
    let joined = parts.join("\u{1f}");
    let word = |salt: u32| fnv1a_32(&format!("{salt}\u{1f}{joined}"));
    let (a, b, c, d) = (word(1), word(2), word(3), word(4));
    format!(
        "{a:08x}-{:04x}-8{:03x}-{:x}{:03x}-{:04x}{d:08x}",
        b >> 16,
        b & 0xfff,
        8 | ((c >> 30) & 0x3),
        (c >> 16) & 0xfff,
        c & 0xffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_and_follows_from_its_parts() {
        let id = permanent_id(&["a", "b"]);
        assert_eq!(id.len(), 36);
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "8");
        assert_eq!(id, permanent_id(&["a", "b"]));
        assert_ne!(id, permanent_id(&["ab"]));
    }
}
