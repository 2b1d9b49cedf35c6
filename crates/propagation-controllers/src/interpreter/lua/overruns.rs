//! Who has spent a script's budget of late.
//!
//! Guarantees: one object that is too much for a script does not keep it from the others; a script that is too much for
//! several objects keeps nobody waiting for long.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::ScriptError;

/// So many calls in a row that spent their budget, and the object rests.
const IN_A_ROW: u32 = 3;
/// So many objects whose last call spent its budget, and the script rests for all.
const OBJECTS: usize = 4;
/// How long an object or a script rests.
pub const REST: Duration = Duration::from_secs(30);
/// How long an object counts: its next try comes after its rest.
const COUNTS_FOR: Duration = Duration::from_secs(60);

/// Objects whose last call spent its budget. There are never many: the script rests then.
#[derive(Debug, Default)]
pub struct Overruns {
    objects: BTreeMap<String, OfObject>,
    all_rest_until: Option<Instant>,
}

#[derive(Debug)]
struct OfObject {
    in_a_row: u32,
    last: Instant,
    error: ScriptError,
}

impl Overruns {
    /// Why the script is not asked about `object` now, if it is not. As long as nothing else is known of an object the words
    /// are the same, or what is said of it would be written anew with each try.
    pub fn rests(&self, object: &str, now: Instant) -> Option<ScriptError> {
        let known = self.objects.get(object);
        let all_rest = self.all_rest_until.is_some_and(|until| now < until);
        let rests = |known: &OfObject| known.in_a_row >= IN_A_ROW && now < known.last + REST;
        match known {
            Some(known) if all_rest || rests(known) => Some(known.error.clone()),
            None if all_rest => Some(ScriptError {
                line: None,
                problem: format!(
                    "takes more than it may for several objects; it is tried again every {} s, and when the script changes",
                    REST.as_secs()
                ),
                exhausted: true,
            }),
            Some(_) | None => None,
        }
    }

    /// A call about `object` has ended; `exhausted` says how, if it spent its budget.
    pub fn remember(&mut self, object: &str, exhausted: Option<&ScriptError>, now: Instant) {
        let Some(error) = exhausted else {
            self.objects.remove(object);
            return;
        };
        self.objects
            .retain(|_, known| now.duration_since(known.last) <= COUNTS_FOR);
        let before = self.objects.get(object).map_or(0, |known| known.in_a_row);
        let known = OfObject {
            in_a_row: before.saturating_add(1),
            last: now,
            error: error.clone(),
        };
        self.objects.insert(object.to_owned(), known);
        if self.objects.len() >= OBJECTS {
            self.all_rest_until = Some(now + REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(words: &str) -> ScriptError {
        ScriptError {
            line: Some(1),
            problem: words.to_owned(),
            exhausted: true,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_object_does_not_keep_a_script_from_the_others() {
        let (mut overruns, now) = (Overruns::default(), Instant::now());
        let spent = error("takes more than 500 ms of processor time");
        for _ in 0..10 {
            overruns.remember("large", Some(&spent), now);
            overruns.remember("small", None, now);
        }
        assert_eq!(
            overruns.rests("large", now),
            Some(spent.clone()),
            "in the words of its last call"
        );
        assert_eq!(overruns.rests("small", now), None);
        assert_eq!(overruns.rests("large", now + REST), None, "tried again after its rest");
        overruns.remember("large", None, now + REST);
        overruns.remember("large", Some(&spent), now + REST);
        assert_eq!(overruns.rests("large", now + REST), None, "counted anew");
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_that_is_too_much_for_several_rests_for_all() {
        let (mut overruns, now) = (Overruns::default(), Instant::now());
        let spent = error("needs more than 32 MiB of memory");
        for object in ["a", "b", "c"] {
            overruns.remember(object, Some(&spent), now);
        }
        assert_eq!(overruns.rests("other", now), None);
        overruns.remember("d", Some(&spent), now);
        let why = overruns.rests("other", now).unwrap();
        assert!(
            why.exhausted && why.problem.starts_with("takes more than it may for several objects"),
            "{why}"
        );
        assert_eq!(overruns.rests("d", now), Some(spent.clone()));
        assert_eq!(overruns.rests("other", now + REST), None);
        let later = now + COUNTS_FOR + REST;
        overruns.remember("e", Some(&spent), later);
        assert_eq!(overruns.rests("other", later), None, "what is long ago does not count");
        assert_eq!(overruns.objects.len(), 1, "nor is it kept");
    }
}
