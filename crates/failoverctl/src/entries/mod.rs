//! `queue list`, `queue show` and `queue recent`.

mod list;
mod recent;
mod show;

use eviction_queue_api::v1;

pub use list::EntryList;
pub use recent::RecentList;
pub(crate) use recent::table as outcomes;
pub use show::EntryDetails;
pub(crate) use show::fields;

use crate::cli::{FilterArgs, ListArgs, RecentArgs, ShowArgs, StateFilter};
use crate::entry::{EntryView, MoveView, State, at};
use crate::failure::{ExitStatus, Failure};
use crate::output::Tone;
use crate::queue::Queue;

/// Namespace in a filter that stands for bindings of cluster scope.
pub(crate) const CLUSTER_SCOPE: &str = "-";

/// Asks for what `queue list` shows.
///
/// # Errors
/// The queue does not answer.
pub async fn list(queue: &mut Queue, args: &ListArgs) -> Result<EntryList, Failure> {
    let found = queue.list(&filter(&args.filter), args.limit).await?;
    Ok(EntryList {
        entries: queue.placed(&found.entries).await?,
        total: found.total,
        notes: queue.status().await?.notes,
    })
}

/// Asks for what `queue recent` shows.
///
/// # Errors
/// The queue does not answer.
pub async fn recent(queue: &mut Queue, args: &RecentArgs) -> Result<RecentList, Failure> {
    let outcomes = queue.recent(args.limit, args.cluster.as_deref()).await?;
    Ok(RecentList {
        cut: args.limit != 0 && outcomes.len() >= args.limit as usize,
        outcomes: outcomes.iter().map(MoveView::of).collect(),
    })
}

fn filter(args: &FilterArgs) -> v1::EntryFilter {
    v1::EntryFilter {
        cluster: args.cluster.clone().unwrap_or_default(),
        namespace: args.namespace.clone().unwrap_or_default(),
        state: args.state.map_or(v1::EntryState::Unspecified, state_of).into(),
        ..v1::EntryFilter::default()
    }
}

/// Asks for what `queue show` shows.
///
/// # Errors
/// There is no such entry, or the queue does not answer.
pub async fn show(queue: &mut Queue, args: &ShowArgs) -> Result<EntryDetails, Failure> {
    let entries = of_binding(queue, &args.binding, args.cluster.as_deref()).await?;
    if entries.is_empty() {
        let from = args
            .cluster
            .as_ref()
            .map(|cluster| format!(" from cluster {cluster}"))
            .unwrap_or_default();
        return Err(Failure::new(
            ExitStatus::Problem,
            format!("cannot show binding {}{from}", args.binding),
            format!("the eviction queue at {} has no entry for it", queue.address()),
            format!("ask why: failoverctl explain binding {}", args.binding),
        ));
    }
    Ok(EntryDetails { entries })
}

/// The entries of one binding, the most urgent first, with their places.
///
/// # Errors
/// The queue does not answer.
pub async fn of_binding(
    queue: &mut Queue,
    binding: &api_types::BindingKey,
    cluster: Option<&str>,
) -> Result<Vec<EntryView>, Failure> {
    let mut found = queue.list(&binding_filter(binding, cluster), 0).await?.entries;
    found.sort_by_key(|entry| at(entry.published.as_ref().and_then(|published| published.due_at.as_ref())));
    queue.placed(&found).await
}

/// The entries of a binding, on one cluster or on all.
pub(crate) fn binding_filter(binding: &api_types::BindingKey, cluster: Option<&str>) -> v1::EntryFilter {
    v1::EntryFilter {
        namespace: binding.namespace.clone().unwrap_or_else(|| CLUSTER_SCOPE.to_owned()),
        name: binding.name.clone(),
        cluster: cluster.unwrap_or_default().to_owned(),
        ..v1::EntryFilter::default()
    }
}

pub(crate) fn state_of(filter: StateFilter) -> v1::EntryState {
    match filter {
        StateFilter::Waiting => v1::EntryState::Waiting,
        StateFilter::Ready => v1::EntryState::Ready,
        StateFilter::Leased => v1::EntryState::Leased,
        StateFilter::Held => v1::EntryState::Held,
    }
}

/// How a state looks.
pub(crate) fn tone(state: State) -> Tone {
    match state {
        State::Held => Tone::Notice,
        State::Leased => Tone::Good,
        State::Waiting | State::Ready | State::Unknown => Tone::Plain,
    }
}
