//! Messages of the API from and to the types of `failover-core`. What cannot be understood is an error that names the
//! field, never a default.

use api_types::BindingKey;
use controller_kit::telemetry::TraceContext;
use failover_core::eviction::CauseKind;
use failover_core::eviction::queue::{
    BindingVersions, Entry, EntryKey, HoldReason, OperatorOrder, OrderKind, ProducerHold, Published, Purge, Removed,
    State, TemplateRef, WithdrawReason,
};
use jiff::Timestamp;

use crate::{InCommon, v1};

/// A message that says nothing that can be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field is needed and missing.
    #[error("field {field} is missing")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field has a value that makes no sense.
    #[error("field {field}: {why}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// Why.
        why: String,
    },
}

impl From<Malformed> for tonic::Status {
    fn from(malformed: Malformed) -> Self {
        Self::invalid_argument(malformed.to_string())
    }
}

fn invalid(field: &'static str, why: impl Into<String>) -> Malformed {
    Malformed::Invalid { field, why: why.into() }
}

/// The longest name, UID or version that is taken. In bytes; Kubernetes has none that is longer than 253.
pub const MAX_NAME_BYTES: usize = 512;
/// The longest text for people that is kept; what is longer is cut. In bytes.
pub const MAX_TEXT_BYTES: usize = 1_024;

/// A name, not longer than names are.
///
/// # Errors
/// [`Malformed`].
pub fn short_name(field: &'static str, name: String) -> Result<String, Malformed> {
    if name.len() > MAX_NAME_BYTES {
        let why = format!("{} bytes are too many: a name has at most {MAX_NAME_BYTES}", name.len());
        return Err(invalid(field, why));
    }
    Ok(name)
}

/// A text for people, cut between two characters when it is too long: the word of an evictor or a producer must not be
/// lost because it is too talkative.
#[must_use]
pub fn short_text(mut text: String) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() > MAX_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES - ELLIPSIS.len()));
        text.push_str(ELLIPSIS);
    }
    text
}

/// The value of an enum in a question. In a newer version of the API it may have more values than are known here: what
/// is asked for then cannot be guessed.
///
/// # Errors
/// [`Malformed`].
pub fn known<T: TryFrom<i32>>(field: &'static str, value: i32) -> Result<T, Malformed> {
    T::try_from(value).map_err(|_| invalid(field, format!("{value} is none of the values that this version knows")))
}

fn not_negative<T: PartialOrd + Default + std::fmt::Display>(field: &'static str, number: T) -> Result<T, Malformed> {
    if number < T::default() {
        return Err(invalid(field, format!("{number} is negative")));
    }
    Ok(number)
}

/// A time as protobuf has it.
#[must_use]
pub fn to_time(at: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: at.as_second(),
        nanos: at.subsec_nanosecond(),
    }
}

/// A time that protobuf carried.
///
/// # Errors
/// [`Malformed`] for a time beyond the calendar.
pub fn from_time(field: &'static str, at: &prost_types::Timestamp) -> Result<Timestamp, Malformed> {
    Timestamp::new(at.seconds, at.nanos).map_err(|error| invalid(field, error.to_string()))
}

/// A key as the API has it.
#[must_use]
pub fn to_key(key: &EntryKey) -> v1::EntryKey {
    v1::EntryKey {
        cause: key.cause.identity(),
        cluster: key.cluster.to_string(),
        cluster_uid: key.cluster_uid.to_string(),
        namespace: key.binding.namespace.clone().unwrap_or_default(),
        name: key.binding.name.clone(),
        uid: key.binding_uid.to_string(),
    }
}

/// A key that the API carried.
///
/// # Errors
/// [`Malformed`] when a part is missing or the cause names none.
pub fn from_key(key: Option<v1::EntryKey>) -> Result<EntryKey, Malformed> {
    one_of(key, &mut InCommon::default())
}

/// A key that the API carried, one of many.
fn one_of(key: Option<v1::EntryKey>, common: &mut InCommon) -> Result<EntryKey, Malformed> {
    let key = key.ok_or(Malformed::Missing { field: "key" })?;
    for (field, text) in [
        ("key.cluster", &key.cluster),
        ("key.cluster_uid", &key.cluster_uid),
        ("key.name", &key.name),
        ("key.uid", &key.uid),
    ] {
        if text.is_empty() {
            return Err(Malformed::Missing { field });
        }
    }
    for (field, text) in [
        ("key.cause", &key.cause),
        ("key.cluster", &key.cluster),
        ("key.cluster_uid", &key.cluster_uid),
        ("key.namespace", &key.namespace),
        ("key.name", &key.name),
        ("key.uid", &key.uid),
    ] {
        if text.len() > MAX_NAME_BYTES {
            let why = format!("{} bytes are too many: a name has at most {MAX_NAME_BYTES}", text.len());
            return Err(invalid(field, why));
        }
    }
    let cause = common
        .cause(&key.cause)
        .map_err(|error| invalid("key.cause", format!("{error}")))?;
    Ok(EntryKey {
        cluster: common.text(&key.cluster).into(),
        cluster_uid: common.text(&key.cluster_uid),
        binding: BindingKey {
            namespace: Some(key.namespace).filter(|name| !name.is_empty()),
            name: key.name,
        },
        binding_uid: key.uid.into(),
        cause,
    })
}

fn to_purge_mode(mode: Purge) -> v1::PurgeMode {
    match mode {
        Purge::Directly => v1::PurgeMode::Directly,
        Purge::Gracefully => v1::PurgeMode::Gracefully,
        Purge::Never => v1::PurgeMode::Never,
    }
}

fn from_purge_mode(mode: v1::PurgeMode) -> Purge {
    match mode {
        v1::PurgeMode::Directly => Purge::Directly,
        v1::PurgeMode::Never => Purge::Never,
        v1::PurgeMode::Unspecified | v1::PurgeMode::Gracefully => Purge::Gracefully,
    }
}

/// A reason to hold as the API has it.
#[must_use]
pub fn to_hold_reason(reason: HoldReason) -> v1::HoldReason {
    match reason {
        HoldReason::CauseNotSeen => v1::HoldReason::CauseNotSeen,
        HoldReason::ProducerGone => v1::HoldReason::ProducerGone,
        HoldReason::Dropped => v1::HoldReason::Dropped,
        HoldReason::Undropped => v1::HoldReason::Undropped,
        HoldReason::Stay => v1::HoldReason::Stay,
        HoldReason::Recovering => v1::HoldReason::Recovering,
        HoldReason::NotNeeded => v1::HoldReason::NotNeeded,
        HoldReason::NoTarget => v1::HoldReason::NoTarget,
        HoldReason::Wait => v1::HoldReason::Wait,
        HoldReason::SecondOwner => v1::HoldReason::SecondOwner,
        HoldReason::Paused => v1::HoldReason::Paused,
    }
}

/// A reason to hold; `None` for one that this version does not know.
#[must_use]
pub fn from_hold_reason(reason: v1::HoldReason) -> Option<HoldReason> {
    Some(match reason {
        v1::HoldReason::Unspecified => return None,
        v1::HoldReason::CauseNotSeen => HoldReason::CauseNotSeen,
        v1::HoldReason::ProducerGone => HoldReason::ProducerGone,
        v1::HoldReason::Dropped => HoldReason::Dropped,
        v1::HoldReason::Undropped => HoldReason::Undropped,
        v1::HoldReason::Stay => HoldReason::Stay,
        v1::HoldReason::Recovering => HoldReason::Recovering,
        v1::HoldReason::NotNeeded => HoldReason::NotNeeded,
        v1::HoldReason::NoTarget => HoldReason::NoTarget,
        v1::HoldReason::Wait => HoldReason::Wait,
        v1::HoldReason::SecondOwner => HoldReason::SecondOwner,
        v1::HoldReason::Paused => HoldReason::Paused,
    })
}

/// Why an entry left, as the API has it.
#[must_use]
pub fn to_removed_reason(removed: Removed) -> v1::RemovedReason {
    match removed {
        Removed::Evicted => v1::RemovedReason::Evicted,
        Removed::ProducerGone => v1::RemovedReason::ProducerGone,
        Removed::Withdrawn(reason) => match reason {
            WithdrawReason::NotPublished => v1::RemovedReason::Withdrawn,
            WithdrawReason::ClusterRecovered => v1::RemovedReason::ClusterRecovered,
            WithdrawReason::Tolerated => v1::RemovedReason::Tolerated,
            WithdrawReason::BindingGone => v1::RemovedReason::BindingGone,
            WithdrawReason::Leaving => v1::RemovedReason::Leaving,
            WithdrawReason::Replaced => v1::RemovedReason::Replaced,
            WithdrawReason::SwitchedOff => v1::RemovedReason::SwitchedOff,
            WithdrawReason::ApplicationRecovered => v1::RemovedReason::ApplicationRecovered,
            WithdrawReason::ClusterNotReady => v1::RemovedReason::ClusterNotReady,
        },
    }
}

/// Why an entry left; `None` for a reason that this version does not know.
#[must_use]
pub fn from_removed_reason(reason: v1::RemovedReason) -> Option<Removed> {
    Some(match reason {
        v1::RemovedReason::Unspecified => return None,
        v1::RemovedReason::Evicted => Removed::Evicted,
        v1::RemovedReason::ProducerGone => Removed::ProducerGone,
        v1::RemovedReason::Withdrawn => Removed::Withdrawn(WithdrawReason::NotPublished),
        v1::RemovedReason::ClusterRecovered => Removed::Withdrawn(WithdrawReason::ClusterRecovered),
        v1::RemovedReason::Tolerated => Removed::Withdrawn(WithdrawReason::Tolerated),
        v1::RemovedReason::BindingGone => Removed::Withdrawn(WithdrawReason::BindingGone),
        v1::RemovedReason::Leaving => Removed::Withdrawn(WithdrawReason::Leaving),
        v1::RemovedReason::Replaced => Removed::Withdrawn(WithdrawReason::Replaced),
        v1::RemovedReason::SwitchedOff => Removed::Withdrawn(WithdrawReason::SwitchedOff),
        v1::RemovedReason::ApplicationRecovered => Removed::Withdrawn(WithdrawReason::ApplicationRecovered),
        v1::RemovedReason::ClusterNotReady => Removed::Withdrawn(WithdrawReason::ClusterNotReady),
    })
}

fn from_producer_hold(hold: v1::Hold, common: &mut InCommon) -> Result<Box<ProducerHold>, Malformed> {
    let reason = match v1::HoldReason::try_from(hold.reason) {
        Ok(v1::HoldReason::Stay) => HoldReason::Stay,
        // A newer producer's reason: held all the same, and its message says why.
        Ok(v1::HoldReason::Recovering) | Err(_) => HoldReason::Recovering,
        Ok(other) => {
            return Err(invalid(
                "hold.reason",
                format!("a producer cannot hold for {}", other.as_str_name()),
            ));
        }
    };
    Ok(Box::new(ProducerHold {
        by_drop: hold.dropped && reason == HoldReason::Stay,
        reason,
        message: common.text(&short_text(hold.message)),
    }))
}

/// The template as the API has it.
#[must_use]
pub fn to_template(template: &TemplateRef) -> v1::ResourceRef {
    v1::ResourceRef {
        api_version: template.api_version.to_string(),
        kind: template.kind.to_string(),
        namespace: template.namespace.as_deref().unwrap_or_default().to_owned(),
        name: template.name.to_string(),
    }
}

/// An entry as a producer publishes it.
#[must_use]
pub fn to_published(entry: &Published) -> v1::PublishedEntry {
    v1::PublishedEntry {
        key: Some(to_key(&entry.key)),
        due_at: Some(to_time(entry.due_at)),
        priority: entry.priority,
        resource: Some(to_template(&entry.template)),
        replicas: entry.replicas,
        purge_mode: to_purge_mode(entry.purge_mode).into(),
        grace_period_seconds: entry.grace_period_seconds,
        reason: entry.reason.to_string(),
        hold: entry.hold.as_ref().map(|hold| v1::Hold {
            reason: to_hold_reason(hold.reason).into(),
            message: hold.message.to_string(),
            until: None,
            dropped: hold.by_drop,
        }),
        binding_generation: entry.versions.binding_generation,
        binding_resource_version: entry.versions.binding.to_string(),
        cluster_resource_version: entry.versions.cluster.to_string(),
        traceparent: entry.traceparent.as_deref().unwrap_or_default().to_owned(),
    }
}

/// An entry that a producer published; what it has in common with others is taken from there.
///
/// # Errors
/// [`Malformed`] when a needed field is missing or makes no sense.
pub fn from_published(entry: v1::PublishedEntry, common: &mut InCommon) -> Result<Published, Malformed> {
    // For people; who evicts reads the binding. A newer producer's mode is none to refuse the entry for.
    let purge_mode = from_purge_mode(v1::PurgeMode::try_from(entry.purge_mode).unwrap_or_default());
    let template = entry.resource.ok_or(Malformed::Missing { field: "resource" })?;
    let key = one_of(entry.key, common)?;
    let reason = short_text(entry.reason);
    Ok(Published {
        // What is said of an application is said of one.
        reason: match key.cause.kind() {
            CauseKind::Application => reason.into(),
            CauseKind::Taint | CauseKind::Deletion => common.text(&reason),
        },
        key: key.into(),
        due_at: from_time("due_at", &entry.due_at.ok_or(Malformed::Missing { field: "due_at" })?)?,
        priority: entry.priority,
        template: TemplateRef {
            api_version: common.text(&short_name("resource.api_version", template.api_version)?),
            kind: common.text(&short_name("resource.kind", template.kind)?),
            namespace: Some(short_name("resource.namespace", template.namespace)?)
                .filter(|name| !name.is_empty())
                .map(|name| common.text(&name)),
            name: short_name("resource.name", template.name)?.into(),
        },
        replicas: not_negative("replicas", entry.replicas)?,
        purge_mode,
        grace_period_seconds: entry
            .grace_period_seconds
            .map(|seconds| not_negative("grace_period_seconds", seconds))
            .transpose()?,
        hold: entry.hold.map(|hold| from_producer_hold(hold, common)).transpose()?,
        versions: BindingVersions {
            binding_generation: entry.binding_generation,
            binding: short_name("binding_resource_version", entry.binding_resource_version)?.into(),
            cluster: short_name("cluster_resource_version", entry.cluster_resource_version)?.into(),
        },
        // What is none of this form joins nothing: nobody reads it.
        traceparent: Some(entry.traceparent)
            .filter(|text| text.parse::<TraceContext>().is_ok())
            .map(String::into_boxed_str),
    })
}

/// A reason to take an entry back, as the API has it.
#[must_use]
pub fn to_withdraw_reason(reason: WithdrawReason) -> v1::WithdrawReason {
    match reason {
        WithdrawReason::NotPublished => v1::WithdrawReason::Unspecified,
        WithdrawReason::ClusterRecovered => v1::WithdrawReason::ClusterRecovered,
        WithdrawReason::Tolerated => v1::WithdrawReason::Tolerated,
        WithdrawReason::BindingGone => v1::WithdrawReason::BindingGone,
        WithdrawReason::Leaving => v1::WithdrawReason::Leaving,
        WithdrawReason::Replaced => v1::WithdrawReason::Replaced,
        WithdrawReason::SwitchedOff => v1::WithdrawReason::SwitchedOff,
        WithdrawReason::ApplicationRecovered => v1::WithdrawReason::ApplicationRecovered,
        WithdrawReason::ClusterNotReady => v1::WithdrawReason::ClusterNotReady,
    }
}

/// A reason to take an entry back.
#[must_use]
pub fn from_withdraw_reason(reason: v1::WithdrawReason) -> WithdrawReason {
    match reason {
        v1::WithdrawReason::Unspecified => WithdrawReason::NotPublished,
        v1::WithdrawReason::ClusterRecovered => WithdrawReason::ClusterRecovered,
        v1::WithdrawReason::Tolerated => WithdrawReason::Tolerated,
        v1::WithdrawReason::BindingGone => WithdrawReason::BindingGone,
        v1::WithdrawReason::Leaving => WithdrawReason::Leaving,
        v1::WithdrawReason::Replaced => WithdrawReason::Replaced,
        v1::WithdrawReason::SwitchedOff => WithdrawReason::SwitchedOff,
        v1::WithdrawReason::ApplicationRecovered => WithdrawReason::ApplicationRecovered,
        v1::WithdrawReason::ClusterNotReady => WithdrawReason::ClusterNotReady,
    }
}

/// A kind of cause as the API has it.
#[must_use]
pub fn to_cause_kind(kind: CauseKind) -> v1::CauseKind {
    match kind {
        CauseKind::Taint => v1::CauseKind::Taint,
        CauseKind::Deletion => v1::CauseKind::Deletion,
        CauseKind::Application => v1::CauseKind::Application,
    }
}

/// A state as the API has it.
#[must_use]
pub fn to_state(state: &State) -> v1::EntryState {
    match state {
        State::Waiting => v1::EntryState::Waiting,
        State::Ready => v1::EntryState::Ready,
        State::Leased(_) => v1::EntryState::Leased,
        State::Held { .. } => v1::EntryState::Held,
    }
}

/// An entry as the queue has it.
#[must_use]
pub fn to_entry(entry: &Entry) -> v1::Entry {
    let hold = match &entry.state {
        State::Held { reason, message, until } => Some(v1::Hold {
            reason: to_hold_reason(*reason).into(),
            message: message.to_string(),
            until: until.map(to_time),
            dropped: *reason == HoldReason::Stay && entry.published.hold.as_ref().is_some_and(|hold| hold.by_drop),
        }),
        _ => None,
    };
    v1::Entry {
        published: Some(to_published(&entry.published)),
        producer: entry.producer.to_string(),
        cause_kind: to_cause_kind(entry.key().cause.kind()).into(),
        state: to_state(&entry.state).into(),
        since: Some(to_time(entry.since)),
        hold,
        queued_at: Some(to_time(entry.queued_at)),
        not_before: entry.past.not_before.map(to_time),
        failures: entry.past.failures,
        last_outcome: entry.past.last_outcome.to_string(),
        order: entry.order.as_deref().map(to_order),
    }
}

fn to_order(order: &OperatorOrder) -> v1::OperatorOrder {
    v1::OperatorOrder {
        kind: match order.request.kind {
            OrderKind::Drop => v1::OrderKind::Drop,
            OrderKind::Undrop => v1::OrderKind::Undrop,
        }
        .into(),
        caller: order.request.caller.to_string(),
        reason: order.request.reason.clone(),
        at: Some(to_time(order.at)),
        id: order.id,
    }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
