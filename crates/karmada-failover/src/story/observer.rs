//! Watches the API objects, the queue and the members, and lets the teller tell.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind, Work};
use eviction_queue_api::QueueClient;
use futures::stream::{FuturesUnordered, StreamExt};
use kube::{Api, Client};
use kube_sandbox::rules::follow;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::line::Line;
use super::queue_watch;
use super::teller::Teller;

/// What the observer looks at.
#[derive(Clone)]
pub struct Sources {
    /// The control plane.
    pub control_plane: Client,
    /// The members, by name: they are asked for `/readyz`, to see a failure before anybody acts on it.
    pub members: Vec<(String, Client)>,
    /// The eviction queue: at an address, or wherever its leader is.
    pub queue: QueueClient,
}

/// How often a member is asked, and how long it may take to answer.
const PROBE_EVERY: Duration = Duration::from_millis(500);
const PROBE_WITHIN: Duration = Duration::from_secs(2);

/// Observes until it is dropped.
pub struct Observer {
    teller: Arc<Mutex<Teller>>,
    changed: mpsc::UnboundedReceiver<()>,
    handed_out: usize,
    start: Instant,
    _tasks: JoinSet<()>,
}

/// Where those who look tell what they saw.
#[derive(Clone)]
pub(super) struct Told {
    teller: Arc<Mutex<Teller>>,
    changed: mpsc::UnboundedSender<()>,
    start: Instant,
}

impl Told {
    pub(super) fn tell(&self, see: impl FnOnce(&mut Teller, f64)) {
        see(&mut self.teller.lock(), self.start.elapsed().as_secs_f64());
        // Nobody listens any more only when the observer was dropped, and this task with it.
        let _ = self.changed.send(());
    }
}

impl Observer {
    /// Starts to observe; times count from now.
    #[must_use]
    pub fn start(sources: Sources) -> Self {
        Self::start_asking_every(PROBE_EVERY, sources)
    }

    /// The same, asking each member so often: less often where hours pass.
    #[must_use]
    pub fn start_asking_every(period: Duration, sources: Sources) -> Self {
        let (changed, receiver) = mpsc::unbounded_channel();
        let start = Instant::now();
        let told = Told {
            teller: Arc::default(),
            changed,
            start,
        };
        let mut tasks = JoinSet::new();
        let client = &sources.control_plane;
        {
            let told = told.clone();
            tasks.spawn(follow(Api::<Cluster>::all(client.clone()), move |seen| {
                told.tell(|teller, at| teller.see_cluster(seen, at));
            }));
        }
        for kind in BindingKind::ALL {
            let (told, api) = (told.clone(), Api::<Binding>::all_with(client.clone(), &kind));
            tasks.spawn(follow(api, move |seen| {
                told.tell(|teller, at| teller.see_binding(seen, at));
            }));
        }
        {
            let told = told.clone();
            tasks.spawn(follow(Api::<Work>::all(client.clone()), move |seen| {
                told.tell(|teller, at| teller.see_work(&seen, at));
            }));
        }
        tasks.spawn(ask_members(period, sources.members, told.clone()));
        tasks.spawn(queue_watch::entries(sources.queue.clone(), told.clone()));
        tasks.spawn(queue_watch::regimes(sources.queue, told.clone()));
        Self {
            teller: told.teller,
            changed: receiver,
            handed_out: 0,
            start,
            _tasks: tasks,
        }
    }

    /// The next line, when it is told. Cancel-safe.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.teller.lock().told().get(self.handed_out) {
                self.handed_out += 1;
                return Some(line.clone());
            }
            self.changed.recv().await?;
        }
    }

    /// How many lines [`Self::next`] has given.
    #[must_use]
    pub fn handed_out(&self) -> usize {
        self.handed_out
    }

    /// So many Clusters are to be there from now on; that they are ready will be a line.
    pub fn expect_clusters(&self, clusters: usize) {
        let at = self.elapsed();
        self.teller.lock().expect_clusters(clusters, at);
    }

    /// Seconds since the start.
    #[must_use]
    pub fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Looks at everything told so far.
    pub fn look<T>(&self, look: impl FnOnce(&Teller) -> T) -> T {
        look(&self.teller.lock())
    }
}

async fn ask_members(period: Duration, members: Vec<(String, Client)>, told: Told) {
    let askers = members
        .into_iter()
        .map(|(name, client)| ask_member(period, name, client, told.clone()));
    askers.collect::<FuturesUnordered<_>>().collect::<()>().await;
}

async fn ask_member(period: Duration, name: String, client: Client, told: Told) {
    loop {
        let answer = match http::Request::get("/readyz").body(Vec::new()) {
            Ok(request) => match tokio::time::timeout(PROBE_WITHIN, client.request_text(request)).await {
                Ok(Ok(_) | Err(kube::Error::Api(_))) => Ok(()),
                Ok(Err(error)) => Err(innermost(&error)),
                Err(_) => Err(format!("no answer within {} s", PROBE_WITHIN.as_secs())),
            },
            Err(error) => Err(error.to_string()),
        };
        told.tell(|teller, at| teller.see_probe(&name, answer, at));
        tokio::time::sleep(period).await;
    }
}

/// The part of an error that a person can use: `Connection refused`, not the layers around it.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
