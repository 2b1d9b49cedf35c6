//! Writes to one member, counted by stock's names (`docs/metrics.md` says where they are not all of stock's).

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use controller_kit::Context;
use controller_kit::metrics::{CollectorGuard, Family};
use parking_lot::Mutex;

use super::member::MemberFailure;
use crate::counts::{SUCCESS, result};
use crate::kinds::Kind;

/// What was asked of the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    /// To create an object that it never had from us.
    Create,
    /// To create one that it had, and lost.
    Recreate,
    /// To change one.
    Update,
    /// To delete one.
    Delete,
}

/// Of one member, while it is worked on.
pub struct MemberWrites {
    counted: Arc<Mutex<BTreeMap<Series, u64>>>,
    /// The series go with the work on the member.
    _series: CollectorGuard,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    write: Write,
    api_version: String,
    kind: String,
    result: &'static str,
}

impl MemberWrites {
    /// None yet, to this member.
    #[must_use]
    pub fn to(ctx: &Context, cluster: &ClusterName) -> Self {
        let counted = Arc::<Mutex<BTreeMap<Series, u64>>>::default();
        let (shown, cluster) = (counted.clone(), cluster.clone());
        let series = ctx
            .metrics
            .guarded_collector("writes to a member", move || families(&cluster, &shown.lock()));
        Self {
            counted,
            _series: series,
        }
    }

    /// One more was asked for, and answered so.
    pub fn count<T>(&self, write: Write, kind: &Kind, answered: &Result<T, MemberFailure>) {
        let series = Series {
            write,
            api_version: kind.api_version(),
            kind: kind.kind().to_owned(),
            result: result(answered),
        };
        *self.counted.lock().entry(series).or_default() += 1;
    }
}

fn families(cluster: &ClusterName, counted: &BTreeMap<Series, u64>) -> Vec<Family> {
    let mut created = Family::counter(
        "create_resource_to_cluster",
        "Objects that the member was asked to create, by result, and by whether it had had and lost them (recreate), since it \
         became Ready.",
    );
    let mut updated = Family::counter(
        "update_resource_to_cluster",
        "Objects that the member was asked to change, by result, since it became Ready.",
    );
    let mut deleted = Family::counter(
        "delete_resource_from_cluster",
        "Objects that the member was asked to delete, by result, since it became Ready.",
    );
    for (series, count) in counted {
        #[allow(clippy::cast_precision_loss, reason = "nobody writes 2^52 objects")]
        let count = *count as f64;
        let (cluster, result) = (cluster.as_str(), series.result);
        let of = [
            ("member_cluster", cluster),
            ("apiversion", series.api_version.as_str()),
            ("kind", series.kind.as_str()),
            ("result", result),
        ];
        match series.write {
            Write::Create => created.add(&[&of[..], &[("recreate", "false")]].concat(), count),
            Write::Recreate => created.add(&[&of[..], &[("recreate", "true")]].concat(), count),
            Write::Update => {
                let became = if result == SUCCESS { "updated" } else { "none" };
                updated.add(&[&of[..], &[("operationResult", became)]].concat(), count);
            }
            Write::Delete => deleted.add(&of, count),
        }
    }
    vec![created, updated, deleted]
}
