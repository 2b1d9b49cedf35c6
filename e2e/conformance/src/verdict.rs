//! Whether the differences found are those that are listed.

use std::fmt;

use crate::difference::Difference;
use crate::operation::{Known, Operation};

/// Something that is not as the table says.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The servers differ, and nobody said so.
    Unlisted(Difference),
    /// The servers no longer differ here: the entry is to be taken out of the table.
    Gone {
        /// The place that the table names.
        at: &'static str,
        /// The difference that it names.
        known: Known,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlisted(difference) => write!(f, "differs at {difference}"),
            Self::Gone { at, known } => write!(f, "no longer differs at {at:?}: take out \"{}\"", known.what),
        }
    }
}

/// Compares what was found with what is listed.
#[must_use]
pub fn judge(operation: &Operation, found: Vec<Difference>) -> Vec<Finding> {
    let below = |place: &str, at: &str| {
        place
            .strip_prefix(at)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let gone = operation
        .known
        .iter()
        .filter(|(at, _)| !found.iter().any(|difference| below(&difference.at, at)))
        .map(|(at, known)| Finding::Gone { at, known: *known });
    let mut findings: Vec<Finding> = gone.collect();
    findings.extend(
        found
            .into_iter()
            .filter(|difference| !operation.known.iter().any(|(at, _)| below(&difference.at, at)))
            .map(Finding::Unlisted),
    );
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Finding, judge};
    use crate::{Known, differences, get};

    const WORDS: Known = Known {
        what: "words",
        why: "taste",
    };

    #[test]
    fn unlisted_differences_and_listed_ones_that_are_gone_are_findings() {
        let operation = get("x", "/").differs("/body/message", WORDS).differs("/code", WORDS);
        let found = differences(
            &json!({"code": 1, "body": {"message": "a", "messages": 1}}),
            &json!({"code": 1, "body": {"message": "b", "messages": 2}}),
        );
        let findings = judge(&operation, found);
        assert_eq!(
            findings[0],
            Finding::Gone {
                at: "/code",
                known: WORDS
            }
        );
        assert!(
            matches!(&findings[1], Finding::Unlisted(d) if d.at == "/body/messages"),
            "{findings:?}"
        );
        assert_eq!(findings.len(), 2);
    }
}
