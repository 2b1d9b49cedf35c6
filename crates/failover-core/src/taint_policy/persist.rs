//! What is stored in our annotations on the Cluster: read with complaints, changed only when the meaning changes.

use api_types::cluster::Cluster;
use api_types::names::annotation;
use serde::Serialize;

use super::flaps::FlapScore;
use super::outcome::AnnotationChange;
use super::records::{ManagedTaints, RecordError, Windows};
use super::report::Notice;

/// The annotations as they are stored.
pub(super) struct Stored {
    pub managed: Result<ManagedTaints, RecordError>,
    pub windows: Result<Windows, RecordError>,
    pub flaps: Result<FlapScore, RecordError>,
}

/// The annotations as they are to be.
pub(super) struct Wanted {
    pub managed: ManagedTaints,
    pub windows: Windows,
    /// Only when Ready crossed.
    pub flaps: Option<FlapScore>,
    /// What lies ahead, for people; empty when nothing does.
    pub forecast: String,
}

impl Stored {
    pub fn read(cluster: &Cluster) -> Self {
        let annotations = cluster.metadata.annotations.as_ref();
        Self {
            managed: ManagedTaints::read(annotations),
            windows: Windows::read(annotations),
            flaps: FlapScore::read(annotations),
        }
    }

    /// What cannot be read, and what follows from that.
    pub fn complaints(&self) -> Vec<Notice> {
        let one = |error: Option<&RecordError>, consequence: &str| {
            error.map(|error| Notice {
                reason: "TaintRecordUnreadable",
                is_warning: true,
                text: format!("{error}; {consequence}"),
            })
        };
        let all = [
            one(
                self.managed.as_ref().err(),
                "taints that stand now are taken for somebody else's and stay until removed by hand",
            ),
            one(
                self.windows.as_ref().err(),
                "windows that this process has not seen start anew",
            ),
            one(self.flaps.as_ref().err(), "the flap score starts anew"),
        ];
        all.into_iter().flatten().collect()
    }

    pub fn changes(&self, cluster: &Cluster, wanted: &Wanted) -> Vec<AnnotationChange> {
        let managed = (!wanted.managed.taints.is_empty()).then_some(&wanted.managed);
        let windows = (!wanted.windows.windows.is_empty()).then_some(&wanted.windows);
        let mut changes: Vec<AnnotationChange> = [
            change(annotation::MANAGED_TAINTS, cluster, &self.managed, managed),
            change(annotation::TAINT_WINDOWS, cluster, &self.windows, windows),
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
