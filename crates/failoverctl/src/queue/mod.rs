//! What is asked of the eviction queue over gRPC, and the two orders that it takes from people.

mod find;
mod refused;

use std::time::Duration;

use eviction_queue_api::status::Advice;
use eviction_queue_api::v1::queue_admin_client::QueueAdminClient;
use eviction_queue_api::v1::queue_inspection_client::QueueInspectionClient;
use eviction_queue_api::{Channel, ClientError, QueueClient, v1};
use futures::StreamExt;
use tonic::{Code, Status, Streaming};

pub use find::address;

use crate::entry::EntryView;
use crate::failure::{ExitStatus, Failure};
use crate::port_forward::Forward;

/// Entries a page, the most the queue gives.
const PAGE: u32 = 1_000;
/// Questions at once about the places of entries.
const AT_ONCE: usize = 16;
/// How often an answer "ask the leader, over there" is followed.
const REDIRECTIONS: u32 = 3;
/// Lists that outlive their snapshot begin again so many times.
const NEW_LISTS: u32 = 2;
/// Outcomes that the queue remembers.
const ALL_RECENT: u32 = 10_000;
/// The leader of the eviction queue.
#[derive(Clone, Debug)]
pub struct Queue {
    client: QueueClient,
    address: String,
    timeout: Duration,
    /// The way there, which ends with this.
    way: Option<Forward>,
}

/// What a call is for, and who may make it.
struct Wants {
    what: &'static str,
    role: Role,
}

/// A role that the queue gives to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Reader,
    Admin,
}

/// Whether an order is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Really {
    /// It is.
    Do,
    /// The queue only says what would be.
    OnlySay,
}

/// An order about one entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The entry.
    pub key: v1::EntryKey,
    /// Why.
    pub reason: String,
    /// Whether it is carried out.
    pub really: Really,
}

/// Entries, and how many there are in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    /// Those that were asked for.
    pub entries: Vec<v1::Entry>,
    /// How many match.
    pub total: u64,
}

impl Queue {
    /// The queue that a client leads to. Whether it answers is found out by the first question; `timeout` is the limit
    /// of each, `address` is for people.
    #[must_use]
    pub fn through(client: QueueClient, address: &str, timeout: Duration) -> Self {
        Self {
            client,
            address: address.to_owned(),
            timeout,
            way: None,
        }
    }

    /// The same, reached by this port-forward.
    #[must_use]
    pub fn kept_by(mut self, way: Forward) -> Self {
        self.way = Some(way);
        self
    }

    /// Where it answers.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The queue as a whole.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn status(&mut self) -> Result<v1::GetStatusResponse, Failure> {
        self.ask("its status", async |mut client| {
            client.get_status(v1::GetStatusRequest {}).await
        })
        .await
    }

    /// The lanes, by cluster.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn lanes(&mut self) -> Result<Vec<v1::Lane>, Failure> {
        let answer = self
            .ask("its lanes", async |mut client| {
                client.list_lanes(v1::ListLanesRequest {}).await
            })
            .await?;
        Ok(answer.lanes)
    }

    /// The latest outcomes, newest first; `limit` 0: all that the queue remembers.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn recent(&mut self, limit: u32, cluster: Option<&str>) -> Result<Vec<v1::RecentOutcome>, Failure> {
        let limit = if limit == 0 { ALL_RECENT } else { limit };
        let request = v1::ListRecentRequest {
            limit,
            cluster: cluster.unwrap_or_default().to_owned(),
        };
        let answer = self
            .ask("its last outcomes", async |mut client| {
                client.list_recent(request.clone()).await
            })
            .await?;
        Ok(answer.outcomes)
    }

    /// Entries that match, at most `limit` (0: all), all from one snapshot.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn list(&mut self, filter: &v1::EntryFilter, limit: u32) -> Result<Entries, Failure> {
        let mut begun = 0;
        loop {
            match self.list_once(filter, limit).await? {
                Some(entries) => return Ok(entries),
                None if begun < NEW_LISTS => begun += 1,
                None => {
                    return Err(Failure::new(
                        ExitStatus::TimedOut,
                        format!("cannot list the entries of the eviction queue at {}", self.address),
                        "the list took longer than the queue keeps a snapshot",
                        "ask for fewer: --limit, --cluster, --namespace or --state",
                    ));
                }
            }
        }
    }

    /// Nothing when the snapshot went away in between.
    async fn list_once(&mut self, filter: &v1::EntryFilter, limit: u32) -> Result<Option<Entries>, Failure> {
        let mut found = Entries::default();
        let mut page_token = String::new();
        loop {
            let have = u32::try_from(found.entries.len()).unwrap_or(u32::MAX);
            let page_size = if limit == 0 {
                PAGE
            } else {
                limit.saturating_sub(have).min(PAGE)
            };
            let request = v1::ListEntriesRequest {
                filter: Some(filter.clone()),
                page_size,
                page_token,
            };
            let answer = self
                .ask_or("its entries", Code::OutOfRange, async |mut client| {
                    client.list_entries(request.clone()).await
                })
                .await?;
            let Some(page) = answer else { return Ok(None) };
            found.total = page.total;
            found.entries.extend(page.entries);
            let enough = limit != 0 && found.entries.len() >= limit as usize;
            if page.next_page_token.is_empty() || enough {
                return Ok(Some(found));
            }
            page_token = page.next_page_token;
        }
    }

    /// The entry of a binding on a cluster, with its place; nothing if there is none.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn entry(&mut self, request: &v1::GetEntryRequest) -> Result<Option<v1::GetEntryResponse>, Failure> {
        self.ask_or("one entry", Code::NotFound, async |mut client| {
            client.get_entry(request.clone()).await
        })
        .await
    }

    /// Opens a watch; nothing when the queue cannot go on after the position asked for.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn watch(
        &mut self,
        request: v1::WatchEntriesRequest,
    ) -> Result<Option<Streaming<v1::WatchEntriesResponse>>, Failure> {
        self.ask_or("its changes", Code::OutOfRange, async |mut client| {
            client.watch_entries(request.clone()).await
        })
        .await
    }

    /// Why a stream ended, in words.
    #[must_use]
    pub fn why_broken(&self, status: &Status) -> String {
        if matches!(
            status.code(),
            Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded
        ) {
            return format!("the connection to the eviction queue at {} broke", self.address);
        }
        let wants = Wants {
            what: "its changes",
            role: Role::Reader,
        };
        refused::failure(&self.address, &wants, status).one_line()
    }

    /// The same entries with their places in the order. An entry that left meanwhile keeps none.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn placed(&self, entries: &[v1::Entry]) -> Result<Vec<EntryView>, Failure> {
        let views: Vec<Result<EntryView, Failure>> = futures::stream::iter(entries)
            .map(|entry| {
                let mut queue = self.clone();
                async move {
                    let view = EntryView::of(entry);
                    let key = entry.published.clone().unwrap_or_default().key.unwrap_or_default();
                    let request = v1::GetEntryRequest {
                        namespace: key.namespace,
                        name: key.name,
                        cluster: key.cluster,
                    };
                    let answer = queue.entry(&request).await?;
                    Ok(answer.map_or(view.clone(), |answer| view.placed(&answer)))
                }
            })
            .buffered(AT_ONCE)
            .collect()
            .await;
        views.into_iter().collect()
    }

    /// The same entries with all that the queue says of each. An entry that left meanwhile is as it was listed.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn with_places(&self, entries: &[v1::Entry]) -> Result<Vec<v1::GetEntryResponse>, Failure> {
        let answers: Vec<Result<v1::GetEntryResponse, Failure>> = futures::stream::iter(entries)
            .map(|entry| {
                let mut queue = self.clone();
                async move {
                    let key = entry.published.clone().unwrap_or_default().key.unwrap_or_default();
                    let request = v1::GetEntryRequest {
                        namespace: key.namespace,
                        name: key.name,
                        cluster: key.cluster,
                    };
                    let answer = queue.entry(&request).await?;
                    Ok(answer.unwrap_or_else(|| v1::GetEntryResponse {
                        entry: Some(entry.clone()),
                        ..v1::GetEntryResponse::default()
                    }))
                }
            })
            .buffered(AT_ONCE)
            .collect()
            .await;
        answers.into_iter().collect()
    }

    /// Keeps the workload of an entry where it is; nothing when there is no such entry.
    ///
    /// # Errors
    /// It refuses or does not answer.
    pub async fn drop_entry(&mut self, order: Order) -> Result<Option<v1::Entry>, Failure> {
        let request = v1::DropRequest {
            dry_run: order.really == Really::OnlySay,
            key: Some(order.key),
            reason: order.reason,
        };
        let answer = self.order(async |client| client.drop(request.clone()).await).await?;
        Ok(answer.and_then(|answer| answer.entry))
    }

    /// Takes that back; nothing when there is no such entry.
    ///
    /// # Errors
    /// It refuses or does not answer.
    pub async fn undrop_entry(&mut self, order: Order) -> Result<Option<v1::Entry>, Failure> {
        let request = v1::UndropRequest {
            dry_run: order.really == Really::OnlySay,
            key: Some(order.key),
            reason: order.reason,
        };
        let answer = self.order(async |client| client.undrop(request.clone()).await).await?;
        Ok(answer.and_then(|answer| answer.entry))
    }

    /// An order; nothing when there is no such entry.
    async fn order<T>(
        &mut self,
        order: impl AsyncFn(&mut QueueAdminClient<Channel>) -> Result<tonic::Response<T>, Status>,
    ) -> Result<Option<T>, Failure> {
        let what = Wants {
            what: "an order",
            role: Role::Admin,
        };
        self.call(what, async |client| {
            let mut service = client.admin().await?;
            Ok(match order(&mut service).await {
                Err(status) if status.code() == Code::NotFound => Ok(tonic::Response::new(None)),
                answer => answer.map(|answer| tonic::Response::new(Some(answer.into_inner()))),
            })
        })
        .await
    }

    /// Asks once, or once more each time a follower names the leader.
    async fn ask<T>(
        &mut self,
        what: &'static str,
        question: impl AsyncFn(QueueInspectionClient<Channel>) -> Result<tonic::Response<T>, Status>,
    ) -> Result<T, Failure> {
        let role = Role::Reader;
        self.call(Wants { what, role }, async |client| {
            Ok(question(client.inspection().await?).await)
        })
        .await
    }

    async fn call<T>(
        &mut self,
        wants: Wants,
        call: impl AsyncFn(&QueueClient) -> Result<Result<tonic::Response<T>, Status>, ClientError>,
    ) -> Result<T, Failure> {
        let mut redirections = 0;
        loop {
            let client = self.client.clone();
            let answer = tokio::time::timeout(self.timeout, call(&client))
                .await
                .unwrap_or_else(|_| Ok(Err(Status::deadline_exceeded("no answer in time"))))
                .map_err(|error| refused::no_way(&self.address, &error))?;
            match answer {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) => match self.client.learn(&status) {
                    Advice::GoTo { address } if redirections < REDIRECTIONS => {
                        redirections += 1;
                        self.address = address;
                    }
                    Advice::GoTo { .. } | Advice::FindLeader | Advice::Later | Advice::GiveUp => {
                        return Err(refused::failure(&self.address, &wants, &status));
                    }
                },
            }
        }
    }

    /// The answer, or nothing when the queue says `absent`.
    async fn ask_or<T>(
        &mut self,
        what: &'static str,
        absent: Code,
        question: impl AsyncFn(QueueInspectionClient<Channel>) -> Result<tonic::Response<T>, Status>,
    ) -> Result<Option<T>, Failure> {
        let asked = async |client: QueueInspectionClient<Channel>| match question(client).await {
            Ok(answer) => Ok(tonic::Response::new(Some(answer.into_inner()))),
            Err(status) if status.code() == absent => Ok(tonic::Response::new(None)),
            Err(status) => Err(status),
        };
        self.ask(what, asked).await
    }
}
