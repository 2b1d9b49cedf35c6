//! One number for many.

/// The median, of at least one; of an even number the higher of the two in the middle.
#[must_use]
pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// The 99th percentile, of at least one.
#[must_use]
pub fn p99(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[(of.len() * 99).div_ceil(100) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(to: u32) -> Vec<f64> {
        (1..=to).rev().map(f64::from).collect()
    }

    #[test]
    fn the_middle_and_the_end() {
        let equal = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        equal(median(numbers(1)), 1.0);
        equal(median(numbers(9)), 5.0);
        equal(p99(numbers(1)), 1.0);
        equal(p99(numbers(100)), 99.0);
        equal(p99(numbers(300)), 297.0);
    }
}
