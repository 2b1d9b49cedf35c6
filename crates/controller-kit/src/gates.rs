//! `--feature-gates`.
//!
//! Guarantees: only known gates are accepted, every problem is reported at once, and a gate that no longer has an
//! effect is accepted with a warning, so that a command line written for Karmada keeps working.

use std::collections::BTreeMap;

/// A switch with an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// Off: no cluster causes a move, ever. Default off, as in Karmada.
    Failover,
}

impl Gate {
    /// All gates with an effect.
    pub const ALL: [Self; 1] = [Self::Failover];

    /// The name as written in the flag.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failover => "Failover",
        }
    }

    /// The value when the flag does not name it.
    #[must_use]
    pub const fn default_value(self) -> GateValue {
        match self {
            Self::Failover => GateValue::Disabled,
        }
    }
}

/// The two positions of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateValue {
    /// `true`
    Enabled,
    /// `false`
    Disabled,
}

/// Gates that are accepted without effect, with what to say about each.
const RETIRED: [(&str, &str); 1] = [(
    "GracefulEviction",
    "feature gate GracefulEviction has no effect: graceful eviction is always on; remove it from --feature-gates",
)];

/// The position of every gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureGates {
    values: BTreeMap<Gate, GateValue>,
}

/// What is wrong with `--feature-gates`, all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--feature-gates: {}; known gates are {}", problems.join("; "), known_gates().join(", "))]
pub struct GateError {
    /// One sentence each.
    pub problems: Vec<String>,
}

fn known_gates() -> Vec<&'static str> {
    Gate::ALL
        .iter()
        .map(|gate| gate.name())
        .chain(RETIRED.iter().map(|(name, _)| *name))
        .collect()
}

impl FeatureGates {
    /// Every gate at its default.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            values: Gate::ALL.into_iter().map(|gate| (gate, gate.default_value())).collect(),
        }
    }

    /// Reads `Name=true` and `Name=false` items; a later one wins. The second value holds warnings about gates
    /// without effect.
    ///
    /// # Errors
    /// [`GateError`] for unknown gates and for values that are neither `true` nor `false`.
    pub fn parse(items: &[String]) -> Result<(Self, Vec<String>), GateError> {
        let mut gates = Self::defaults();
        let mut warnings = Vec::new();
        let mut problems = Vec::new();
        for item in items.iter().map(|item| item.trim()).filter(|item| !item.is_empty()) {
            let Some((name, value)) = item.split_once('=') else {
                problems.push(format!("{item:?} is not of the form NAME=true or NAME=false"));
                continue;
            };
            let value = match value.trim() {
                "true" | "True" | "TRUE" | "t" | "1" => GateValue::Enabled,
                "false" | "False" | "FALSE" | "f" | "0" => GateValue::Disabled,
                other => {
                    problems.push(format!("{name} is {other:?}, which is neither true nor false"));
                    continue;
                }
            };
            let name = name.trim();
            if let Some(gate) = Gate::ALL.into_iter().find(|gate| gate.name() == name) {
                gates.values.insert(gate, value);
            } else if let Some((_, warning)) = RETIRED.iter().find(|(retired, _)| *retired == name) {
                warnings.push((*warning).to_owned());
            } else {
                problems.push(format!("unknown gate {name:?}"));
            }
        }
        if problems.is_empty() {
            Ok((gates, warnings))
        } else {
            Err(GateError { problems })
        }
    }

    /// Reads what [`Display`](std::fmt::Display) wrote, maybe in another version of this program, which may have had more
    /// gates: those that are not known here are left out.
    ///
    /// # Errors
    /// [`GateError`] when what is said of a gate that is known here cannot be read.
    pub fn parse_known(text: &str) -> Result<Self, GateError> {
        let is_known = |item: &str| {
            let name = item.split_once('=').map(|(name, _)| name.trim());
            name.is_none_or(|name| Gate::ALL.iter().any(|gate| gate.name() == name))
        };
        let items: Vec<String> = text
            .split(',')
            .filter(|item| is_known(item))
            .map(str::to_owned)
            .collect();
        Self::parse(&items).map(|(gates, _)| gates)
    }

    /// Whether the gate is on.
    #[must_use]
    pub fn enabled(&self, gate: Gate) -> bool {
        self.values.get(&gate) == Some(&GateValue::Enabled)
    }

    /// The same gates with one of them set.
    #[must_use]
    pub fn with(mut self, gate: Gate, value: GateValue) -> Self {
        self.values.insert(gate, value);
        self
    }
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self::defaults()
    }
}

impl std::fmt::Display for FeatureGates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (gate, value)) in self.values.iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            write!(f, "{separator}{}={}", gate.name(), *value == GateValue::Enabled)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn parse(flag: &str) -> Result<(FeatureGates, Vec<String>), GateError> {
        FeatureGates::parse(&flag.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[rstest]
    #[case("", "Failover=false")]
    #[case("Failover=true", "Failover=true")]
    #[case(" Failover = true ", "Failover=true")]
    #[case("Failover=false", "Failover=false")]
    #[case("Failover=true,Failover=false", "Failover=false")]
    fn values(#[case] flag: &str, #[case] expected: &str) {
        let (gates, warnings) = parse(flag).unwrap();
        assert_eq!(gates.to_string(), expected);
        assert!(warnings.is_empty());
    }

    #[test]
    fn graceful_eviction_is_accepted_with_a_warning() {
        let (gates, warnings) = parse("GracefulEviction=false,Failover=true").unwrap();
        assert!(gates.enabled(Gate::Failover));
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("no effect"), "{warnings:?}");
    }

    #[test]
    fn all_problems_at_once() {
        assert_eq!(
            parse("Failovr=true,Failover,Failover=maybe").unwrap_err().to_string(),
            "--feature-gates: unknown gate \"Failovr\"; \"Failover\" is not of the form NAME=true or NAME=false; \
             Failover is \"maybe\", which is neither true nor false; known gates are Failover, GracefulEviction"
        );
    }
}
