//! Whether a process is ready, and if not, what it waits for.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;
type Notes = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Named checks of one process. Clones are the same set.
#[derive(Clone, Default)]
pub struct Readiness {
    checks: Arc<Mutex<BTreeMap<String, Check>>>,
    notes: Arc<Mutex<Vec<Notes>>>,
}

impl Readiness {
    /// Adds a check; the error says what is missing. The same name again replaces the earlier check.
    pub fn check(&self, name: impl Into<String>, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.checks.lock().insert(name.into(), Arc::new(check));
    }

    /// Ends a check.
    pub fn remove(&self, name: &str) {
        self.checks.lock().remove(name);
    }

    /// Adds what a reader should know, ready or not; each in one line.
    pub fn note(&self, notes: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        self.notes.lock().push(Arc::new(notes));
    }

    /// What a reader should know now, ready or not.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let notes = self.notes.lock().clone();
        notes.iter().flat_map(|notes| notes()).collect()
    }

    /// What is not ready, as `name: what is missing`, ordered by name; empty = ready.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let checks: Vec<(String, Check)> = self
            .checks
            .lock()
            .iter()
            .map(|(name, check)| (name.clone(), check.clone()))
            .collect();
        checks
            .iter()
            .filter_map(|(name, check)| check().err().map(|why| format!("{name}: {why}")))
            .collect()
    }
}

impl std::fmt::Debug for Readiness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Readiness").field(&self.missing()).finish()
    }
}
