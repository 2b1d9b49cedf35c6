//! What is wrong with the form of a scrape, as `promtool check metrics` sees it.

use std::collections::{BTreeMap, BTreeSet};

/// One sentence for each family without help or type, with a name that belongs to a part of a histogram, and for each
/// series that is there twice; empty = the text is well formed.
#[must_use]
pub fn complaints(text: &str) -> Vec<String> {
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut helps: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            if !help.trim().is_empty() {
                helps.insert(name);
            }
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
            && types.insert(name, kind).is_some()
        {
            found.push(format!("{name} is declared twice"));
        }
    }
    for name in types.keys() {
        if !helps.contains(name) {
            found.push(format!("{name} has no help"));
        }
        if ["_sum", "_count", "_bucket"].iter().any(|part| name.ends_with(part)) {
            found.push(format!("{name} is the name of a part of a histogram"));
        }
    }
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let series = line.rsplit_once(' ').map_or(line, |(series, _)| series);
        if !seen.insert(series) {
            found.push(format!("{series} is there twice"));
        }
        let name = series.split('{').next().unwrap_or(series);
        let histogram = ["_sum", "_count", "_bucket"]
            .iter()
            .filter_map(|part| name.strip_suffix(part))
            .any(|family| matches!(types.get(family), Some(&("histogram" | "summary"))));
        if !histogram && !types.contains_key(name) {
            found.push(format!("{name} has no type"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_promtool_would_say() {
        let text = "# TYPE a_total counter\na_total 1\na_total 2\n\
                    # HELP b_seconds_sum Sum.\n# TYPE b_seconds_sum counter\nb_seconds_sum 1\nc 1\n";
        assert_eq!(
            complaints(text),
            [
                "a_total has no help",
                "b_seconds_sum is the name of a part of a histogram",
                "a_total is there twice",
                "c has no type",
            ]
        );
    }
}
