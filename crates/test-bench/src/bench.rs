//! A control plane with our kinds, members, and processes on it, under the rules.
//!
//! Guarantee: a test that ends on a bench ends well only if no process on it broke one of the correctness rules that can be
//! read off what is stored: 1 to 4, 7 and 8 ([`kube_sandbox::rules`]), and if every condition and Event of a process stands
//! in `docs/reference/conditions-and-events.md`. Nobody has to ask for it: the bench judges when it goes. Rule 6 is read off
//! a queue, by a [`QueueWatch`](crate::QueueWatch); rule 5 takes two runs, and the tests that restart compare them.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::{Clock, ConnectMember, KitFlags, MemberError, MemberTarget, Process};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube_sandbox::rules::{Audit, Settings};
use kube_sandbox::{Fleet, Housekeeping, Member, MemberOptions, Now, Sandbox, SandboxOptions, WriteRecord};
use serde_json::{Value, json};

use crate::words::Words;

/// What the clock of a bench shows first: the start of 2026.
pub const STARTED: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// A control plane with our kinds and the namespaces of an installation, and members that stand beside it.
pub struct Bench {
    /// The time of everything on the bench; shows the start of 2026 first.
    pub clock: Clock,
    /// The control plane and the members.
    pub fleet: Fleet,
    /// When the bench was set up.
    pub started: Timestamp,
    /// The correctness rules over everything that is stored. What the test itself writes, through
    /// [`Bench::client`] or the sandbox, is a person's work; what comes from any other client is a process's.
    pub rules: Audit,
    words: Words,
}

impl Drop for Bench {
    /// Judges.
    ///
    /// # Panics
    /// When a rule was broken, or something was said that is documented nowhere, and the test did not fail by itself.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let broken = self.broken_rules();
            assert!(broken.is_empty(), "{broken:#?}");
            let unknown = self.words.undocumented(self.plane());
            assert!(unknown.is_empty(), "{} lacks: {unknown:#?}", Words::PAGE);
        }
    }
}

impl Bench {
    /// With members of these names, of which the control plane knows nothing yet. Must be called in the runtime whose
    /// time it is to follow.
    #[must_use]
    pub fn new(members: &[&str]) -> Self {
        Self::with_housekeeping(members, Housekeeping::default())
    }

    /// The same, beginning at another time: that of what was recorded.
    #[must_use]
    pub fn starting(at: Timestamp) -> Self {
        let clock = Clock::simulated(at);
        let now = now_of(&clock);
        Self::timed(&[], Housekeeping::default(), clock, &now)
    }

    /// The same with garbage collection and removal of namespaces as they are wanted.
    #[must_use]
    pub fn with_housekeeping(members: &[&str], housekeeping: Housekeeping) -> Self {
        let clock = Clock::simulated(STARTED);
        let now = now_of(&clock);
        Self::timed(members, housekeeping, clock, &now)
    }

    /// The same where the runtime is one of several, each on a machine of its own: `now` is the time of all of them,
    /// and `clock` shows it here.
    #[must_use]
    pub fn timed(members: &[&str], housekeeping: Housekeeping, clock: Clock, now: &Now) -> Self {
        let started = now();
        let plane = Sandbox::new(SandboxOptions {
            housekeeping,
            ..SandboxOptions::new(now.clone())
        });
        for crd in api_types::crds() {
            plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        let bench = Self {
            rules: Audit::of(&plane, Settings::exact(0.0)),
            words: Words::of(&plane),
            fleet: Fleet::with_control_plane(plane),
            clock,
            started,
        };
        for name in members {
            bench.fleet.add_member(MemberOptions::new(name, now.clone()));
        }
        for namespace in [
            api_types::names::namespace::SYSTEM,
            api_types::names::namespace::CLUSTER,
        ] {
            bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        bench
    }

    /// The rules that were broken and not told before; none when all held. What is told here does not fail the test
    /// again when the bench goes.
    #[must_use]
    pub fn broken_rules(&self) -> Vec<String> {
        self.rules.finish().iter().map(ToString::to_string).collect()
    }

    /// Says to the rules that a queue on this bench releases so many evictions a second; of several queues the fastest
    /// counts. Until then there is no queue, and nobody has reason to evict.
    pub fn allow_evictions_per_second(&self, rate: f64) {
        self.rules
            .set(|settings| settings.evictions_per_second = settings.evictions_per_second.max(rate));
    }

    /// Steps the wall clock, as a person or a time server would.
    pub fn step_clock(&self, by: SignedDuration) {
        self.clock.jump(by);
        self.rules.clock_stepped(by);
    }

    /// The control plane's API server.
    #[must_use]
    pub fn plane(&self) -> &Sandbox {
        self.fleet.control_plane()
    }

    /// A client that sees everything of the control plane, through no fault.
    #[must_use]
    pub fn client(&self) -> Client {
        self.plane().observer()
    }

    /// The clock, for those who want a function.
    #[must_use]
    pub fn now(&self) -> Now {
        now_of(&self.clock)
    }

    /// A member.
    #[must_use]
    pub fn member(&self, name: &str) -> Member {
        self.fleet.member(name).unwrap()
    }

    /// Creates an object, or replaces it, status and all.
    pub fn put(&self, object: Value) -> Value {
        let shown = object.to_string();
        self.plane()
            .put(object)
            .unwrap_or_else(|refusal| panic!("{refusal}: {shown}"))
    }

    /// The way to the members, by the endpoints `http://NAME.sandbox`.
    #[must_use]
    pub fn roads(&self) -> Arc<dyn ConnectMember> {
        let members = self.fleet.member_connector();
        Arc::new(move |target: &MemberTarget| {
            members
                .connect(&target.api_endpoint)
                .map_err(|unknown| MemberError::Endpoint {
                    cluster: target.name.clone(),
                    endpoint: target.api_endpoint.clone(),
                    why: unknown.to_string(),
                })
        })
    }

    /// A process that is yet to get its controllers and be started. Its requests are known by the component's name.
    #[must_use]
    pub fn process(&self, component: &'static str, identity: &str, flags: KitFlags) -> Process {
        Process::builder(component, self.plane().client_named(component))
            .clock(self.clock.clone())
            .identity(identity)
            .flags(flags)
            .members(self.roads())
    }

    /// Lets the time pass to `second` since the start, and one millisecond more: what is due then has been done.
    /// Elapsed time, whatever the clock shows.
    pub async fn until(&self, second: u64) {
        self.until_millis(second * 1000 + 1).await;
    }

    /// Lets the time pass to so many milliseconds since the start.
    pub async fn until_millis(&self, millis: u64) {
        let due = self.started + Duration::from_millis(millis);
        tokio::time::sleep(Duration::try_from(due.duration_since(self.clock.now())).unwrap_or_default()).await;
    }

    /// Reason and note of the events on an object, each as often as it was published.
    #[must_use]
    pub fn events(&self, kind: &str, name: &str) -> Vec<(String, String)> {
        let about = |event: &Value| event["involvedObject"]["kind"] == kind && event["involvedObject"]["name"] == name;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let events = self.plane().list("v1", "Event").into_iter().filter(about);
        events
            .flat_map(|event| {
                let count = usize::try_from(event["count"].as_u64().unwrap_or(1)).unwrap();
                vec![(text(&event["reason"]), text(&event["message"])); count]
            })
            .collect()
    }

    /// What a component has written, but for Leases and Events.
    #[must_use]
    pub fn writes(&self, component: &str) -> Vec<WriteRecord> {
        let writes = self.plane().faults().writes().into_iter();
        writes
            .filter(|write| write.client == component && write.resource != "leases" && write.resource != "events")
            .collect()
    }
}

fn now_of(clock: &Clock) -> Now {
    let clock = clock.clone();
    Arc::new(move || clock.now())
}
