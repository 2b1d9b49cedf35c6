//! How many tests passed and failed, read off libtest's output.

use std::ops::Add;

/// A count of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Those that hold.
    pub passed: u64,
    /// Those that do not.
    pub failed: u64,
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
        }
    }
}

impl Totals {
    /// The sum over the closing lines of all test programs: `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
    pub fn of_libtest(lines: &[String]) -> Self {
        lines
            .iter()
            .filter_map(|line| closing_line(line))
            .fold(Self::default(), Add::add)
    }
}

/// The tests whose lines say `test NAME ... FAILED`.
pub fn failed_tests(lines: &[String]) -> Vec<String> {
    let name = |line: &String| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    lines.iter().filter_map(name).collect()
}

fn closing_line(line: &str) -> Option<Totals> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| {
        let counted = counts.split(';').find_map(|part| part.trim().strip_suffix(what))?;
        counted.trim().parse().ok()
    };
    Some(Totals {
        passed: count("passed")?,
        failed: count("failed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_failed_are_found_by_name() {
        let lines = [
            "test a::b ... ok",
            "test a::c ... FAILED",
            "test result: FAILED. 1 passed; 1 failed",
        ];
        assert_eq!(failed_tests(&lines.map(str::to_owned)), ["a::c"]);
    }

    #[test]
    fn closing_lines_are_summed() {
        let lines = [
            "running 6 tests",
            "test it_works ... ok",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: nonsense",
        ];
        assert_eq!(
            Totals::of_libtest(&lines.map(str::to_owned)),
            Totals { passed: 15, failed: 2 }
        );
    }
}
