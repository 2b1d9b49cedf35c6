//! Words from outside as label values.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// So many different words are shown.
const MOST: usize = 32;
/// Stands for all others.
const OTHER: &str = "Other";

/// What others say may become a label only while it keeps few values: the first 32 words are taken, `Other` stands for
/// what comes after them, and for what is no word. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Words {
    known: Arc<Mutex<BTreeSet<String>>>,
}

impl Words {
    /// The word as a label's value.
    #[must_use]
    pub fn label<'a>(&self, word: &'a str) -> &'a str {
        let is_word = (1..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_word {
            return OTHER;
        }
        let mut known = self.known.lock();
        if known.contains(word) {
            return word;
        }
        if known.len() >= MOST {
            return OTHER;
        }
        known.insert(word.to_owned());
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stranger_makes_series_without_end() {
        let words = Words::default();
        for n in 0..1_000 {
            let word = format!("W{n}");
            let label = words.clone().label(&word).to_owned();
            assert_eq!(label, if n < MOST { word } else { OTHER.to_owned() });
        }
        assert_eq!(words.label("W3"), "W3");
        assert_eq!(Words::default().label(""), OTHER);
        assert_eq!(Words::default().label("a\"} 1\nfake_metric"), OTHER);
        assert_eq!(Words::default().label(&"a".repeat(65)), OTHER);
    }
}
