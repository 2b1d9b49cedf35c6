//! The lines of a dump.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::report::NotRead;
use crate::output::API_VERSION;

/// `kind` of the first line.
pub(super) const KIND: &str = "Dump";

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    pub(super) api_version: String,
    pub(super) kind: String,
    /// When it was begun.
    pub(super) as_of: Timestamp,
    /// Version of the program that made it.
    pub(super) made_by: String,
    /// Namespace of the Leases.
    pub(super) system_namespace: String,
}

impl Header {
    pub(super) fn new(as_of: Timestamp, system_namespace: &str) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            as_of,
            made_by: controller_kit::VERSION.to_owned(),
            system_namespace: system_namespace.to_owned(),
        }
    }
}

/// Every other line: one of these fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line {
    /// An object of the API server.
    Object(Value),
    /// An answer of the queue.
    Queue(Answer),
    /// The last line.
    End(End),
}

/// An answer of the queue, or a part of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// What it is about.
    pub(super) part: Part,
    /// Where the queue answered.
    pub(super) address: String,
    /// The message of `eviction_queue.proto`.
    pub(super) wire: ByteString,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) view: Value,
}

/// Parts of what the queue says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Part {
    /// GetStatusResponse.
    Status,
    /// Lane.
    Lane,
    /// GetEntryResponse.
    Entry,
    /// RecentOutcome.
    Recent,
}

/// The last line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct End {
    /// Lines between the first and this one.
    pub(super) lines: usize,
    /// What could not be read, or was left out.
    pub(super) not_read: Vec<NotRead>,
}
