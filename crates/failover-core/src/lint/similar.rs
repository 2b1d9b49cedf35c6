//! Which of the known words somebody may have meant.

/// The known word nearest to `written`, if it is near: the same but for its case or its last letters, or at most two
/// letters away, and fewer than half of its own. The same word is not near, it is itself.
#[must_use]
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for word in known.into_iter().filter(|word| *word != written) {
        let (a, b) = (written.to_lowercase(), word.to_lowercase());
        let is_plural = a.strip_suffix('s') == Some(&b) || b.strip_suffix('s') == Some(&a);
        let distance = if a == b || is_plural { 0 } else { distance(&a, &b) };
        let is_near = distance <= 2 && distance * 2 < word.chars().count();
        if is_near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, word));
        }
    }
    best.map(|(_, word)| word)
}

/// Letters to insert, to drop, to replace, or to swap with their neighbour. (Optimal string alignment.)
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Words that differ so much in length are not near; long garbage costs nothing.
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX / 4;
    }
    let mut before = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = previous[j] + usize::from(x != y);
            let mut cost = replaced.min(previous[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("pureMode", Some("purgeMode"))]
    #[case("purgemode", Some("purgeMode"))]
    #[case("tolerationSecond", Some("tolerationSeconds"))]
    #[case("taints", None)]
    #[case("purgeMode", None)]
    #[case("", None)]
    fn what_was_meant(#[case] written: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(written, ["purgeMode", "tolerationSeconds", "key"]), expected);
    }

    #[test]
    fn short_words_are_not_guessed() {
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("Raedy", ["Ready"]), Some("Ready"));
    }
}
