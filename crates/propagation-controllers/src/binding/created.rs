//! Works that were created and that the store does not show yet.
//!
//! A store lags behind the controller's own writes. Until it shows a Work that was just created, or for so long as that
//! may take, the Work is not created again: the API server would only refuse it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::work::Work;
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a store may lag behind. A Work that it does not show then went before it was ever shown.
const LAG: Duration = Duration::from_secs(2);

type Name = (String, String);

/// Works on their way into the store, by namespace and name.
#[derive(Debug, Default)]
pub struct Created {
    until: Mutex<BTreeMap<Name, Instant>>,
}

impl Created {
    /// A Work was created.
    pub fn note(&self, work: &Work) {
        let now = Instant::now();
        let mut until = self.until.lock();
        // What came to nothing is kept no longer than that.
        until.retain(|_, end| *end > now);
        until.insert(name(work), now + LAG);
    }

    /// The store shows these.
    pub fn shown(&self, works: &[Arc<Work>]) {
        let mut until = self.until.lock();
        if !until.is_empty() {
            works.iter().for_each(|work| {
                until.remove(&name(work));
            });
        }
    }

    /// How long a Work of this name may still be on its way; absent: it is not.
    pub fn on_its_way(&self, work: &Work) -> Option<Duration> {
        let until = self.until.lock().get(&name(work)).copied()?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

fn name(work: &Work) -> Name {
    (work.namespace().unwrap_or_default(), work.name_any())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(name: &str) -> Work {
        let mut work = Work::new(name, Default::default());
        work.metadata.namespace = Some("karmada-es-m1".to_owned());
        work
    }

    #[tokio::test(start_paused = true)]
    async fn a_work_is_on_its_way_until_it_is_shown_or_too_late() {
        let created = Created::default();
        created.note(&work("a"));
        created.note(&work("b"));
        assert_eq!(created.on_its_way(&work("a")), Some(LAG));
        assert_eq!(created.on_its_way(&work("c")), None);
        created.shown(&[Arc::new(work("a"))]);
        assert_eq!(created.on_its_way(&work("a")), None, "it arrived");
        tokio::time::advance(LAG).await;
        assert_eq!(created.on_its_way(&work("b")), None, "it went before it was shown");
        created.note(&work("d"));
        assert_eq!(created.until.lock().len(), 1, "nothing is kept of what went");
    }
}
