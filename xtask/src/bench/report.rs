//! A line for each row: name, value, bar, whether it holds, and on which machine.

use anyhow::Result;
use serde_json::{Value, json};

use super::machine::Machine;
use super::{Bar, Row};

/// A row and what became of it.
pub struct Measured {
    name: &'static str,
    unit: &'static str,
    bar: Bar,
    value: Result<f64>,
}

impl Measured {
    /// The row with its value, or with what kept it from having one.
    pub fn new(row: &Row, value: Result<f64>) -> Self {
        Self {
            name: row.name,
            unit: row.unit,
            bar: row.bar,
            value,
        }
    }

    /// Whether the promise is kept; what could not be measured is not.
    pub fn holds(&self) -> bool {
        self.value.as_ref().is_ok_and(|value| self.bar.holds(*value))
    }

    fn verdict(&self) -> &'static str {
        if self.holds() { "holds" } else { "falls short" }
    }

    /// Name, value, bar, whether it holds, and on which machine.
    pub fn line(&self, machine: &Machine) -> String {
        let value = match &self.value {
            Ok(value) => format!("{value:.3} {}", self.unit),
            Err(error) => format!("not measured ({})", one_line(error)),
        };
        let sign = match self.bar {
            Bar::AtMost(_) => "≤",
            Bar::AtLeast(_) => "≥",
        };
        let bar = format!("{sign} {} {}", self.bar.value(), self.unit);
        format!(
            "{:<72} {value:>20} {bar:>18}  {:<11}  {machine}",
            self.name,
            self.verdict()
        )
    }

    fn json(&self) -> Value {
        let bar = match self.bar {
            Bar::AtMost(bar) => json!({"atMost": bar}),
            Bar::AtLeast(bar) => json!({"atLeast": bar}),
        };
        json!({
            "name": self.name,
            "value": self.value.as_ref().ok(),
            "unit": self.unit,
            "bar": bar,
            "verdict": self.verdict(),
            "error": self.value.as_ref().err().map(|error| format!("{error:#}")),
        })
    }
}

/// What a command had to say may have many lines; a row is one.
fn one_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" | ")
}

/// All of them as one document.
pub fn document(measured: &[Measured], machine: &Machine) -> Value {
    let rows: Vec<Value> = measured.iter().map(Measured::json).collect();
    json!({
        "machine": {"processors": machine.processors, "model": machine.model},
        "rows": rows,
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn measured(value: Result<f64>) -> Measured {
        let row = Row {
            name: "a promise",
            unit: "ms",
            bar: Bar::AtMost(1.0),
            measure: |_| Ok(0.0),
        };
        Measured::new(&row, value)
    }

    fn machine() -> Machine {
        Machine {
            processors: 2,
            model: "X".to_owned(),
        }
    }

    #[test]
    fn a_line_says_all_of_it() {
        let line = measured(Ok(0.25)).line(&machine());
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            ["a", "promise", "0.250", "ms", "≤", "1", "ms", "holds", "2", "×", "X"]
        );
        let line = measured(Ok(1.5)).line(&machine());
        assert!(line.contains("falls short"), "{line}");
    }

    #[test]
    fn more_is_better_where_the_bar_is_a_lower_one() {
        let row = |value| Measured {
            bar: Bar::AtLeast(500_000.0),
            ..measured(Ok(value))
        };
        assert!(row(500_000.0).holds() && !row(499_999.0).holds() && !row(f64::NAN).holds());
        assert!(row(600_000.0).line(&machine()).contains("≥ 500000 ms"));
        assert_eq!(row(1.0).json()["bar"]["atLeast"], 500_000.0);
    }

    #[test]
    fn what_was_not_measured_falls_short_and_says_why() {
        let failed = measured(Err(anyhow!("no compiler")));
        assert!(!failed.holds());
        assert!(failed.line(&machine()).contains("not measured (no compiler)"));
        let failed = measured(Err(anyhow!("it ended\n\n  alas")));
        assert!(failed.line(&machine()).contains("not measured (it ended | alas)"));
        assert!(!measured(Ok(f64::NAN)).holds());
    }

    #[test]
    fn the_document_holds_the_same() {
        let document = document(&[measured(Ok(1.0)), measured(Err(anyhow!("no")))], &machine());
        assert_eq!(document["machine"]["processors"], 2);
        assert_eq!(document["rows"][0]["verdict"], "holds");
        assert_eq!(document["rows"][1]["value"], Value::Null);
        assert_eq!(document["rows"][1]["error"], "no");
    }
}
