//! How fast evictions may go, given how much of the fleet is faulty: a pure function with its reason and numbers.

use std::collections::BTreeSet;
use std::fmt;

use api_types::cluster::{Cluster, effect};
use jiff::Timestamp;

/// Rates and thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct RegimeSettings {
    /// `--resource-eviction-rate`, evictions per second. Default 0.5.
    pub primary_rate: f64,
    /// `--secondary-resource-eviction-rate`, evictions per second. Default 0.1.
    pub secondary_rate: f64,
    /// `--unhealthy-cluster-threshold`, a share of the fleet in (0, 1]. Default 0.55.
    pub unhealthy_threshold: f64,
    /// `--large-cluster-num-threshold`: a fleet of more clusters is large. Default 10.
    pub large_cluster_num_threshold: usize,
    /// `--non-failure-taint-keys`: taints of these keys make no cluster faulty. Default the drain key.
    pub non_failure_taint_keys: BTreeSet<String>,
}

impl Default for RegimeSettings {
    fn default() -> Self {
        Self {
            primary_rate: 0.5,
            secondary_rate: 0.1,
            unhealthy_threshold: 0.55,
            large_cluster_num_threshold: 10,
            non_failure_taint_keys: BTreeSet::from([api_types::names::taint::DRAIN.to_owned()]),
        }
    }
}

/// What makes a cluster faulty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The taint, as `key:effect`.
    pub taint: String,
    /// When it was added; absent: not stamped yet.
    pub since: Option<Timestamp>,
}

/// The taint that makes a cluster faulty, the oldest of several: NoExecute or PreferNoExecute, with a key that stands
/// for failure.
#[must_use]
pub fn fault(cluster: &Cluster, non_failure_taint_keys: &BTreeSet<String>) -> Option<Fault> {
    cluster
        .spec
        .taints
        .iter()
        .filter(|taint| matches!(taint.effect.as_str(), effect::NO_EXECUTE | effect::PREFER_NO_EXECUTE))
        .filter(|taint| !non_failure_taint_keys.contains(&taint.key))
        .map(|taint| Fault {
            taint: format!("{}:{}", taint.key, taint.effect),
            since: taint.time_added.as_ref().map(|time| time.0),
        })
        .min_by(|a, b| (a.since.is_none(), a.since, &a.taint).cmp(&(b.since.is_none(), b.since, &b.taint)))
}

/// How fast evictions may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Regime {
    /// The queue does not know enough yet: rate 0.
    Starting,
    /// A pause covers all: rate 0.
    Paused,
    /// Every cluster is faulty, so probably we are cut off: rate 0.
    AllFaulty,
    /// Too large a share of a small fleet is faulty: rate 0.
    Halted,
    /// Too large a share of a large fleet is faulty: the secondary rate.
    Reduced,
    /// The primary rate.
    Normal,
}

impl Regime {
    /// All regimes, in the order in which they are tested.
    pub const ALL: [Self; 6] = [
        Self::Starting,
        Self::Paused,
        Self::AllFaulty,
        Self::Halted,
        Self::Reduced,
        Self::Normal,
    ];

    /// The name, one word in CamelCase.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Paused => "Paused",
            Self::AllFaulty => "AllFaulty",
            Self::Halted => "Halted",
            Self::Reduced => "Reduced",
            Self::Normal => "Normal",
        }
    }

    /// The flag that sets the rate of this regime; the others evict nothing, whatever is configured.
    #[must_use]
    pub fn rate_flag(self) -> Option<&'static str> {
        match self {
            Self::Normal => Some("--resource-eviction-rate"),
            Self::Reduced => Some("--secondary-resource-eviction-rate"),
            Self::Starting | Self::Paused | Self::AllFaulty | Self::Halted => None,
        }
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the queue does not know yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Clusters or pauses have not been listed.
    NotSynced,
    /// The leader is new, and another may not know yet that its time is over.
    LeaderGrace,
    /// It knows.
    Over,
}

/// What the regime follows from.
#[derive(Clone, Debug)]
pub struct Fleet<'a> {
    /// Whether the queue knows enough.
    pub start: Start,
    /// Name and reason of a pause that covers all.
    pub paused_by: Option<(&'a str, &'a str)>,
    /// Clusters, those being deleted left out, cordoned ones counted.
    pub clusters: usize,
    /// Of them, faulty ones.
    pub faulty: usize,
}

/// The regime and why.
#[derive(Clone, Debug, PartialEq)]
pub struct RegimeVerdict {
    /// The regime.
    pub regime: Regime,
    /// Evictions per second; 0 stops.
    pub evictions_per_second: f64,
    /// Why, with the numbers.
    pub reason: String,
    /// Clusters, those being deleted left out.
    pub clusters: usize,
    /// Of them, faulty ones.
    pub faulty: usize,
    /// Their share, 0 to 1; 0 of an empty fleet.
    pub faulty_share: f64,
}

impl RegimeVerdict {
    /// Why nothing at all is released, as one sentence; `None` while something may be.
    #[must_use]
    pub fn standstill(&self) -> Option<String> {
        (self.evictions_per_second <= 0.0).then(|| match self.regime.rate_flag() {
            Some(_) => format!("nothing is released: {}", self.reason),
            None => format!("nothing is released: regime {}, {}", self.regime, self.reason),
        })
    }
}

/// Judges the fleet. The rows of the table are tested in the order of [`Regime::ALL`]; both comparisons are strictly
/// greater, as the optimize-cluster-failover document words them.
#[must_use]
pub fn regime(fleet: &Fleet<'_>, settings: &RegimeSettings) -> RegimeVerdict {
    let &Fleet { clusters, faulty, .. } = fleet;
    #[allow(clippy::cast_precision_loss, reason = "counts of clusters")]
    let faulty_share = if clusters == 0 {
        0.0
    } else {
        faulty as f64 / clusters as f64
    };
    let threshold = settings.unhealthy_threshold;
    let large = settings.large_cluster_num_threshold;
    let counted = format!(
        "{faulty} of {clusters} clusters {} faulty ({:.1} %)",
        if faulty == 1 { "is" } else { "are" },
        faulty_share * 100.0
    );
    let over = faulty_share > threshold;
    let (regime, evictions_per_second, reason) = match (fleet.start, fleet.paused_by) {
        (Start::NotSynced, _) => (
            Regime::Starting,
            0.0,
            "the clusters and pauses have not been listed yet".to_owned(),
        ),
        (Start::LeaderGrace, _) => (
            Regime::Starting,
            0.0,
            "this leader is new and waits for --leader-grace".to_owned(),
        ),
        (Start::Over, Some((name, why))) => (Regime::Paused, 0.0, format!("FailoverPause {name} covers all: {why}")),
        (Start::Over, None) if clusters > 0 && faulty == clusters => (
            Regime::AllFaulty,
            0.0,
            format!("{counted}: all of them, so this control plane is probably cut off"),
        ),
        (Start::Over, None) if over && clusters <= large => (
            Regime::Halted,
            0.0,
            format!(
                "{counted}, more than {:.1} % of a fleet of at most {large}",
                threshold * 100.0
            ),
        ),
        (Start::Over, None) if over => (
            Regime::Reduced,
            settings.secondary_rate,
            format!(
                "{counted}, more than {:.1} % of a fleet of more than {large}",
                threshold * 100.0
            ),
        ),
        (Start::Over, None) => (
            Regime::Normal,
            settings.primary_rate,
            format!("{counted}, not more than {:.1} %", threshold * 100.0),
        ),
    };
    // A rate of 0 must not read as if what the counts allow would go.
    let reason = match regime.rate_flag() {
        Some(flag) if evictions_per_second <= 0.0 => format!("{flag} is 0; {reason}"),
        _ => reason,
    };
    RegimeVerdict {
        regime,
        evictions_per_second,
        reason,
        clusters,
        faulty,
        faulty_share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn judged(clusters: usize, faulty: usize) -> RegimeVerdict {
        regime(
            &Fleet {
                start: Start::Over,
                paused_by: None,
                clusters,
                faulty,
            },
            &RegimeSettings::default(),
        )
    }

    #[rstest]
    #[case::empty_fleet(0, 0, Regime::Normal, 0.5)]
    #[case::healthy(3, 0, Regime::Normal, 0.5)]
    #[case::one_of_three(3, 1, Regime::Normal, 0.5)]
    #[case::two_of_three(3, 2, Regime::Halted, 0.0)]
    #[case::one_cluster(1, 1, Regime::AllFaulty, 0.0)]
    // C44 (kubernetes#30138): two of two is all of them.
    #[case::two_of_two(2, 2, Regime::AllFaulty, 0.0)]
    // C44 (kubernetes#30138): exactly 0.55 is not over the threshold; exactly 10 clusters are a small fleet.
    #[case::at_the_threshold(20, 11, Regime::Normal, 0.5)]
    #[case::over_the_threshold(20, 12, Regime::Reduced, 0.1)]
    #[case::ten_are_small(10, 6, Regime::Halted, 0.0)]
    #[case::eleven_are_large(11, 7, Regime::Reduced, 0.1)]
    // C46 (kubernetes#20640): the hub lost all members at once.
    #[case::all_of_many(100, 100, Regime::AllFaulty, 0.0)]
    fn the_table(#[case] clusters: usize, #[case] faulty: usize, #[case] expected: Regime, #[case] rate: f64) {
        let verdict = judged(clusters, faulty);
        assert_eq!(
            (verdict.regime, verdict.evictions_per_second),
            (expected, rate),
            "{}",
            verdict.reason
        );
    }

    #[test]
    fn earlier_rows_win() {
        let settings = RegimeSettings::default();
        let mut fleet = Fleet {
            start: Start::NotSynced,
            paused_by: Some(("p", "change freeze")),
            clusters: 1,
            faulty: 1,
        };
        assert_eq!(regime(&fleet, &settings).regime, Regime::Starting);
        fleet.start = Start::LeaderGrace;
        assert_eq!(regime(&fleet, &settings).regime, Regime::Starting);
        fleet.start = Start::Over;
        assert_eq!(
            regime(&fleet, &settings).reason,
            "FailoverPause p covers all: change freeze"
        );
        fleet.paused_by = None;
        assert_eq!(regime(&fleet, &settings).regime, Regime::AllFaulty);
    }

    #[test]
    fn the_reason_carries_the_numbers() {
        assert_eq!(
            judged(3, 2).reason,
            "2 of 3 clusters are faulty (66.7 %), more than 55.0 % of a fleet of at most 10"
        );
    }

    #[rstest]
    #[case::normal(
        3,
        1,
        "--resource-eviction-rate is 0; 1 of 3 clusters is faulty (33.3 %), not more than 55.0 %"
    )]
    #[case::reduced(
        11,
        7,
        "--secondary-resource-eviction-rate is 0; 7 of 11 clusters are faulty (63.6 %), more than 55.0 % of a fleet of more than 10"
    )]
    fn a_configured_rate_of_0_is_the_reason(#[case] clusters: usize, #[case] faulty: usize, #[case] reason: &str) {
        let settings = RegimeSettings {
            primary_rate: 0.0,
            secondary_rate: 0.0,
            ..RegimeSettings::default()
        };
        let fleet = Fleet {
            start: Start::Over,
            paused_by: None,
            clusters,
            faulty,
        };
        let verdict = regime(&fleet, &settings);
        assert_eq!(verdict.reason, reason);
        assert_eq!(verdict.standstill().unwrap(), format!("nothing is released: {reason}"));
    }

    #[test]
    fn a_regime_that_stops_all_names_itself_and_not_the_flag() {
        assert_eq!(judged(3, 1).standstill(), None);
        assert_eq!(
            judged(1, 1).standstill().unwrap(),
            "nothing is released: regime AllFaulty, 1 of 1 clusters is faulty (100.0 %): all of them, so this control plane is probably cut off"
        );
    }

    #[rstest]
    #[case::none(json!([]), None)]
    #[case::no_schedule(json!([{"key": "k", "effect": "NoSchedule"}]), None)]
    #[case::no_execute(json!([{"key": "k", "effect": "NoExecute"}]), Some("k:NoExecute"))]
    #[case::prefer(json!([{"key": "k", "effect": "PreferNoExecute"}]), Some("k:PreferNoExecute"))]
    #[case::drain(json!([{"key": "cluster.karmada.io/drain", "effect": "NoExecute"}]), None)]
    #[case::the_oldest(json!([
        {"key": "a", "effect": "NoExecute"},
        {"key": "b", "effect": "NoExecute", "timeAdded": "2026-01-02T00:00:00Z"},
        {"key": "c", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
    ]), Some("c:NoExecute"))]
    fn faults(#[case] taints: Value, #[case] expected: Option<&str>) {
        let cluster: Cluster =
            serde_json::from_value(json!({"metadata": {"name": "m"}, "spec": {"syncMode": "Push", "taints": taints}}))
                .unwrap();
        let found = fault(&cluster, &RegimeSettings::default().non_failure_taint_keys);
        assert_eq!(found.map(|fault| fault.taint).as_deref(), expected);
    }
}
