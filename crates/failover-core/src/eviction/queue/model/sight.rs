//! What the queue sees: Clusters, pauses, and what the administrator chose.

use api_types::ClusterName;

use super::{Queue, Synced, later};
use crate::eviction::queue::entry::{Entry, WithdrawReason};
use crate::eviction::queue::event::{Moment, NoTargetRestsOn};
use crate::eviction::queue::lane::Lane;
use crate::eviction::queue::past::Aftermath;
use crate::eviction::queue::rates::RateSettings;
use crate::eviction::queue::view::ClusterView;

impl Queue {
    pub(super) fn cluster_seen(&mut self, view: ClusterView, now: Moment) {
        let name = view.name.clone();
        self.judged_at = None;
        let before = self.clusters.insert(name.clone(), view);
        let view = &self.clusters[&name];
        let causes_changed = before
            .as_ref()
            .is_none_or(|b| b.causes != view.causes || b.uid != view.uid);
        let resources_changed = before.as_ref().is_some_and(|b| b.resources != view.resources);
        let place_changed = before.as_ref().is_none_or(|b| b.as_a_place != view.as_a_place);
        match &view.fault {
            Some(fault) => {
                let since = fault.since.unwrap_or(now.wall);
                let lane = self.lanes.entry(name.clone()).or_insert_with(|| Lane::new(since));
                lane.since = since;
            }
            None => self.close_lane(&name),
        }
        if causes_changed {
            self.refresh_cluster(&name, now);
        }
        if place_changed {
            self.look_for_targets_again(now);
        } else if resources_changed {
            self.look_for_room_soon(now);
        }
    }

    pub(super) fn cluster_gone(&mut self, name: &ClusterName, now: Moment) {
        self.judged_at = None;
        if self.clusters.remove(name).is_some() {
            self.refresh_cluster(name, now);
            self.close_lane(name);
        }
        if !self.lanes.contains_key(name) {
            self.stats.remove(name);
        }
    }

    pub(super) fn refresh_cluster(&mut self, name: &ClusterName, now: Moment) {
        for key in self.keys_on(name) {
            self.refresh(&key, now);
        }
        self.drop_recovered_of_gone(now);
    }

    /// A cluster may have become a place: who found none is judged again.
    pub(super) fn look_for_targets_again(&mut self, now: Moment) {
        let without_target: Vec<_> = self
            .looks
            .keys()
            .filter(|key| {
                self.entries
                    .get(key)
                    .is_some_and(|e| matches!(e.past.aftermath, Some(Aftermath::NoTarget { .. })))
            })
            .cloned()
            .collect();
        for key in without_target {
            self.change(&key, now, |entry| entry.past.aftermath = None);
        }
    }

    /// Resource figures changed: whoever found too little room is judged again, but not more often than every
    /// [`QueueSettings::resources_settle`](super::QueueSettings), since somewhere they change all the time.
    fn look_for_room_soon(&mut self, now: Moment) {
        let soon = later(now.wall, self.settings.resources_settle);
        let for_room = |entry: &Entry| match &entry.past.aftermath {
            Some(Aftermath::NoTarget { until, rests_on, .. }) => {
                *rests_on == NoTargetRestsOn::PlacesAndResources && *until > soon
            }
            _ => false,
        };
        let short: Vec<_> = self
            .looks
            .keys()
            .filter(|key| self.entries.get(key).is_some_and(|entry| for_room(entry)))
            .cloned()
            .collect();
        for key in short {
            self.change(&key, now, |entry| {
                if let Some(Aftermath::NoTarget { until, .. }) = &mut entry.past.aftermath {
                    *until = soon;
                }
            });
        }
    }

    /// Of a producer that is gone nobody takes back what recovered.
    pub(super) fn drop_recovered_of_gone(&mut self, now: Moment) {
        let gone: Vec<_> = self
            .producers
            .iter()
            .filter(|(_, p)| p.is_gone())
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            for key in self.keys_of(&name) {
                if self.clusters_synced == Synced::Yes && !self.stands(&key) {
                    self.take_back(&key, WithdrawReason::ClusterRecovered, now);
                }
            }
        }
    }

    /// The fleet is judged anew, and the bucket keeps its fill: what was released counts at any rate.
    pub(super) fn rates_changed(&mut self, rates: &RateSettings) {
        self.settings = self.settings.clone().with_rates(rates);
        self.rates_refused = None;
        self.judged_at = None;
    }

    pub(super) fn pauses_changed(&mut self, now: Moment) {
        let active = self.pauses.values().filter(|pause| pause.is_active(now.wall));
        self.active_pauses = active.map(|pause| pause.name.clone()).collect();
        self.judged_at = None;
        for key in self.entries.keys().cloned().collect::<Vec<_>>() {
            self.refresh(&key, now);
        }
    }
}
