//! Kubernetes quantities: sums, differences, and how often one goes into another.
//!
//! Exact: values are integers of a billionth. Written back as Kubernetes itself writes them: with the largest suffix
//! that leaves a whole number, binary or decimal as the first summand was.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

const NANOS: i128 = 1_000_000_000;
const BINARY: [(&str, i128); 6] = [
    ("Ei", 1 << 60),
    ("Pi", 1 << 50),
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("Mi", 1 << 20),
    ("Ki", 1 << 10),
];

const DECIMAL: [(&str, i128); 9] = [
    ("E", NANOS * NANOS * NANOS),
    ("P", NANOS * NANOS * 1_000_000),
    ("T", NANOS * NANOS * 1_000),
    ("G", NANOS * NANOS),
    ("M", NANOS * 1_000_000),
    ("k", NANOS * 1_000),
    ("", NANOS),
    ("m", 1_000_000),
    ("u", 1_000),
];

/// Which suffixes a quantity is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `Ki`, `Mi`, …
    Binary,
    /// `m`, `k`, `M`, …
    Decimal,
}

/// The smallest part of a resource that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Thousandths, as of a CPU core.
    Thousandth,
    /// Whole units, as of bytes and devices.
    Whole,
}

impl Grain {
    fn nanos(self) -> i128 {
        match self {
            Self::Thousandth => NANOS / 1_000,
            Self::Whole => NANOS,
        }
    }
}

/// An amount of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    nanos: i128,
    notation: Option<Notation>,
}

impl Amount {
    /// None of it.
    pub const ZERO: Self = Self {
        nanos: 0,
        notation: None,
    };

    /// So many whole units.
    #[must_use]
    pub fn whole(count: usize) -> Self {
        Self {
            nanos: i128::try_from(count).unwrap_or(i128::MAX).saturating_mul(NANOS),
            notation: Some(Notation::Decimal),
        }
    }

    /// Reads a quantity; `None` when it is none.
    #[must_use]
    pub fn read(quantity: &Quantity) -> Option<Self> {
        let text = quantity.0.trim();
        let split = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(split);
        let (scale, notation) = match suffix {
            "" => (NANOS, Notation::Decimal),
            "n" => (1, Notation::Decimal),
            "u" => (1_000, Notation::Decimal),
            "m" => (1_000_000, Notation::Decimal),
            "k" => (NANOS * 1_000, Notation::Decimal),
            "M" => (NANOS * 1_000_000, Notation::Decimal),
            "G" => (NANOS * NANOS, Notation::Decimal),
            "T" => (NANOS * NANOS * 1_000, Notation::Decimal),
            "P" => (NANOS * NANOS * 1_000_000, Notation::Decimal),
            "E" => (NANOS * NANOS * NANOS, Notation::Decimal),
            _ => match BINARY.iter().find(|(name, _)| *name == suffix) {
                Some((_, factor)) => (NANOS.checked_mul(*factor)?, Notation::Binary),
                None => (exponent(suffix)?, Notation::Decimal),
            },
        };
        let nanos = decimal(number, scale)?;
        Some(Self {
            nanos,
            notation: Some(notation),
        })
    }

    /// The sum, in the notation of the first that is not 0.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            notation: if self.nanos == 0 { other.notation } else { self.notation },
        }
    }

    /// What is left; below zero when more is taken than is there.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            notation: self.notation,
        }
    }

    /// How many grains of this size it is, the last one begun counting as a whole one, as Kubernetes rounds.
    #[must_use]
    pub fn grains(self, grain: Grain) -> i128 {
        let size = grain.nanos();
        self.nanos.div_euclid(size) + i128::from(self.nanos.rem_euclid(size) != 0)
    }

    /// The larger one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other.nanos > self.nanos { other } else { self }
    }

    /// The next amount of this grain that is not less, in this notation.
    #[must_use]
    pub fn in_grains(self, grain: Grain, notation: Notation) -> Self {
        Self {
            nanos: self.grains(grain).saturating_mul(grain.nanos()),
            notation: Some(notation),
        }
    }

    /// Whether there is any.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// As Kubernetes writes it.
    #[must_use]
    pub fn write(self) -> Quantity {
        let whole = self.nanos / NANOS;
        if self.notation == Some(Notation::Binary) && self.nanos % NANOS == 0 && whole.abs() >= 1024 {
            let fits = BINARY.iter().find(|(_, factor)| whole % factor == 0);
            let (suffix, factor) = fits.copied().unwrap_or(("", 1));
            return Quantity(format!("{}{suffix}", whole / factor));
        }
        if self.nanos == 0 {
            return Quantity("0".to_owned());
        }
        let fits = DECIMAL.iter().find(|(_, factor)| self.nanos % factor == 0);
        let (suffix, factor) = fits.copied().unwrap_or(("n", 1));
        Quantity(format!("{}{suffix}", self.nanos / factor))
    }
}

/// `e3`, `E-3`.
fn exponent(suffix: &str) -> Option<i128> {
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = u32::try_from(power + 9).ok().filter(|p| *p <= 36)?;
    Some(10_i128.pow(power))
}

/// `number × scale`, with a fraction rounded up to a billionth.
fn decimal(number: &str, scale: i128) -> Option<i128> {
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.len() > 18 {
        return None;
    }
    let digits_only = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits_only(whole) || !digits_only(fraction) {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(scale)?;
    if !fraction.is_empty() {
        let divisor = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
        let part = fraction.parse::<i128>().ok()?.checked_mul(scale)?;
        nanos = nanos.checked_add(part / divisor + i128::from(part % divisor != 0))?;
    }
    Some(if negative { -nanos } else { nanos })
}

/// A quantity as a plain number, for metrics.
#[must_use]
pub fn as_number(quantity: &Quantity) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "metrics are floating point numbers")]
    Amount::read(quantity).map(|amount| amount.nanos as f64 / NANOS as f64)
}

/// Amounts by resource name.
pub type Amounts = BTreeMap<String, Amount>;

/// Adds what can be read of `quantities`.
pub fn add(amounts: &mut Amounts, quantities: &BTreeMap<String, Quantity>) {
    for (name, quantity) in quantities {
        if let Some(amount) = Amount::read(quantity) {
            let sum = amounts.entry(name.clone()).or_insert(Amount::ZERO);
            *sum = sum.plus(amount);
        }
    }
}

/// The amounts as a status holds them.
#[must_use]
pub fn write(amounts: &Amounts) -> BTreeMap<String, Quantity> {
    amounts
        .iter()
        .map(|(name, amount)| (name.clone(), amount.write()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case(&["100m", "1900m"], "2")]
    #[case(&["100m", "50m"], "150m")]
    #[case(&["1Gi", "512Mi"], "1536Mi")]
    #[case(&["1Gi", "1Gi"], "2Gi")]
    #[case(&["1.5Gi"], "1536Mi")]
    #[case(&["1Gi", "1000"], "1073742824")]
    #[case(&["1e3", "2k"], "3k")]
    #[case(&["110", "890"], "1k")]
    #[case(&["1u"], "1u")]
    #[case(&["1500n", "500n"], "2u")]
    #[case(&["0", "0Ki"], "0")]
    #[case(&["0", "2Ki"], "2Ki")]
    #[case(&["512", "512"], "1024")]
    #[case(&["512", "1Ki"], "1536")]
    fn sums(#[case] summands: &[&str], #[case] expected: &str) {
        let sum = summands.iter().fold(Amount::ZERO, |sum, text| {
            sum.plus(Amount::read(&Quantity((*text).to_owned())).unwrap())
        });
        assert_eq!(sum.write().0, expected);
    }

    #[rstest]
    #[case("1500u", Grain::Thousandth, Notation::Decimal, "2m")]
    #[case("100m", Grain::Thousandth, Notation::Decimal, "100m")]
    #[case("1500m", Grain::Whole, Notation::Binary, "2")]
    #[case("1Gi", Grain::Whole, Notation::Binary, "1Gi")]
    #[case("2048", Grain::Whole, Notation::Binary, "2Ki")]
    #[case("1000", Grain::Whole, Notation::Decimal, "1k")]
    fn grains(#[case] text: &str, #[case] grain: Grain, #[case] notation: Notation, #[case] expected: &str) {
        let amount = Amount::read(&Quantity(text.to_owned())).unwrap();
        assert_eq!(amount.in_grains(grain, notation).write().0, expected);
    }

    #[rstest]
    #[case("2", "500m", Grain::Thousandth, 1500)]
    #[case("1Gi", "512Mi", Grain::Whole, 512 << 20)]
    #[case("1", "1500m", Grain::Thousandth, -500)]
    #[case("1", "100m", Grain::Whole, 1)]
    fn differences(#[case] from: &str, #[case] taken: &str, #[case] grain: Grain, #[case] expected: i128) {
        let read = |text: &str| Amount::read(&Quantity(text.to_owned())).unwrap();
        assert_eq!(read(from).minus(read(taken)).grains(grain), expected);
    }

    #[rstest]
    #[case("")]
    #[case("x")]
    #[case("1.2.3")]
    #[case("1Zi")]
    #[case("--1")]
    #[case("999999999999999999999999999999999999Ei")]
    fn what_is_no_quantity(#[case] text: &str) {
        assert_eq!(Amount::read(&Quantity(text.to_owned())), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".*") {
            if let Some(amount) = Amount::read(&Quantity(text)) {
                let again = Amount::read(&amount.write());
                prop_assert_eq!(again.map(|again| again.nanos), Some(amount.nanos));
            }
        }
    }
}
