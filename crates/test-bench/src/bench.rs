//! A control plane with our kinds, members, and processes on it.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::{Clock, ConnectMember, KitFlags, MemberError, MemberTarget, Process};
use jiff::Timestamp;
use kube::Client;
use kube_sandbox::{Fleet, Member, Now, Sandbox, WriteRecord};
use serde_json::{Value, json};

/// A control plane with our kinds and the namespaces of an installation, and members that stand beside it.
pub struct Bench {
    /// The time of everything on the bench; shows the start of 2026 first.
    pub clock: Clock,
    /// The control plane and the members.
    pub fleet: Fleet,
    /// When the bench was set up.
    pub started: Timestamp,
}

impl Bench {
    /// With members of these names, of which the control plane knows nothing yet. Must be called in the runtime whose
    /// time it is to follow.
    #[must_use]
    pub fn new(members: &[&str]) -> Self {
        let started: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::simulated(started);
        let bench = Self {
            fleet: Fleet::start(&now_of(&clock), members),
            clock,
            started,
        };
        for crd in api_types::crds() {
            bench.plane().apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        for namespace in [
            api_types::names::namespace::SYSTEM,
            api_types::names::namespace::CLUSTER,
        ] {
            bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        bench
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
