//! Texts that the API limits.

/// The longest message of a task, a record or a condition that we write. The API takes 1,024 of a task.
const MAX_CHARS: usize = 1024;

/// Cuts what is too long, between two characters.
#[must_use]
pub fn shorten(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shorten("ä".repeat(2000)).chars().count(), 1024);
        assert_eq!(shorten("short".to_owned()), "short");
    }
}
