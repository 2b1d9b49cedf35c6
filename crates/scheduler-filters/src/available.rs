//! How many replicas a candidate can hold: those that it has been assigned, and those that it has room for.
//!
//! Rules: room is what the estimate says ([`crate::estimate`]), at most 2^31-1, and where it is that much, as many replicas
//! as are asked for. Who has no replicas to place needs no room. Ours: a cluster that takes nothing new has no room for more,
//! though what runs there stays: one that is not Ready (its report is as old as its last word), and one that would be refused
//! if the binding were not there yet.

use std::cell::OnceCell;

use api_types::cluster::Cluster;
use api_types::work::Binding;

use crate::estimate;
use crate::plugin::Plugins;
use crate::request::{Refusal, Request};

/// What a candidate can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Available {
    /// Replicas that the present result assigns to it.
    pub assigned: i32,
    /// Replicas that it has room for beside them.
    pub room: i32,
}

impl Available {
    /// Both together.
    #[must_use]
    pub fn total(self) -> i64 {
        i64::from(self.assigned) + i64::from(self.room)
    }
}

/// Tells what candidates can hold.
pub struct Estimator<'a> {
    request: Request<'a>,
    plugins: &'a Plugins,
    /// The binding as if it ran nowhere yet; made when a cluster asks for it.
    elsewhere: OnceCell<Binding>,
}

impl<'a> Estimator<'a> {
    /// For one binding, with the plugins that judge whether a cluster would take it anew.
    #[must_use]
    pub fn new(request: Request<'a>, plugins: &'a Plugins) -> Self {
        Self {
            request,
            plugins,
            elsewhere: OnceCell::new(),
        }
    }

    /// What `cluster` can hold, a cluster that passed the filters.
    #[must_use]
    pub fn available(&self, cluster: &Cluster) -> Available {
        let binding = self.request.binding;
        let target = binding.spec.target(&cluster.cluster_name());
        let assigned = target.map_or(0, |target| target.replicas.max(0));
        let wanted = binding.replicas();
        let room = if wanted <= 0 {
            i32::MAX
        } else if !cluster.is_ready() || target.is_some() && self.takes_new(cluster).is_err() {
            0
        } else {
            let room = estimate::room(cluster, binding.spec.replica_requirements.as_ref()).replicas();
            match i32::try_from(room).unwrap_or(i32::MAX) {
                i32::MAX => wanted,
                room => room.max(0),
            }
        };
        Available { assigned, room }
    }

    fn takes_new(&self, cluster: &Cluster) -> Result<(), Refusal> {
        let elsewhere = self.elsewhere.get_or_init(|| {
            let mut elsewhere = self.request.binding.clone();
            elsewhere.spec.clusters.clear();
            elsewhere
        });
        let request = Request {
            binding: elsewhere,
            ..self.request
        };
        crate::schedule::judge(&request, self.plugins, cluster)
    }
}
