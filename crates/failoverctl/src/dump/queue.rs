//! The eviction queue of a dump: it answers questions as the one did that it is of.

use std::pin::Pin;
use std::sync::Arc;

use eviction_queue_api::memory::MemoryListener;
use eviction_queue_api::v1;
use eviction_queue_api::v1::queue_inspection_server::{QueueInspection, QueueInspectionServer};
use futures::Stream;
use tonic::{Request, Response, Status};

use super::read::Contents;

/// Answers until it is dropped.
pub(super) async fn serve(contents: Arc<Contents>, listener: MemoryListener) {
    let service = QueueInspectionServer::new(FromDump(contents));
    let served = tonic::transport::Server::builder().add_service(service);
    // It ends with its listener, which is dropped with the dump.
    let _ = served.serve_with_incoming(listener).await;
}

struct FromDump(Arc<Contents>);

impl FromDump {
    fn status(&self) -> Result<v1::GetStatusResponse, Status> {
        let status = self.0.queue.status.clone();
        status
            .ok_or_else(|| Status::unavailable(format!("the dump has none of its answers: {}", self.0.why_no_queue())))
    }

    /// The entries that match, in their order.
    fn matching(&self, filter: &v1::EntryFilter) -> Result<Vec<&v1::GetEntryResponse>, Status> {
        self.status()?;
        let given = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        let matches = |answer: &&v1::GetEntryResponse| {
            let Some(entry) = &answer.entry else { return false };
            let key = key_of(answer);
            let published = entry.published.clone().unwrap_or_default();
            let kind = published.resource.map(|resource| resource.kind).unwrap_or_default();
            given(&filter.cluster, &key.cluster)
                && given(&filter.name, &key.name)
                && given(
                    &filter.namespace,
                    if key.namespace.is_empty() { "-" } else { &key.namespace },
                )
                && given(&filter.kind, &kind)
                && given(&filter.cause, &key.cause)
                && (filter.state == 0 || filter.state == entry.state)
                && (filter.cause_kind == 0 || filter.cause_kind == entry.cause_kind)
        };
        Ok(self.0.queue.entries.iter().filter(matches).collect())
    }
}

fn key_of(answer: &v1::GetEntryResponse) -> v1::EntryKey {
    let published = answer.entry.as_ref().and_then(|entry| entry.published.as_ref());
    published
        .and_then(|published| published.key.clone())
        .unwrap_or_default()
}

#[tonic::async_trait]
impl QueueInspection for FromDump {
    async fn get_status(&self, _: Request<v1::GetStatusRequest>) -> Result<Response<v1::GetStatusResponse>, Status> {
        self.status().map(Response::new)
    }

    async fn list_entries(
        &self,
        request: Request<v1::ListEntriesRequest>,
    ) -> Result<Response<v1::ListEntriesResponse>, Status> {
        let request = request.into_inner();
        let matching = self.matching(&request.filter.unwrap_or_default())?;
        let from: usize = request.page_token.parse().unwrap_or_default();
        let size = usize::try_from(request.page_size).unwrap_or(usize::MAX).max(1);
        let page = matching.iter().skip(from).take(size);
        let entries: Vec<v1::Entry> = page.filter_map(|answer| answer.entry.clone()).collect();
        let next = from + entries.len();
        Ok(Response::new(v1::ListEntriesResponse {
            entries,
            next_page_token: if next < matching.len() {
                next.to_string()
            } else {
                String::new()
            },
            total: matching.len() as u64,
            ..v1::ListEntriesResponse::default()
        }))
    }

    async fn get_entry(&self, request: Request<v1::GetEntryRequest>) -> Result<Response<v1::GetEntryResponse>, Status> {
        let request = request.into_inner();
        let all = self.matching(&v1::EntryFilter::default())?;
        let is_it = |answer: &&&v1::GetEntryResponse| {
            let key = key_of(answer);
            (&key.namespace, &key.name) == (&request.namespace, &request.name)
                && (request.cluster.is_empty() || key.cluster == request.cluster)
        };
        let found = all.iter().find(is_it).map(|answer| (**answer).clone());
        found
            .map(Response::new)
            .ok_or_else(|| Status::not_found("the dump has no such entry"))
    }

    async fn list_lanes(&self, _: Request<v1::ListLanesRequest>) -> Result<Response<v1::ListLanesResponse>, Status> {
        let as_of = self.status()?.as_of;
        let lanes = self.0.queue.lanes.clone();
        Ok(Response::new(v1::ListLanesResponse { lanes, as_of }))
    }

    type WatchEntriesStream = Pin<Box<dyn Stream<Item = Result<v1::WatchEntriesResponse, Status>> + Send>>;

    async fn watch_entries(
        &self,
        _: Request<v1::WatchEntriesRequest>,
    ) -> Result<Response<Self::WatchEntriesStream>, Status> {
        Err(Status::unimplemented("a dump does not change"))
    }

    async fn list_recent(
        &self,
        request: Request<v1::ListRecentRequest>,
    ) -> Result<Response<v1::ListRecentResponse>, Status> {
        self.status()?;
        let request = request.into_inner();
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let of_cluster = |outcome: &&v1::RecentOutcome| {
            let cluster = outcome.key.as_ref().map(|key| key.cluster.as_str()).unwrap_or_default();
            request.cluster.is_empty() || cluster == request.cluster
        };
        let outcomes = self
            .0
            .queue
            .recent
            .iter()
            .filter(of_cluster)
            .take(limit)
            .cloned()
            .collect();
        Ok(Response::new(v1::ListRecentResponse { outcomes }))
    }
}
