//! What could not be interpreted, said where people look: in the condition `Interpreted` of Works and bindings.
//!
//! Guarantee: the condition is there only since something could not be interpreted, and says True when nothing of it is known to this
//! process any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::BindingKey;
use api_types::conditions::{self, Say};
use api_types::work::Work;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use parking_lot::Mutex;

use crate::binding::reconcile::cluster_of;
use crate::binding::unwritten::in_short;
use crate::interpreter::InterpretError;

/// Condition types beside those of the API.
pub mod condition {
    /// Whether the objects could be interpreted: their health, status, replicas and dependencies.
    pub const INTERPRETED: &str = "Interpreted";
}

/// Reason: the replicas of a template could not be counted.
pub const GET_REPLICAS: &str = "GetReplicasFailed";
/// Reason: what a template needs could not be told.
pub const GET_DEPENDENCIES: &str = "GetDependenciesFailed";
/// Reason: the statuses of the copies could not be made one.
pub const AGGREGATE_STATUS: &str = "AggregateStatusFailed";
/// Reason: whether a copy works could not be told.
pub const INTERPRET_HEALTH: &str = "InterpretHealthFailed";
/// Reason: the status of a copy could not be read.
pub const REFLECT_STATUS: &str = "ReflectStatusFailed";

/// Something that could not be interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// One word.
    pub reason: String,
    /// What is wrong.
    pub words: String,
}

impl Trouble {
    /// Of an error.
    #[must_use]
    pub fn new(reason: &str, error: &InterpretError) -> Self {
        Self {
            reason: reason.to_owned(),
            words: error.to_string(),
        }
    }
}

/// Says it. Returns whether that is news.
pub fn say(all: &mut Vec<Condition>, troubles: &[Trouble], now: Timestamp) -> bool {
    let said = conditions::get(all, condition::INTERPRETED);
    let message;
    let say = match (troubles, said) {
        ([], None) => return false,
        ([], Some(_)) => Say {
            type_: condition::INTERPRETED,
            status: "True",
            reason: "Interpreted",
            message: "",
        },
        ([first, others @ ..], _) => {
            message = match others.len() {
                0 => in_short(&first.words),
                more => format!("{}; and {more} more", in_short(&first.words)),
            };
            Say {
                type_: condition::INTERPRETED,
                status: "False",
                reason: &first.reason,
                message: &message,
            }
        }
    };
    conditions::set(all, say, None, now)
}

/// What is said of a binding's Works, each with its cluster.
pub fn of_works(works: &[Arc<Work>]) -> Vec<Trouble> {
    let of = |work: &Arc<Work>| {
        let said = conditions::get(&work.status.as_ref()?.conditions, condition::INTERPRETED)?;
        let cluster =
            cluster_of(work).filter(|_| said.status == "False" && work.metadata.deletion_timestamp.is_none())?;
        let words = format!("cluster {cluster}: {}", said.message);
        Some((cluster, said.reason.clone(), words))
    };
    let mut all: Vec<_> = works.iter().filter_map(of).collect();
    all.sort();
    let trouble = |(_, reason, words)| Trouble { reason, words };
    all.into_iter().map(trouble).collect()
}

/// Templates that could not be interpreted, by their bindings: known to `detector` and `dependencies`, said by
/// `bindingStatus`. The controllers of one process share it.
#[derive(Clone, Default)]
pub struct Misread {
    inner: Arc<Inner>,
}

type Listener = Box<dyn Fn(&BindingKey) + Send + Sync>;

#[derive(Default)]
struct Inner {
    known: Mutex<BTreeMap<BindingKey, BTreeMap<&'static str, Trouble>>>,
    listener: Mutex<Option<Listener>>,
}

impl Misread {
    /// Calls `listener` with each binding of which there is other news. It must not block.
    pub fn listen(&self, listener: impl Fn(&BindingKey) + Send + Sync + 'static) {
        *self.inner.listener.lock() = Some(Box::new(listener));
    }

    /// How a question about the template of a binding ended.
    pub fn note(&self, key: &BindingKey, reason: &'static str, error: Option<&InterpretError>) {
        let is_news = {
            let mut known = self.inner.known.lock();
            match error {
                Some(error) => {
                    let trouble = Trouble::new(reason, error);
                    let of_binding = known.entry(key.clone()).or_default();
                    of_binding.insert(reason, trouble.clone()) != Some(trouble)
                }
                None => {
                    let of_binding = known.get_mut(key);
                    let was = of_binding.and_then(|of_binding| of_binding.remove(reason));
                    if known.get(key).is_some_and(BTreeMap::is_empty) {
                        known.remove(key);
                    }
                    was.is_some()
                }
            }
        };
        if is_news && let Some(listener) = &*self.inner.listener.lock() {
            listener(key);
        }
    }

    /// The binding is gone.
    pub fn forget(&self, key: &BindingKey) {
        self.inner.known.lock().remove(key);
    }

    /// What is known of a binding's template.
    #[must_use]
    pub fn of(&self, key: &BindingKey) -> Vec<Trouble> {
        let known = self.inner.known.lock();
        known.get(key).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    fn trouble(words: &str) -> Trouble {
        Trouble {
            reason: INTERPRET_HEALTH.to_owned(),
            words: words.to_owned(),
        }
    }

    #[test]
    fn it_is_said_since_something_was_wrong() {
        let (mut all, now) = (Vec::new(), Timestamp::UNIX_EPOCH);
        assert!(!say(&mut all, &[], now), "nothing is said of what is fine");
        assert!(all.is_empty());
        assert!(say(&mut all, &[trouble("line 1: broken")], now));
        assert!(!say(&mut all, &[trouble("line 1: broken")], now));
        assert!(say(&mut all, &[trouble("line 2: broken"), trouble("x")], now));
        assert_eq!(all[0].message, "line 2: broken; and 1 more");
        assert!(say(&mut all, &[], now));
        assert_eq!(
            (all[0].status.as_str(), all[0].reason.as_str()),
            ("True", "Interpreted")
        );
        assert!(!say(&mut all, &[], now));
    }

    #[test]
    fn of_works_those_that_stay_count() {
        let work = |cluster: &str, status: &str| -> Work {
            serde_json::from_value(
                json!({"metadata": {"namespace": format!("karmada-es-{cluster}"), "name": "w"}, "spec": {},
                "status": {"conditions": [{"type": "Interpreted", "status": status, "reason": "R", "message": "why",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
            )
            .unwrap()
        };
        let mut leaving = work("m0", "False");
        leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            Timestamp::UNIX_EPOCH,
        ));
        let works = [leaving, work("m3", "False"), work("m2", "False"), work("m1", "True")].map(Arc::new);
        let words: Vec<String> = of_works(&works).into_iter().map(|trouble| trouble.words).collect();
        assert_eq!(words, ["cluster m2: why", "cluster m3: why"]);
    }

    #[test]
    fn what_is_misread_is_told_once_and_its_end_too() {
        let misread = Misread::default();
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        misread.listen(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let heard = || told.load(Ordering::Relaxed);
        let key = BindingKey::namespaced("shop", "gear-widget");
        let error = InterpretError::new("count the replicas of", &json!({"kind": "Widget"}), "line 1: broken");
        misread.note(&key, GET_REPLICAS, None);
        assert_eq!(heard(), 0);
        misread.note(&key, GET_REPLICAS, Some(&error));
        misread.note(&key, GET_REPLICAS, Some(&error));
        misread.note(&key, GET_DEPENDENCIES, Some(&error));
        assert_eq!((heard(), misread.of(&key).len()), (2, 2));
        misread.note(&key, GET_REPLICAS, None);
        misread.note(&key, GET_DEPENDENCIES, None);
        assert_eq!((heard(), misread.of(&key).len()), (4, 0));
        assert!(misread.inner.known.lock().is_empty());
    }
}
