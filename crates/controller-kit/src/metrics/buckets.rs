//! A histogram of one object, kept by whoever knows when the object goes.

use super::{BUCKETS, Family, FamilyKind, Sample};

/// The counts of one histogram series.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    bounds: &'static [f64],
    /// Values up to the bound of the same index, and above the one before.
    counts: Vec<u64>,
    above: u64,
    sum: f64,
}

impl Buckets {
    /// No values yet, counted by these upper bounds, ascending; one above the last is added.
    #[must_use]
    pub fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len()],
            above: 0,
            sum: 0.0,
        }
    }

    /// Counts a value.
    pub fn record(&mut self, value: f64) {
        self.sum += value;
        match self.bounds.iter().position(|bound| value <= *bound) {
            Some(index) => {
                if let Some(count) = self.counts.get_mut(index) {
                    *count += 1;
                }
            }
            None => self.above += 1,
        }
    }

    /// Values counted so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.above
    }
}

impl Default for Buckets {
    /// By the bounds of all histograms that do not choose their own: 1 ms to 60 s.
    fn default() -> Self {
        Self::new(&BUCKETS)
    }
}

impl Family {
    /// A histogram without series yet.
    #[must_use]
    pub fn histogram(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            kind: FamilyKind::Histogram,
            samples: Vec::new(),
        }
    }

    /// Adds the series of one histogram.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts")]
    pub fn with_buckets(mut self, labels: &[(&'static str, &str)], buckets: &Buckets) -> Self {
        let labels: Vec<(&'static str, String)> = labels
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        let mut up_to = 0;
        let bounds = buckets.bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(buckets.counts.iter().chain([&buckets.above])) {
            up_to += count;
            let mut labels = labels.clone();
            labels.push(("le", bound));
            self.samples.push(Sample {
                suffix: "_bucket",
                labels,
                value: up_to as f64,
            });
        }
        self.samples.push(Sample {
            suffix: "_sum",
            labels: labels.clone(),
            value: buckets.sum,
        });
        self.samples.push(Sample {
            suffix: "_count",
            labels,
            value: buckets.count() as f64,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Metrics, complaints};
    use super::*;

    #[test]
    fn a_histogram_is_rendered_as_prometheus_wants_it() {
        let metrics = Metrics::new();
        let mut buckets = Buckets::new(&[0.5, 2.0]);
        for value in [0.25, 0.5, 1.0, 7.0] {
            buckets.record(value);
        }
        metrics.collector("waits", move || {
            vec![Family::histogram("wait_seconds", "Waits.").with_buckets(&[("lane", "a")], &buckets)]
        });
        let text = metrics.render();
        let expected = "# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n\
             wait_seconds_bucket{lane=\"a\",le=\"0.5\"} 2\n\
             wait_seconds_bucket{lane=\"a\",le=\"2\"} 3\n\
             wait_seconds_bucket{lane=\"a\",le=\"+Inf\"} 4\n\
             wait_seconds_sum{lane=\"a\"} 8.75\n\
             wait_seconds_count{lane=\"a\"} 4\n";
        assert!(text.contains(expected), "{text}");
        assert_eq!(complaints(&text), [""; 0]);
    }
}
