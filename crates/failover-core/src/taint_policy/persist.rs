//! What is stored in our annotations on the Cluster: read with complaints, changed only when the meaning changes.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::names::annotation;
use serde::Serialize;

use super::flaps::FlapScore;
use super::outcome::AnnotationChange;
use super::records::{ManagedTaints, RecordError, TaintId, Window, Windows};
use super::report::Notice;
use super::windows::Memory;

/// The annotations as they are stored. The windows are read only when they are needed: a process that has its own
/// compares the text.
pub(super) struct Stored<'a> {
    pub managed: Result<ManagedTaints, RecordError>,
    pub flaps: Result<FlapScore, RecordError>,
    annotations: Option<&'a BTreeMap<String, String>>,
    windows: OnceCell<Result<Windows, RecordError>>,
}

/// The annotations as they are to be.
pub(super) struct Wanted<'a> {
    pub managed: ManagedTaints,
    /// By policy UID.
    pub windows: BTreeMap<&'a str, &'a Window>,
    /// Only when Ready crossed.
    pub flaps: Option<FlapScore>,
    /// What lies ahead, for people; empty when nothing does.
    pub forecast: String,
}

/// As [`Windows`], without owning any.
#[derive(Serialize)]
struct WindowsToWrite<'a> {
    cluster: &'a str,
    windows: &'a BTreeMap<&'a str, &'a Window>,
}

impl<'a> Stored<'a> {
    pub fn read(cluster: &'a Cluster) -> Self {
        let annotations = cluster.metadata.annotations.as_ref();
        Self {
            managed: ManagedTaints::read(annotations),
            flaps: FlapScore::read(annotations),
            annotations,
            windows: OnceCell::new(),
        }
    }

    pub fn windows(&self) -> &Result<Windows, RecordError> {
        self.windows.get_or_init(|| Windows::read(self.annotations))
    }

    /// What could not be read, and what follows from that. `lost` are the taints of ours that the record no longer owns
    /// up to, though this process knows that they are.
    pub fn complaints(&self, memory: Option<&Memory>, lost: &[TaintId]) -> Vec<Notice> {
        let one = |error: Option<&RecordError>, consequence: &str| {
            error.map(|error| warning("TaintRecordUnreadable", format!("{error}; {consequence}")))
        };
        let edited = self.managed.is_ok() && !lost.is_empty();
        let all = [
            one(
                self.managed.as_ref().err(),
                match memory {
                    None => "taints that stand now are taken for somebody else's and stay until removed by hand",
                    Some(_) => "this process remembers which taints are its own and records them again",
                },
            ),
            edited.then(|| {
                let name = annotation::MANAGED_TAINTS;
                let lost: Vec<String> = lost.iter().map(ToString::to_string).collect();
                let text = format!(
                    "annotation {name} was removed or edited by somebody else; this process remembers that {} is its own \
                     and records it again",
                    lost.join(", ")
                );
                warning(Notice::RECORD_LOST, text)
            }),
            one(
                self.windows.get().and_then(|read| read.as_ref().err()),
                "windows that this process has not seen start anew",
            ),
            one(self.flaps.as_ref().err(), "the flap score starts anew"),
        ];
        all.into_iter().flatten().collect()
    }

    pub fn changes(&self, cluster: &Cluster, wanted: &Wanted<'_>) -> Vec<AnnotationChange> {
        let managed = (!wanted.managed.taints.is_empty()).then_some(&wanted.managed);
        let mut changes: Vec<AnnotationChange> = [
            change(annotation::MANAGED_TAINTS, cluster, &self.managed, managed),
            self.windows_change(cluster, wanted),
            forecast_change(cluster, &wanted.forecast),
        ]
        .into_iter()
        .flatten()
        .collect();
        // Without a crossing a score that can be read stays as it is.
        if wanted.flaps.is_some() || self.flaps.is_err() {
            changes.extend(change(
                annotation::FLAP_SCORE,
                cluster,
                &self.flaps,
                wanted.flaps.as_ref(),
            ));
        }
        changes
    }

    fn windows_change(&self, cluster: &Cluster, wanted: &Wanted<'_>) -> Option<AnnotationChange> {
        let name = annotation::TAINT_WINDOWS;
        let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
        let stored = text(cluster, name);
        if wanted.windows.is_empty() {
            return stored.map(|_| AnnotationChange { name, value: None });
        }
        // Maps with text keys and plain values always serialise.
        let to_write = WindowsToWrite {
            cluster: uid,
            windows: &wanted.windows,
        };
        let value = serde_json::to_string(&to_write).ok()?;
        let same_meaning = |stored: &Windows| {
            let pairs = stored.windows.iter().map(|(uid, window)| (uid.as_str(), window));
            stored.cluster == uid && pairs.eq(wanted.windows.iter().map(|(uid, window)| (*uid, *window)))
        };
        let differs = match stored {
            None => true,
            // Fields that a newer version added are left where nothing else is to be said.
            Some(stored) => *stored != value && !self.windows().as_ref().is_ok_and(same_meaning),
        };
        differs.then_some(AnnotationChange {
            name,
            value: Some(value),
        })
    }
}

fn warning(reason: &'static str, text: String) -> Notice {
    Notice {
        reason,
        is_warning: true,
        text,
    }
}

fn text<'a>(cluster: &'a Cluster, name: &str) -> Option<&'a String> {
    cluster.metadata.annotations.as_ref()?.get(name)
}

fn forecast_change(cluster: &Cluster, wanted: &str) -> Option<AnnotationChange> {
    let stored = text(cluster, annotation::TAINT_FORECAST).map(String::as_str);
    let wanted = Some(wanted).filter(|wanted| !wanted.is_empty());
    (stored != wanted).then(|| AnnotationChange {
        name: annotation::TAINT_FORECAST,
        value: wanted.map(str::to_owned),
    })
}

/// The change of an annotation, if its meaning changes. What nobody can read is replaced.
fn change<T: Serialize + PartialEq>(
    name: &'static str,
    cluster: &Cluster,
    stored: &Result<T, RecordError>,
    wanted: Option<&T>,
) -> Option<AnnotationChange> {
    let exists = text(cluster, name).is_some();
    let Some(wanted) = wanted else {
        return exists.then_some(AnnotationChange { name, value: None });
    };
    if exists && stored.as_ref().is_ok_and(|stored| stored == wanted) {
        return None;
    }
    // Maps with text keys and plain values always serialise.
    serde_json::to_string(wanted).ok().map(|text| AnnotationChange {
        name,
        value: Some(text),
    })
}
