//! How many entries of a lane each kind has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::TemplateRef;
use super::lane::Step;

/// Counts by API version and kind. None is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct KindCounts(BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>>);

impl KindCounts {
    /// An entry of this template comes or goes. Nothing is allocated for a kind that is known.
    pub fn count(&mut self, template: &TemplateRef, step: Step) {
        match step {
            Step::In => self.add(template),
            Step::Out => self.subtract(template),
        }
    }

    fn add(&mut self, template: &TemplateRef) {
        let known = self.0.get_mut(&template.api_version);
        if let Some(count) = known.and_then(|kinds| kinds.get_mut(&template.kind)) {
            *count += 1;
            return;
        }
        let kinds = self.0.entry(template.api_version.clone()).or_default();
        kinds.insert(template.kind.clone(), 1);
    }

    fn subtract(&mut self, template: &TemplateRef) {
        let Some(kinds) = self.0.get_mut(&template.api_version) else {
            return;
        };
        let Some(count) = kinds.get_mut(&template.kind) else {
            return;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            kinds.remove(&template.kind);
            if kinds.is_empty() {
                self.0.remove(&template.api_version);
            }
        }
    }

    /// Each `apiVersion/Kind` with its count, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (String, usize)> {
        self.0.iter().flat_map(|(api_version, kinds)| {
            kinds
                .iter()
                .map(move |(kind, count)| (format!("{api_version}/{kind}"), *count))
        })
    }
}
