//! Amounts of resources in Kubernetes' notation, exact to a thousandth, enough to add up requests.

use std::fmt;

use serde_json::Number;

/// An amount in thousandths, and the notation that it prints in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount {
    thousandths: i128,
    binary: bool,
}

impl Amount {
    /// The sum; prints in powers of two if either does.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            thousandths: self.thousandths.saturating_add(other.thousandths),
            binary: self.binary || other.binary,
        }
    }

    /// The amount as a number, as near as one gets.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a float is what is asked for")]
    pub fn as_f64(self) -> f64 {
        self.thousandths as f64 / 1_000.0
    }
}

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, u32); 6] = [("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// Reads such as `250m`, `1.5`, `128Mi`, `2G` and `1e3`. Finer than a thousandth is rounded up.
///
/// # Errors
/// When the text is no quantity.
pub fn parse(text: &str) -> Result<Amount, String> {
    let bad = || format!("{text:?} is no quantity");
    let (number, scale, binary) = if let Some((suffix, bits)) = BINARY.iter().find(|(s, _)| text.ends_with(s)) {
        (&text[..text.len() - suffix.len()], 1_i128 << bits, true)
    } else if let Some((suffix, zeros)) = DECIMAL.iter().find(|(s, _)| text.ends_with(s)) {
        (&text[..text.len() - suffix.len()], 10_i128.pow(*zeros), false)
    } else if let Some((number, exponent)) = text.split_once(['e', 'E']) {
        (
            number,
            10_i128.pow(exponent.parse().ok().filter(|e| *e <= 18).ok_or_else(bad)?),
            false,
        )
    } else {
        (text, 1, false)
    };
    let (number, divisor) = match number.strip_suffix(['m', 'u', 'n']) {
        Some(rest) if scale == 1 => (
            rest,
            if number.ends_with('m') {
                1_000
            } else if number.ends_with('u') {
                1_000_000
            } else {
                1_000_000_000
            },
        ),
        _ => (number, 1_i128),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.trim_start_matches(['+', '-']).is_empty() || fraction.len() > 9 {
        return Err(bad());
    }
    let units: i128 = digits.parse().map_err(|_| bad())?;
    let scaled = units
        .checked_mul(scale)
        .and_then(|n| n.checked_mul(1_000))
        .ok_or_else(bad)?;
    let divisor = divisor * 10_i128.pow(u32::try_from(fraction.len()).map_err(|_| bad())?);
    let up = i128::from(scaled > 0 && scaled % divisor != 0);
    Ok(Amount {
        thousandths: scaled / divisor + up,
        binary,
    })
}

/// Reads an amount that is a number in JSON.
///
/// # Errors
/// When it is larger than an amount can be.
pub fn of_number(number: &Number) -> Result<Amount, String> {
    let text = match number.as_f64() {
        // A float that was worked out has digits without end: those behind the ninth say nothing.
        Some(float) if number.is_f64() => {
            let text = float.to_string();
            let digits = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            if digits > 9 { format!("{float:.9}") } else { text }
        }
        _ => number.to_string(),
    };
    parse(&text)
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.thousandths % 1_000 != 0 {
            return write!(f, "{}m", self.thousandths);
        }
        let whole = self.thousandths / 1_000;
        let fitting = BINARY
            .iter()
            .rev()
            .find(|(_, bits)| whole != 0 && whole % (1_i128 << bits) == 0);
        match fitting.filter(|_| self.binary) {
            Some((suffix, bits)) => write!(f, "{}{suffix}", whole >> bits),
            None => write!(f, "{whole}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case("250m", "250m")]
    #[case("1000m", "1")]
    #[case("1.5", "1500m")]
    #[case("0.1Gi", "107374182400m")]
    #[case("128Mi", "128Mi")]
    #[case("1024Ki", "1Mi")]
    #[case("2G", "2000000000")]
    #[case("1e3", "1000")]
    #[case("1u", "1m")]
    fn reads_and_prints(#[case] written: &str, #[case] printed: &str) {
        assert_eq!(parse(written).unwrap().to_string(), printed);
    }

    #[rstest]
    #[case(json!(1), "1")]
    #[case(json!(0.5), "500m")]
    #[case(json!(0.07), "70m")]
    #[case(json!(0.1 + 0.2), "300m")]
    #[case(json!(-2.25), "-2250m")]
    #[case(json!(1_073_741_824), "1073741824")]
    #[case(json!(1e21), "1000000000000000000000")]
    #[case(json!(u64::MAX), "18446744073709551615")]
    fn numbers_are_amounts(#[case] number: Value, #[case] printed: &str) {
        let Value::Number(number) = number else { unreachable!() };
        assert_eq!(of_number(&number).unwrap().to_string(), printed);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            if let Ok(amount) = parse(&text) {
                prop_assert_eq!(parse(&amount.to_string()).unwrap().thousandths, amount.thousandths);
            }
        }
    }
}
