//! Findings as the API server hands them on to whoever wrote the object: in a refusal, and in `Warning` headers.

use crate::lint::Finding;

/// The most characters of one warning: API servers cut longer ones.
pub const MAX_WARNING: usize = 256;
/// The most warnings: what comes after them is counted.
pub const MAX_WARNINGS: usize = 12;
/// The most findings that a refusal names.
const MAX_REASONS: usize = 8;

/// Why an object is refused, in a text; empty without findings.
#[must_use]
pub fn refusal(findings: &[Finding]) -> String {
    let told: Vec<String> = findings.iter().take(MAX_REASONS).map(in_full).collect();
    match findings.len().saturating_sub(MAX_REASONS) {
        0 => told.join(". "),
        more => format!("{}. And {more} more", told.join(". ")),
    }
}

/// The findings as warnings.
#[must_use]
pub fn warnings(findings: &[Finding]) -> Vec<String> {
    let mut told: Vec<String> = findings.iter().take(MAX_WARNINGS).map(warning).collect();
    let more = findings.len().saturating_sub(MAX_WARNINGS);
    if more > 0 {
        told.push(format!("and {more} more: failoverctl lint FILE shows all"));
    }
    told
}

/// All that is known; what follows from it goes first when there is no room, then the rest is cut.
fn warning(finding: &Finding) -> String {
    let full = in_full(finding);
    if full.chars().count() <= MAX_WARNING {
        return full;
    }
    let Finding { code, what, fix, .. } = finding;
    let shorter = clean(&format!("{code}: {}{what}; {fix}", place(finding)));
    if shorter.chars().count() <= MAX_WARNING {
        return shorter;
    }
    let kept: String = shorter.chars().take(MAX_WARNING - 3).collect();
    format!("{kept}...")
}

fn in_full(finding: &Finding) -> String {
    let Finding {
        code, what, why, fix, ..
    } = finding;
    clean(&format!("{code}: {}{what}: {why}; {fix}", place(finding)))
}

fn place(finding: &Finding) -> String {
    match finding.field.as_str() {
        "" => String::new(),
        field => format!("{field}: "),
    }
}

/// A header has no line breaks, and a terminal obeys control characters.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
