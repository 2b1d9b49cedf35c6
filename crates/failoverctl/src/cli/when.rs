//! Times and durations that people type.

use std::time::Duration;

use controller_kit::durations::parse_duration;
use jiff::Timestamp;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// A duration that may begin with days: `90s`, `2h`, `1d`, `7d12h`.
///
/// # Errors
/// The text is anything else.
pub fn parse_days(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (days, rest) = text.split_once('d').unwrap_or(("0", text));
    let days = days
        .parse::<u32>()
        .map(|days| Duration::from_secs(u64::from(days) * DAY));
    let rest = if rest.is_empty() && !text.is_empty() {
        Ok(Duration::ZERO)
    } else {
        parse_duration(rest)
    };
    match (days, rest) {
        (Ok(days), Ok(rest)) => Ok(days + rest),
        _ => Err(format!(
            "{text:?} is not a duration: write numbers with a unit, such as 90s, 2h30m or 7d"
        )),
    }
}

/// The beginning of a time that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// So long ago.
    Ago(Duration),
    /// At this time.
    At(Timestamp),
}

impl Since {
    /// The time itself.
    #[must_use]
    pub fn as_of(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
        }
    }
}

/// A duration before now, or a time.
///
/// # Errors
/// The text is neither.
pub fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(ago) = parse_days(text) {
        return Ok(Since::Ago(ago));
    }
    text.parse().map(Since::At).map_err(|_| {
        format!("{text:?} is neither a duration, such as 30m or 7d, nor a time, such as 2026-01-31T12:00:00Z")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("90s", Some(90))]
    #[case("1d", Some(DAY))]
    #[case("7d12h", Some(7 * DAY + 43_200))]
    #[case("0", Some(0))]
    #[case("d", None)]
    #[case("1dd", None)]
    #[case("1.5d", None)]
    #[case("-1d", None)]
    #[case("tomorrow", None)]
    #[case("", None)]
    #[case("1d-1h", None)]
    fn durations(#[case] text: &str, #[case] seconds: Option<u64>) {
        assert_eq!(parse_days(text).ok(), seconds.map(Duration::from_secs));
    }

    #[test]
    fn since_when() {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        let at = |text: &str| parse_since(text).map(|since| since.as_of(now).to_string());
        assert_eq!(at("1d").as_deref(), Ok("2026-01-30T12:00:00Z"));
        assert_eq!(at("2026-01-01T00:00:00Z").as_deref(), Ok("2026-01-01T00:00:00Z"));
        assert_eq!(
            parse_since("99999999d").map(|since| since.as_of(now)),
            Ok(Timestamp::MIN)
        );
        assert!(at("yesterday").unwrap_err().contains("such as 30m"));
    }
}
