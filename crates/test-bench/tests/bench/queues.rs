//! A queue that forgets what it holds fails the test, and so does one of which nothing could be seen.

use controller_kit::leader::ADDRESS_ANNOTATION;
use controller_kit::{Controller, KitFlags};
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::v1::queue_inspection_server::{QueueInspection, QueueInspectionServer};
use eviction_queue_api::v1::{
    Entry, EntryState, GetEntryRequest, GetEntryResponse, GetStatusRequest, GetStatusResponse, ListEntriesRequest,
    ListEntriesResponse, ListLanesRequest, ListLanesResponse, ListRecentRequest, ListRecentResponse,
    WatchEntriesRequest, WatchEntriesResponse,
};
use eviction_queue_api::{QUEUE_CONTROLLER, QueueClient};
use rstest::rstest;
use test_bench::{Bench, QueueWatch, paused};
use tonic::codegen::BoxStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::rules::ending;

const ADDRESS: &str = "queue";
const NAMESPACE: &str = "karmada-system";

/// A queue as a client sees it.
#[derive(Clone, Copy, Debug)]
enum Queue {
    /// It has nothing to do.
    Empty,
    /// It has an entry that is ready, and never lets it go.
    Forgetful,
    /// It has the same one, and says that it is held.
    Holding,
    /// It leads and cannot be reached.
    Silent,
}

#[tonic::async_trait]
impl QueueInspection for Queue {
    async fn get_status(&self, _: Request<GetStatusRequest>) -> Result<Response<GetStatusResponse>, Status> {
        Ok(Response::new(GetStatusResponse {
            evictions_per_second: 1.0,
            ..Default::default()
        }))
    }

    async fn list_entries(&self, _: Request<ListEntriesRequest>) -> Result<Response<ListEntriesResponse>, Status> {
        let state = match self {
            Self::Forgetful => Some(EntryState::Ready),
            Self::Holding => Some(EntryState::Held),
            Self::Empty | Self::Silent => None,
        };
        let entry = |state| {
            let mut entry = Entry::default();
            entry.set_state(state);
            entry
        };
        Ok(Response::new(ListEntriesResponse {
            entries: state.map(entry).into_iter().collect(),
            ..Default::default()
        }))
    }

    async fn get_entry(&self, _: Request<GetEntryRequest>) -> Result<Response<GetEntryResponse>, Status> {
        Err(not_asked())
    }

    async fn list_lanes(&self, _: Request<ListLanesRequest>) -> Result<Response<ListLanesResponse>, Status> {
        Err(not_asked())
    }

    type WatchEntriesStream = BoxStream<WatchEntriesResponse>;

    async fn watch_entries(
        &self,
        _: Request<WatchEntriesRequest>,
    ) -> Result<Response<Self::WatchEntriesStream>, Status> {
        Err(not_asked())
    }

    async fn list_recent(&self, _: Request<ListRecentRequest>) -> Result<Response<ListRecentResponse>, Status> {
        Err(not_asked())
    }
}

fn not_asked() -> Status {
    Status::unimplemented("no rule looks there")
}

impl Queue {
    /// The controller that leads and serves it.
    fn serving(self, network: &MemoryNetwork) -> Controller {
        let network = network.clone();
        Controller::new(QUEUE_CONTROLLER, move |ctx| async move {
            let listener = network.listen(ADDRESS);
            ctx.leadership.set_annotation(ADDRESS_ANNOTATION, ADDRESS);
            let server = Server::builder().add_service(QueueInspectionServer::new(self));
            if matches!(self, Self::Silent) {
                drop(listener);
                ctx.shutdown.cancelled().await;
            } else {
                server
                    .serve_with_incoming_shutdown(listener, ctx.shutdown.cancelled())
                    .await?;
            }
            Ok(())
        })
    }
}

/// Ten minutes with this queue, watched by a client that looks for its Lease in `namespace`.
async fn watched(queue: Option<Queue>, namespace: &str) {
    let bench = Bench::new(&[]);
    let network = MemoryNetwork::default();
    let client = QueueClient::by_lease(bench.client(), namespace, "rules").through(network.clone());
    let _watch = QueueWatch::start(client, &bench);
    let mut running = None;
    if let Some(queue) = queue {
        let process = bench.process("queue", "queue-0", KitFlags::default());
        running = Some(process.controllers([queue.serving(&network)]).start().await.unwrap());
    }
    bench.until(600).await;
    drop(running);
}

#[rstest]
#[case::that_forgets(Queue::Forgetful, NAMESPACE, "rule 6 broken")]
#[case::that_cannot_be_reached(Queue::Silent, NAMESPACE, "rule 6 was not checked")]
#[case::that_is_looked_for_elsewhere(Queue::Forgetful, "karmada-cluster", "rule 6 was not checked")]
fn a_queue_fails_the_test(#[case] queue: Queue, #[case] namespace: &str, #[case] why: &str) {
    let said = ending(watched(Some(queue), namespace)).expect_err("the watch lets it pass");
    assert!(said.contains(why), "{said}");
}

#[rstest]
#[case::that_is_empty(Some(Queue::Empty))]
#[case::that_holds_and_says_so(Some(Queue::Holding))]
#[case::that_is_not_there(None)]
fn a_queue_is_in_order(#[case] queue: Option<Queue>) {
    paused(watched(queue, NAMESPACE));
}
