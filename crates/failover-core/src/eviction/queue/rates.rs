//! What an administrator may change while the queue runs: how fast it releases.

use std::fmt;

use super::settings::QueueSettings;

/// Rates and thresholds. Each field is a flag of the queue in kebab case, and a key of its rate file in camel case.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSettings {
    /// Evictions per second in regime Normal; 0 stops.
    pub resource_eviction_rate: f64,
    /// Evictions per second in regime Reduced; 0 stops.
    pub secondary_resource_eviction_rate: f64,
    /// Share of faulty clusters above which the regime changes, in (0, 1].
    pub unhealthy_cluster_threshold: f64,
    /// A fleet of more clusters is large.
    pub large_cluster_num_threshold: usize,
    /// Leases that may be out at once; absent: two seconds' worth of the rate, at least 1.
    pub max_outstanding_leases: Option<usize>,
}

/// One of the settings makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateProblem {
    /// Which, as its flag without the dashes: `resource-eviction-rate`.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// What it has to be.
    pub want: &'static str,
}

impl fmt::Display for RateProblem {
    /// As somebody would write the flag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}={}: want {}", self.setting, self.value, self.want)
    }
}

/// More is not meant: nobody evicts so fast, and a sum of tokens loses what is small beside it.
const MOST_PER_SECOND: f64 = 100_000.0;

impl RateSettings {
    /// What is odd but allowed, as sentences with the names of the flags.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let (primary, secondary) = (self.resource_eviction_rate, self.secondary_resource_eviction_rate);
        let mut warnings = Vec::new();
        if secondary > primary {
            warnings.push(format!(
                "--secondary-resource-eviction-rate={secondary} is above --resource-eviction-rate={primary}: evictions get faster when more clusters are faulty"
            ));
        }
        if primary <= 0.0 {
            warnings.push("--resource-eviction-rate=0: nothing is evicted".to_owned());
        }
        warnings
    }

    /// All that makes no sense.
    #[must_use]
    pub fn problems(&self) -> Vec<RateProblem> {
        let rates = [
            ("resource-eviction-rate", self.resource_eviction_rate),
            (
                "secondary-resource-eviction-rate",
                self.secondary_resource_eviction_rate,
            ),
        ];
        let rates = rates
            .into_iter()
            .filter(|(_, rate)| !(0.0..=MOST_PER_SECOND).contains(rate));
        let mut problems: Vec<_> = rates
            .map(|(setting, rate)| RateProblem {
                setting,
                value: rate.to_string(),
                want: "a number of evictions per second, 0 (stops) to 100000",
            })
            .collect();
        let threshold = self.unhealthy_cluster_threshold;
        if !(threshold > 0.0 && threshold <= 1.0) {
            problems.push(RateProblem {
                setting: "unhealthy-cluster-threshold",
                value: threshold.to_string(),
                want: "a share above 0 and at most 1",
            });
        }
        if self.max_outstanding_leases == Some(0) {
            problems.push(RateProblem {
                setting: "max-outstanding-leases",
                value: "0".to_owned(),
                want: "at least 1 (a rate of 0 stops evictions)",
            });
        }
        problems
    }
}

impl QueueSettings {
    /// What of them may change.
    #[must_use]
    pub fn rates(&self) -> RateSettings {
        RateSettings {
            resource_eviction_rate: self.regime.primary_rate,
            secondary_resource_eviction_rate: self.regime.secondary_rate,
            unhealthy_cluster_threshold: self.regime.unhealthy_threshold,
            large_cluster_num_threshold: self.regime.large_cluster_num_threshold,
            max_outstanding_leases: self.max_outstanding_leases,
        }
    }

    /// The same with other rates.
    #[must_use]
    pub fn with_rates(mut self, rates: &RateSettings) -> Self {
        self.regime.primary_rate = rates.resource_eviction_rate;
        self.regime.secondary_rate = rates.secondary_resource_eviction_rate;
        self.regime.unhealthy_threshold = rates.unhealthy_cluster_threshold;
        self.regime.large_cluster_num_threshold = rates.large_cluster_num_threshold;
        self.max_outstanding_leases = rates.max_outstanding_leases;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_take_what_they_gave() {
        let rates = RateSettings {
            resource_eviction_rate: 2.0,
            secondary_resource_eviction_rate: 1.0,
            unhealthy_cluster_threshold: 0.25,
            large_cluster_num_threshold: 3,
            max_outstanding_leases: Some(7),
        };
        let settings = QueueSettings::default().with_rates(&rates);
        assert_eq!(settings.rates(), rates);
        assert_eq!(
            settings.with_rates(&QueueSettings::default().rates()),
            QueueSettings::default()
        );
    }

    #[test]
    fn all_that_makes_no_sense_is_said_at_once() {
        let rates = RateSettings {
            resource_eviction_rate: -1.0,
            secondary_resource_eviction_rate: f64::INFINITY,
            unhealthy_cluster_threshold: f64::NAN,
            large_cluster_num_threshold: 0,
            max_outstanding_leases: Some(0),
        };
        let problems: Vec<_> = rates.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "--resource-eviction-rate=-1: want a number of evictions per second, 0 (stops) to 100000",
                "--secondary-resource-eviction-rate=inf: want a number of evictions per second, 0 (stops) to 100000",
                "--unhealthy-cluster-threshold=NaN: want a share above 0 and at most 1",
                "--max-outstanding-leases=0: want at least 1 (a rate of 0 stops evictions)",
            ]
        );
        assert_eq!(QueueSettings::default().rates().problems(), []);
    }
}
