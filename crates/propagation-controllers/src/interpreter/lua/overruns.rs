//! Who has spent a script's budget of late.
//!
//! Guarantees: one object that is too much for a script does not keep it from the others; a script that is too much for
//! several objects keeps nobody waiting for long.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

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
}

impl Overruns {
    /// Why the script is not asked about `object` now, if it is not.
    pub fn rests(&self, object: &str, now: Instant) -> Option<String> {
        let again = format!(
            "it is tried again every {} s, and when the script changes",
            REST.as_secs()
        );
        if self.all_rest_until.is_some_and(|until| now < until) {
            let objects = self.objects.len();
            return Some(format!("took more than it may for {objects} objects; {again}"));
        }
        let known = self.objects.get(object)?;
        let rests = known.in_a_row >= IN_A_ROW && now < known.last + REST;
        rests.then(|| {
            format!(
                "took more than it may {} times in a row for this object; {again}",
                known.in_a_row
            )
        })
    }

    /// A call about `object` has ended.
    pub fn remember(&mut self, object: &str, exhausted: bool, now: Instant) {
        if !exhausted {
            self.objects.remove(object);
            return;
        }
        self.objects
            .retain(|_, known| now.duration_since(known.last) <= COUNTS_FOR);
        let known = self
            .objects
            .entry(object.to_owned())
            .or_insert(OfObject { in_a_row: 0, last: now });
        known.in_a_row = known.in_a_row.saturating_add(1);
        known.last = now;
        if self.objects.len() >= OBJECTS {
            self.all_rest_until = Some(now + REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_object_does_not_keep_a_script_from_the_others() {
        let (mut overruns, now) = (Overruns::default(), Instant::now());
        for _ in 0..10 {
            overruns.remember("large", true, now);
            overruns.remember("small", false, now);
        }
        let why = overruns.rests("large", now).unwrap();
        assert!(
            why.starts_with("took more than it may 10 times in a row for this object"),
            "{why}"
        );
        assert_eq!(overruns.rests("small", now), None);
        assert_eq!(overruns.rests("large", now + REST), None, "tried again after its rest");
        overruns.remember("large", false, now + REST);
        overruns.remember("large", true, now + REST);
        assert_eq!(overruns.rests("large", now + REST), None, "counted anew");
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_that_is_too_much_for_several_rests_for_all() {
        let (mut overruns, now) = (Overruns::default(), Instant::now());
        for object in ["a", "b", "c"] {
            overruns.remember(object, true, now);
        }
        assert_eq!(overruns.rests("other", now), None);
        overruns.remember("d", true, now);
        let why = overruns.rests("other", now).unwrap();
        assert!(why.starts_with("took more than it may for 4 objects"), "{why}");
        assert_eq!(overruns.rests("other", now + REST), None);
        let later = now + COUNTS_FOR + REST;
        overruns.remember("e", true, later);
        assert_eq!(overruns.rests("other", later), None, "what is long ago does not count");
        assert_eq!(overruns.objects.len(), 1, "nor is it kept");
    }
}
