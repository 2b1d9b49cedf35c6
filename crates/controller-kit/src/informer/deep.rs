//! Objects that are deeper than what can be read.
//!
//! API servers take objects of ten thousand levels, the JSON reader gives up at 128. One such object, which any tenant can
//! make of a kind of free form, must not be the end of the list of all others; and it must not look as if it was not there,
//! for that is a deletion. So it is read without what stands too deep.
//!
//! Guarantee: what was cut is exactly [`DEEPEST_READ`] levels deep, so that whoever carries content on and refuses what is
//! deeper than a bound below that refuses each object that was cut.

/// So many levels of objects and lists in each other are read of an object; null stands for what is deeper.
pub const DEEPEST_READ: usize = 120;

/// The JSON text without what is deeper than so many levels; nothing when nothing is.
pub(super) fn cut(json: &str, most: usize) -> Option<String> {
    let mut out = String::new();
    let (mut depth, mut copied) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for (at, byte) in json.bytes().enumerate() {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                depth += 1;
                if depth == most + 1 {
                    out.push_str(json.get(copied..at)?);
                    out.push_str("null");
                }
            }
            b'}' | b']' => {
                if depth == most + 1 {
                    copied = at + 1;
                }
                depth = depth.checked_sub(1)?;
            }
            _ => {}
        }
    }
    if out.is_empty() {
        return None;
    }
    out.push_str(json.get(copied..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::shallow(r#"{"a":{"b":[1]}}"#, None)]
    #[case::object(r#"{"a":{"b":{"c":{"d":1}}},"e":1}"#, Some(r#"{"a":{"b":{"c":null}},"e":1}"#))]
    #[case::list(r#"{"a":[[[],[[1]],2],3],"b":[]}"#, Some(r#"{"a":[[null,null,2],3],"b":[]}"#))]
    #[case::brackets_in_texts(r#"{"a":"{{{{\"[[[[\\","b":{"[[[[":"}"}}"#, None)]
    #[case::brackets_in_what_is_cut(r#"{"ä":[[{"]":"}\\\"]"},"ü"]]}"#, Some(r#"{"ä":[[null,"ü"]]}"#))]
    fn what_is_too_deep_is_null(#[case] json: &str, #[case] wanted: Option<&str>) {
        assert_eq!(cut(json, 3).as_deref(), wanted);
    }

    #[test]
    fn what_is_left_can_be_read_and_is_as_deep_as_that() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let left = cut(&deep, DEEPEST_READ).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&deep).is_err());
        let mut value: serde_json::Value = serde_json::from_str(&left).unwrap();
        let mut levels = 0;
        while let serde_json::Value::Array(mut items) = value {
            levels += 1;
            value = items.pop().unwrap();
        }
        assert_eq!(levels, DEEPEST_READ);
    }
}
