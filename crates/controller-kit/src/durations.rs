//! Durations on the command line, in the notation that Karmada and Kubernetes users know: `300ms`, `15s`, `1m30s`.

use std::time::Duration;

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration: write numbers with a unit, such as 500ms, 15s, 5m or 1h30m")]
pub struct DurationError {
    text: String,
}

/// Reads a duration; use it as clap's `value_parser`. `0` needs no unit; signs are refused.
///
/// # Errors
/// [`DurationError`] when the text is anything else.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let wrong = || DurationError { text: text.to_owned() };
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let number_len = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, tail) = rest.split_at(number_len);
        let unit_len = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        total += number.parse::<f64>().map_err(|_| wrong())? * seconds;
        rest = tail;
    }
    // Sums of decimal fractions are not exact in binary: nanoseconds are as fine as it gets anyway.
    Duration::try_from_secs_f64((total * 1e9).round() / 1e9).map_err(|_| wrong())
}

/// Writes a duration so that [`parse_duration`] reads it back: `1h30m`, `15s`, `1.5s`, `20ms`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let nanos = duration.subsec_nanos();
    if seconds == 0 && nanos > 0 {
        return if nanos.is_multiple_of(1_000_000) {
            format!("{}ms", nanos / 1_000_000)
        } else {
            format!("{nanos}ns")
        };
    }
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    if hours > 0 {
        text.push_str(&format!("{hours}h"));
    }
    if minutes > 0 {
        text.push_str(&format!("{minutes}m"));
    }
    if nanos > 0 {
        let fraction = format!("{nanos:09}");
        text.push_str(&format!("{seconds}.{}s", fraction.trim_end_matches('0')));
    } else if seconds > 0 || text.is_empty() {
        text.push_str(&format!("{seconds}s"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", 0)]
    #[case("15s", 15_000)]
    #[case("1m30s", 90_000)]
    #[case("1h", 3_600_000)]
    #[case("1.5s", 1_500)]
    #[case("250ms", 250)]
    fn reads(#[case] text: &str, #[case] millis: u64) {
        assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(millis));
    }

    #[rstest]
    #[case("")]
    #[case("15")]
    #[case("s")]
    #[case("-5s")]
    #[case("5 minutes")]
    #[case("1..5s")]
    #[case("99999999999999999999h")]
    fn refuses(#[case] text: &str) {
        assert!(
            parse_duration(text)
                .unwrap_err()
                .to_string()
                .contains("is not a duration")
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in 0_u64..100_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&format_duration(duration)).unwrap(), duration);
        }

        #[test]
        fn any_text_is_answered(text in ".*") {
            let _ = parse_duration(&text);
        }
    }
}
