//! Which members the push reporter has not looked at for too long, said on its Lease.
//!
//! Guarantees: the annotation names exactly the members whose last probe ended longer ago than the grace period, sorted;
//! it is written when that list changes and at no other time; the Lease says the rest, namely that the reporter lives.

use std::collections::BTreeMap;
use std::time::Duration;

use controller_kit::Context;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::warn;

/// What fits the annotations of an object with room to spare. Who is not named is not marked: the safe side.
const LONGEST_LIST_BYTES: usize = 128 * 1024;

/// When each member's last probe ended.
#[derive(Debug)]
pub(super) struct Overdue {
    grace: Duration,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    probed: BTreeMap<String, Instant>,
    /// The list that was said last.
    said: String,
}

impl Overdue {
    pub fn new(grace: Duration) -> Self {
        Self {
            grace,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// The member is to be probed from now on.
    pub fn begin(&self, member: &str) {
        let mut state = self.state.lock();
        state.probed.insert(member.to_owned(), Instant::now());
        if state.probed.len() == 1 {
            self.changed.notify_one();
        }
    }

    /// A probe of the member has ended, whatever it found.
    pub fn probed(&self, member: &str) {
        let mut state = self.state.lock();
        if let Some(last) = state.probed.get_mut(member) {
            let was_overdue = last.elapsed() >= self.grace;
            *last = Instant::now();
            if was_overdue {
                self.changed.notify_one();
            }
        }
    }

    /// The member is no longer ours to probe.
    pub fn end(&self, member: &str) {
        let mut state = self.state.lock();
        if state
            .probed
            .remove(member)
            .is_some_and(|last| last.elapsed() >= self.grace)
        {
            self.changed.notify_one();
        }
    }

    /// Whether the member's last probe ended too long ago.
    pub fn is_overdue(&self, member: &str) -> bool {
        let state = self.state.lock();
        state
            .probed
            .get(member)
            .is_some_and(|last| last.elapsed() >= self.grace)
    }

    /// Says it until shutdown.
    pub async fn run(&self, ctx: &Context) {
        loop {
            let next = self.say(ctx);
            tokio::select! {
                biased;
                () = ctx.shutdown.cancelled() => return,
                () = self.changed.notified() => {}
                () = async {
                    match next {
                        Some(due) => sleep_until(due).await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
        }
    }

    /// Returns when the next member is due to be named.
    fn say(&self, ctx: &Context) -> Option<Instant> {
        let mut state = self.state.lock();
        let now = Instant::now();
        let (overdue, next) = split(&state.probed, self.grace, now);
        let list = joined(&overdue);
        if list != state.said {
            if list.is_empty() {
                tracing::info!("every member is probed in time again");
            } else {
                warn!(members = list, "not probed within the grace period");
            }
            ctx.leadership
                .set_annotation(api_types::names::annotation::PROBES_OVERDUE, list.clone());
            state.said = list;
        }
        next
    }
}

/// Who is overdue, and when the next one will be.
fn split(probed: &BTreeMap<String, Instant>, grace: Duration, now: Instant) -> (Vec<&str>, Option<Instant>) {
    let mut overdue = Vec::new();
    let mut next: Option<Instant> = None;
    for (member, last) in probed {
        let due = *last + grace;
        if due <= now {
            overdue.push(member.as_str());
        } else {
            next = Some(next.map_or(due, |next| next.min(due)));
        }
    }
    (overdue, next)
}

fn joined(members: &[&str]) -> String {
    let mut list = String::new();
    for member in members {
        if list.len() + member.len() >= LONGEST_LIST_BYTES {
            break;
        }
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(member);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_beyond_the_grace_are_named_and_the_next_one_is_known() {
        let (now, grace) = (Instant::now() + Duration::from_secs(100), Duration::from_secs(40));
        let ago = |seconds| now - Duration::from_secs(seconds);
        let probed = BTreeMap::from([
            ("c".to_owned(), ago(40)),
            ("a".to_owned(), ago(90)),
            ("b".to_owned(), ago(39)),
            ("d".to_owned(), ago(5)),
        ]);
        assert_eq!(
            split(&probed, grace, now),
            (vec!["a", "c"], Some(now + Duration::from_secs(1)))
        );
        assert_eq!(split(&BTreeMap::new(), grace, now), (Vec::new(), None));
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_is_to_be_probed_and_was_not_is_overdue() {
        let overdue = Overdue::new(Duration::from_secs(40));
        assert!(!overdue.is_overdue("m1"), "nobody asked for it");
        overdue.begin("m1");
        tokio::time::sleep(Duration::from_millis(39_999)).await;
        assert!(!overdue.is_overdue("m1"));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(overdue.is_overdue("m1"));
        overdue.probed("m1");
        assert!(!overdue.is_overdue("m1"));
        tokio::time::sleep(Duration::from_secs(60)).await;
        overdue.end("m1");
        assert!(!overdue.is_overdue("m1"));
    }

    #[test]
    fn a_list_fits_its_annotation() {
        assert_eq!(joined(&["a", "b"]), "a,b");
        assert_eq!(joined(&[]), "");
        let long = "x".repeat(48);
        let list = joined(&vec![long.as_str(); 10_000]);
        assert!(list.len() < LONGEST_LIST_BYTES && list.split(',').all(|member| member == long));
    }
}
