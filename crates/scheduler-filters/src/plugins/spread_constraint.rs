//! `SpreadConstraint`: the cluster says where it is, where the placement groups by that.

use api_types::cluster::Cluster;
use api_types::placement::SpreadField;

use crate::plugin::Filter;
use crate::request::{Refusal, Request};

/// Refuses clusters without the field by which the placement groups.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpreadConstraint;

impl Filter for SpreadConstraint {
    fn name(&self) -> &'static str {
        "SpreadConstraint"
    }

    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        let given = |field: &Option<String>| field.as_deref().is_some_and(|text| !text.is_empty());
        for constraint in &request.placement.spread_constraints {
            let (has, field) = match &constraint.spread_by_field {
                Some(SpreadField::Provider) => (given(&cluster.spec.provider), "provider"),
                Some(SpreadField::Region) => (given(&cluster.spec.region), "region"),
                Some(SpreadField::Zone) => (!cluster.zones().is_empty(), "zones"),
                Some(SpreadField::Cluster | SpreadField::Other(_)) | None => continue,
            };
            if !has {
                return Err(Refusal::new(
                    self.name(),
                    format!("cluster(s) did not have {field} property"),
                ));
            }
        }
        Ok(())
    }
}
