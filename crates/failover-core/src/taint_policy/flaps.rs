//! How restless a cluster has been: settled crossings of Ready, forgotten with a half-life of 30 minutes.
//!
//! The score is stored with its time and written only when Ready crosses; its value now is computed.

use std::collections::BTreeMap;

use api_types::cluster::{Cluster, condition};
use api_types::names::annotation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::records::{RecordError, read};
use super::windows::round_up_to_millis;
use crate::cluster_health::StoredReady;

const HALF_LIFE_SECONDS: f64 = 30.0 * 60.0;

/// The annotation `failover.karmada.io/flap-score`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlapScore {
    /// The score at `at`: each crossing adds 1.
    pub score: f64,
    /// When it last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Whether Ready was True after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}

impl FlapScore {
    /// Reads the annotation of a Cluster; absent is a score of 0.
    ///
    /// # Errors
    /// [`RecordError`] when somebody edited it.
    pub fn read(annotations: Option<&BTreeMap<String, String>>) -> Result<Self, RecordError> {
        read(annotations, annotation::FLAP_SCORE)
    }

    /// The score now. A time in the future counts as now.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> f64 {
        let age_seconds = self.at.map_or(0.0, |at| now.duration_since(at).as_secs_f64().max(0.0));
        if self.score.is_finite() {
            self.score.max(0.0) * 0.5_f64.powf(age_seconds / HALF_LIFE_SECONDS)
        } else {
            0.0
        }
    }
}

/// What a look at Ready means for the score.
pub(super) struct Flap {
    /// To be remembered until the next look.
    pub ready: Option<bool>,
    /// The new score, when Ready crossed.
    pub crossed: Option<FlapScore>,
}

/// What is stored decides; before anything is, this process's last look does. Before Ready was ever said there is
/// nothing to cross.
pub(super) fn step(cluster: &Cluster, stored: &FlapScore, remembered: Option<bool>, now: Timestamp) -> Flap {
    let ready = match StoredReady::from(cluster.condition(condition::READY)) {
        StoredReady::NeverObserved => {
            return Flap {
                ready: remembered,
                crossed: None,
            };
        }
        StoredReady::True => true,
        StoredReady::NotTrue => false,
    };
    match stored.ready.or(remembered) {
        // Remembered as it was, until the score is seen to be stored: the write may have to be tried again.
        Some(before) if before != ready => Flap {
            ready: Some(before),
            crossed: Some(FlapScore {
                score: stored.at(now) + 1.0,
                at: Some(round_up_to_millis(now)),
                ready: Some(ready),
            }),
        },
        _ => Flap {
            ready: Some(ready),
            crossed: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_halves_in_half_an_hour() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let score = FlapScore {
            score: 4.0,
            at: Some(at(0)),
            ready: Some(true),
        };
        assert!((score.at(at(1800)) - 2.0).abs() < 1e-9);
        assert!((score.at(at(3600)) - 1.0).abs() < 1e-9);
        assert!(
            (score.at(at(-5)) - 4.0).abs() < 1e-9,
            "a time in the future counts as now"
        );
        assert!(
            FlapScore {
                score: f64::NAN,
                at: None,
                ready: None
            }
            .at(at(0))
            .abs()
                < 1e-9
        );
    }
}
