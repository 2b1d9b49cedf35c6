//! Which members the push reporter has not looked at for too long, said on its Lease.
//!
//! Guarantees: the annotation names the members whose last look ended longer ago than the grace period, sorted, as far
//! as a probe of somebody else has ended since: what we can do for nobody is our own trouble and says nothing of the
//! members. When for the grace period no probe at all has ended it says that, and names nobody. It is written when that
//! list changes and at no other time; the Lease says the rest, namely that the reporter lives.

use std::collections::BTreeMap;
use std::time::Duration;

use controller_kit::Context;
use failover_core::cluster_health::on_leases::NOTHING_PROBED;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::warn;

/// What fits the annotations of an object with room to spare. Who is not named is not marked: the safe side.
const LONGEST_LIST_BYTES: usize = 128 * 1024;

/// What a look at a member was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It was asked, whatever came of that: so members can be asked.
    Asked,
    /// What is known of it was enough to say that it cannot be asked. Of others that says nothing.
    NotAsked,
}

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
    /// When the last probe of anybody ended; none before the first.
    last: Option<Instant>,
    /// Since when probes have ended without a pause of half the grace period.
    asking_since: Option<Instant>,
    /// Somebody is overdue and not named, for want of a probe of somebody else.
    holds_back: bool,
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

    /// A look at the member has ended, whatever it found.
    pub fn looked(&self, member: &str, look: Look) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if let Some(last) = state.probed.get_mut(member) {
            let was_overdue = last.elapsed() >= self.grace;
            *last = Instant::now();
            if look == Look::Asked {
                let paused = state.last.is_none_or(|last| last.elapsed() >= self.grace / 2);
                if paused {
                    state.asking_since = Some(*last);
                }
                state.last = Some(*last);
            }
            if was_overdue || state.holds_back {
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

    /// Whether members were asked at that moment and have been ever since: what kept one from being asked then is not what
    /// keeps all from it.
    pub fn others_were_asked(&self, at: Instant) -> bool {
        let state = self.state.lock();
        state.last.is_some_and(|last| last.elapsed() < self.grace / 2)
            && state.asking_since.is_some_and(|since| since <= at)
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
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let now = Instant::now();
        let (overdue, next) = split(&state.probed, self.grace, now);
        let finding = told(&overdue, state.last, self.grace, now);
        let (list, holds_back) = match &finding {
            Told::Named(names) => (joined(names), names.len() < overdue.len()),
            Told::Nothing => (NOTHING_PROBED.to_owned(), true),
        };
        // The last probe of one that is gone counts as well, until it is too old.
        let too_old_at = state
            .last
            .map(|last| last + self.grace)
            .filter(|at| *at > now && !overdue.is_empty());
        let next = next.into_iter().chain(too_old_at).min();
        state.holds_back = holds_back;
        if list != state.said {
            if list.is_empty() {
                tracing::info!("every member is probed in time again");
            } else if finding == Told::Nothing {
                warn!(
                    "no probe of any member has ended within the grace period: this is taken for our own trouble, and no \
                     member is named for it"
                );
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

/// What is said of those who are overdue.
#[derive(Debug, PartialEq, Eq)]
enum Told<'a> {
    /// These are named.
    Named(Vec<&'a str>),
    /// No probe has ended at all.
    Nothing,
}

/// Who of `overdue` is named, when the last probe of anybody ended at `last`. Looks are not all at the same moment: when
/// all end, the first is overdue before the last is. So one is named only when a probe ended after half of its grace
/// period was over.
fn told<'a>(overdue: &[(&'a str, Instant)], last: Option<Instant>, grace: Duration, now: Instant) -> Told<'a> {
    match last.filter(|last| *last + grace > now) {
        None if !overdue.is_empty() => Told::Nothing,
        last => {
            let named = overdue
                .iter()
                .filter(|(_, since)| last.is_some_and(|last| last > *since + grace / 2));
            Told::Named(named.map(|(member, _)| *member).collect())
        }
    }
}

/// Who is overdue since which last probe, and when the next one will be.
fn split(probed: &BTreeMap<String, Instant>, grace: Duration, now: Instant) -> (Vec<(&str, Instant)>, Option<Instant>) {
    let mut overdue = Vec::new();
    let mut next: Option<Instant> = None;
    for (member, last) in probed {
        let due = *last + grace;
        if due <= now {
            overdue.push((member.as_str(), *last));
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
            (vec![("a", ago(90)), ("c", ago(40))], Some(now + Duration::from_secs(1)))
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
        overdue.looked("m1", Look::NotAsked);
        assert!(!overdue.is_overdue("m1"));
        tokio::time::sleep(Duration::from_secs(60)).await;
        overdue.end("m1");
        assert!(!overdue.is_overdue("m1"));
    }

    // After a time in which nobody could be asked, an old answer says nothing of its member: it is not asked for anew yet.
    #[tokio::test(start_paused = true)]
    async fn who_could_not_be_asked_is_held_against_others_of_the_same_moment() {
        let overdue = Overdue::new(Duration::from_secs(40));
        let seconds = |seconds| tokio::time::sleep(Duration::from_secs(seconds));
        for member in ["m1", "m2"] {
            overdue.begin(member);
        }
        let before = Instant::now();
        seconds(1).await;
        overdue.looked("m2", Look::NotAsked);
        assert!(!overdue.others_were_asked(Instant::now()), "none was asked ever");
        overdue.looked("m1", Look::Asked);
        assert!(!overdue.others_were_asked(before), "none was asked then");
        for _ in 0..10 {
            seconds(10).await;
            overdue.looked("m1", Look::Asked);
        }
        let then = Instant::now();
        assert!(overdue.others_were_asked(then));
        seconds(20).await;
        assert!(!overdue.others_were_asked(then), "none is asked any more");
        overdue.looked("m1", Look::Asked);
        assert!(
            !overdue.others_were_asked(then),
            "it was refused while none could be asked"
        );
        assert!(overdue.others_were_asked(Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_named_without_a_probe_of_somebody_else() {
        let (now, grace) = (Instant::now() + Duration::from_secs(200), Duration::from_secs(40));
        let ago = |seconds| now - Duration::from_secs(seconds);
        let found = |last: Option<u64>| told(&[("a", ago(90)), ("b", ago(45))], last.map(ago), grace, now);
        assert_eq!(found(None), Told::Nothing, "nobody was ever probed");
        assert_eq!(found(Some(40)), Told::Nothing);
        assert_eq!(found(Some(39)), Told::Named(vec!["a"]), "of b it is not known yet");
        assert_eq!(found(Some(3)), Told::Named(vec!["a", "b"]));
        assert_eq!(told(&[], None, grace, now), Told::Named(Vec::new()));
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
