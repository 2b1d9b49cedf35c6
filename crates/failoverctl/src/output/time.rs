//! Times for people and for programs: UTC in RFC 3339 to the second, and how far away that is.

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use super::View;

/// A time; JSON has it as RFC 3339 in UTC, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At(pub Timestamp);

impl At {
    /// From a gRPC message; nothing for what no calendar holds.
    #[must_use]
    pub fn of_proto(time: &prost_types::Timestamp) -> Option<Self> {
        Timestamp::new(time.seconds, time.nanos).ok().map(Self)
    }

    /// As in `2026-01-31T12:00:00Z (in 12s)`.
    #[must_use]
    pub fn show(self, view: &View) -> String {
        format!("{self} ({})", relative(self.0, view.now))
    }
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0}", self.0)
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// `in 12s`, `3m20s ago`, `now`: at most two units. What lies ahead is rounded up, so that nothing is due before it is
/// said to be.
#[must_use]
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    let away = at.duration_since(now);
    if away > SignedDuration::ZERO {
        let seconds = away.as_secs().saturating_add(i64::from(away.subsec_nanos() > 0));
        format!("in {}", span(seconds.unsigned_abs()))
    } else if away.as_secs() == 0 {
        "now".to_owned()
    } else {
        format!("{} ago", span(away.as_secs().unsigned_abs()))
    }
}

/// `1s`, `12s`, `3m20s`: how long something took, given in seconds, rounded up.
#[must_use]
pub fn span_of(seconds: f64) -> String {
    let whole = std::time::Duration::try_from_secs_f64(seconds.ceil()).unwrap_or(std::time::Duration::MAX);
    span(whole.as_secs())
}

fn span(seconds: u64) -> String {
    let units = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let first = units
        .iter()
        .position(|(_, length)| seconds >= *length)
        .unwrap_or(units.len() - 1);
    let mut rest = seconds;
    let mut text = String::new();
    for (unit, length) in units.iter().skip(first).take(2) {
        let count = rest / length;
        rest %= length;
        if count > 0 || text.is_empty() {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0, "now")]
    #[case(12_000, "in 12s")]
    #[case(11_001, "in 12s")]
    #[case(1, "in 1s")]
    #[case(-999, "now")]
    #[case(-1_000, "1s ago")]
    #[case(-200_000, "3m20s ago")]
    #[case(180_000, "in 3m")]
    #[case(3_900_000, "in 1h5m")]
    #[case(3_605_000, "in 1h")]
    #[case(-190_000_000, "2d4h ago")]
    fn relative_times(#[case] milliseconds: i64, #[case] expected: &str) {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        assert_eq!(relative(now + SignedDuration::from_millis(milliseconds), now), expected);
    }

    #[rstest]
    #[case(0.0, "0s")]
    #[case(0.001, "1s")]
    #[case(9.94, "10s")]
    #[case(200.0, "3m20s")]
    #[case(200.4, "3m21s")]
    #[case(f64::INFINITY, "213503982334601d7h")]
    fn how_long_it_took(#[case] seconds: f64, #[case] expected: &str) {
        assert_eq!(span_of(seconds), expected);
    }

    #[test]
    fn to_the_second() {
        assert_eq!(
            At("2026-01-31T12:00:00.987Z".parse().unwrap()).to_string(),
            "2026-01-31T12:00:00Z"
        );
        assert_eq!(
            At::of_proto(&prost_types::Timestamp {
                seconds: i64::MAX,
                nanos: 0
            }),
            None
        );
    }

    proptest::proptest! {
        #[test]
        fn any_two_times_can_be_compared(
            at in -377_705_023_201_i64..=253_402_207_200,
            now in -377_705_023_201_i64..=253_402_207_200,
        ) {
            let time = |seconds| Timestamp::from_second(seconds).unwrap();
            let text = relative(time(at), time(now));
            proptest::prop_assert_eq!(text.starts_with("in "), at > now, "{}", text);
            proptest::prop_assert_eq!(text.ends_with(" ago"), at < now, "{}", text);
        }
    }
}
