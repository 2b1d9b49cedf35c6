use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn found(text: &str, pattern: &str) -> Option<(usize, usize, Vec<Caught>)> {
    let found = search(text.as_bytes(), pattern.as_bytes(), 0, &Budget::new()).unwrap();
    found.map(|found| (found.start, found.end, found.captures))
}

// Answers of the Lua 5.1 reference manual's rules, worked out by hand.
#[rstest]
#[case::plain("hello world", "wor", Some((6, 9)))]
#[case::not_there("hello", "z", None)]
#[case::empty("hello", "", Some((0, 0)))]
#[case::any("hello", "l.o", Some((2, 5)))]
#[case::most("aaab", "a*b", Some((0, 4)))]
#[case::most_of_none("b", "a*b", Some((0, 1)))]
#[case::at_least_one("b", "a+b", None)]
#[case::least("<a><b>", "<.->", Some((0, 3)))]
#[case::perhaps("color", "colou?r", Some((0, 5)))]
#[case::perhaps_there("colour", "colou?r", Some((0, 6)))]
#[case::anchored("hello", "^ell", None)]
#[case::anchored_there("hello", "^hel", Some((0, 3)))]
#[case::at_the_end("hello", "lo$", Some((3, 5)))]
#[case::not_at_the_end("lohello", "^lo$", None)]
#[case::dollar_inside("a$b", "a$b", Some((0, 3)))]
#[case::digits("v1.29.3", "%d+%.%d+", Some((1, 5)))]
#[case::not_digits("12ab", "%D+", Some((2, 4)))]
#[case::set("key = value", "[%w_]+", Some((0, 3)))]
#[case::range("xyz5", "[0-9]", Some((3, 4)))]
#[case::not_in_set("  x", "[^%s]", Some((2, 3)))]
#[case::bracket_in_set("a]b", "[]]", Some((1, 2)))]
#[case::minus_at_the_end("a-b", "[a-]+", Some((0, 2)))]
#[case::escaped("100%", "%%", Some((3, 4)))]
#[case::balanced("f(a(b)c)d", "%b()", Some((1, 8)))]
#[case::frontier("THE (quick) fox", "%f[%a]%a+%f[%A]", Some((0, 3)))]
fn places(#[case] text: &str, #[case] pattern: &str, #[case] wanted: Option<(usize, usize)>) {
    assert_eq!(found(text, pattern).map(|(start, end, _)| (start, end)), wanted);
}

#[test]
fn parentheses_catch() {
    let (_, _, caught) = found("cpu=500m", "(%w+)=(%d+)()").unwrap();
    assert_eq!(caught, [Caught::Bytes(0, 3), Caught::Bytes(4, 7), Caught::Position(7)]);
    let (start, end, caught) = found("say \"hi\" now", "([\"'])(.-)%1").unwrap();
    assert_eq!((start, end), (4, 8));
    assert_eq!(caught, [Caught::Bytes(4, 5), Caught::Bytes(5, 7)]);
}

#[rstest]
#[case("%", "malformed pattern (ends with '%')")]
#[case("[a", "malformed pattern (missing ']')")]
#[case("[", "malformed pattern (missing ']')")]
#[case("[^", "malformed pattern (missing ']')")]
#[case("(a", "unfinished capture")]
#[case("a)", "invalid pattern capture")]
#[case("%1", "invalid capture index")]
#[case("%0", "invalid capture index")]
#[case("%b", "unbalanced pattern")]
#[case("%fa", "missing '[' after '%f' in pattern")]
fn wrong_patterns(#[case] pattern: &str, #[case] wanted: &str) {
    let error = search(b"aaa", pattern.as_bytes(), 0, &Budget::new()).unwrap_err();
    assert_eq!(error.to_string(), wanted);
}

// In Lua's own functions this takes longer than anybody waits.
#[test]
fn a_pattern_that_never_ends_is_stopped() {
    let (text, pattern) = ("a".repeat(100), format!("{}b", "a*".repeat(30)));
    let error = search(text.as_bytes(), pattern.as_bytes(), 0, &Budget::new()).unwrap_err();
    assert_eq!(error, PatternError::Exhausted(Exhausted::Instructions));
}

#[test]
fn a_pattern_of_many_parts_is_refused_before_the_stack_ends() {
    let error = search(b"aaaa", "a?".repeat(10_000).as_bytes(), 0, &Budget::new()).err();
    assert!(error.is_none_or(|error| error == PatternError::Malformed("pattern too complex")));
}

proptest! {
    #[test]
    fn nothing_panics(text in "[ab%()\\[\\]]{0,12}", pattern in "[ab%\\[\\]()^$.*+\\-?1bf]{0,12}") {
        if let Ok(Some(found)) = search(text.as_bytes(), pattern.as_bytes(), 0, &Budget::new()) {
            prop_assert!(found.start <= found.end && found.end <= text.len());
        }
    }

    #[test]
    fn bytes_do_not_panic(text in prop::collection::vec(any::<u8>(), 0..20), pattern in prop::collection::vec(any::<u8>(), 0..20)) {
        let _ = search(&text, &pattern, 0, &Budget::new());
    }
}
