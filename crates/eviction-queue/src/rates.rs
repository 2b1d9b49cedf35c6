//! The rates in force: those of the flags, or of a file that goes before them and is read again when it changes.
//!
//! A file that cannot be used later changes nothing but a note, a warning and a gauge; at the start it keeps the process
//! from starting. What a file does not say is as the flags have it.

use std::time::Duration;

use controller_kit::metrics::{CollectorGuard, Family};
use controller_kit::tls::NamedFile;
use controller_kit::{Context, Metrics};
use failover_core::eviction::queue::{Event, RateSettings};
use serde::Deserialize;
use tokio::sync::watch;

use crate::flags::Flags;
use crate::shell::Shell;

/// The flag that names the file.
const FILE: &str = "--rate-file";

/// How often the file is looked at: a change is in force within a second.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What counts, and what should but does not.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    in_force: RateSettings,
    /// Why the file as it is now is not in force.
    refused: Option<String>,
}

/// Rates that may change while the process runs.
#[derive(Debug)]
pub struct Rates {
    of_flags: RateSettings,
    file: Option<NamedFile>,
    known: watch::Sender<Known>,
}

impl Rates {
    /// As the flags have them, and the file that they name.
    #[must_use]
    pub fn of(flags: &Flags) -> Self {
        let of_flags = flags.settings().rates();
        let rates = Self {
            file: flags.rate_file.as_ref().map(|path| NamedFile::new(FILE, path)),
            known: watch::Sender::new(Known {
                in_force: of_flags.clone(),
                refused: None,
            }),
            of_flags,
        };
        if let Some(file) = &rates.file {
            rates.take(read(file, &rates.of_flags));
        }
        rates
    }

    /// The rates that count now.
    #[must_use]
    pub fn in_force(&self) -> RateSettings {
        self.known.borrow().in_force.clone()
    }

    /// Why what stands in the file now is not in force.
    #[must_use]
    pub fn refused(&self) -> Option<String> {
        self.known.borrow().refused.clone()
    }

    /// Looks at the file until the process stops.
    pub async fn watch(&self, ctx: &Context) {
        let Some(file) = &self.file else {
            return ctx.shutdown.cancelled().await;
        };
        let _shown = self.show(&ctx.metrics);
        let known = self.known.subscribe();
        ctx.readiness.note(move || {
            let refused = known.borrow().refused.clone();
            let note = |why| format!("the rates of before stay in force, new ones are refused: {why}");
            refused.map(note).into_iter().collect()
        });
        loop {
            tokio::select! {
                biased;
                () = ctx.shutdown.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let (file, of_flags) = (file.clone(), self.of_flags.clone());
            // A failed join is a reader that panicked: what is in force stays.
            let Ok(result) = tokio::task::spawn_blocking(move || read(&file, &of_flags)).await else {
                continue;
            };
            if !self.take(result) {
                continue;
            }
            let known = self.known.borrow().clone();
            match known.refused {
                Some(why) => tracing::warn!("the rates of before stay in force, new ones are refused: {why}"),
                None => {
                    tracing::info!(rates = ?known.in_force, "new rates are in force");
                    for warning in known.in_force.warnings() {
                        tracing::warn!("{warning}");
                    }
                }
            }
        }
    }

    /// Tells a queue of every change, for as long as it is asked to.
    pub async fn tell(&self, shell: &Shell) {
        let mut known = self.known.subscribe();
        loop {
            let Known { in_force, refused } = known.borrow_and_update().clone();
            shell.tell(Event::RatesChanged(in_force));
            if let Some(why) = refused {
                shell.tell(Event::RatesRefused(why));
            }
            if known.changed().await.is_err() {
                return;
            }
        }
    }

    /// Whether anything is new.
    fn take(&self, result: Result<RateSettings, String>) -> bool {
        self.known.send_if_modified(|known| {
            let in_force = result.as_ref().unwrap_or(&known.in_force).clone();
            let now = Known {
                in_force,
                refused: result.err(),
            };
            let is_new = *known != now;
            *known = now;
            is_new
        })
    }

    fn show(&self, metrics: &Metrics) -> CollectorGuard {
        let known = self.known.subscribe();
        metrics.guarded_collector("rate file", move || {
            let refused = f64::from(u8::from(known.borrow().refused.is_some()));
            let family = Family::gauge(
                "failover_file_refused",
                "1 while a file that can change without a restart is refused and what was read before stays in force.",
            );
            vec![family.with(&[("use", "eviction rates")], refused)]
        })
    }
}

/// What a file says; all that it leaves out is as the flags have it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    resource_eviction_rate: Option<f64>,
    secondary_resource_eviction_rate: Option<f64>,
    unhealthy_cluster_threshold: Option<f64>,
    large_cluster_num_threshold: Option<usize>,
    max_outstanding_leases: Option<usize>,
}

impl Written {
    fn over(self, flags: &RateSettings) -> RateSettings {
        RateSettings {
            resource_eviction_rate: self.resource_eviction_rate.unwrap_or(flags.resource_eviction_rate),
            secondary_resource_eviction_rate: self
                .secondary_resource_eviction_rate
                .unwrap_or(flags.secondary_resource_eviction_rate),
            unhealthy_cluster_threshold: self
                .unhealthy_cluster_threshold
                .unwrap_or(flags.unhealthy_cluster_threshold),
            large_cluster_num_threshold: self
                .large_cluster_num_threshold
                .unwrap_or(flags.large_cluster_num_threshold),
            max_outstanding_leases: self.max_outstanding_leases.or(flags.max_outstanding_leases),
        }
    }
}

fn read(file: &NamedFile, of_flags: &RateSettings) -> Result<RateSettings, String> {
    let refused = |why: String| format!("{file}: {why}");
    let bytes = file.read().map_err(|why| refused(format!("cannot be read: {why}")))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| refused("it is no text; write YAML into it".to_owned()))?;
    understood(text, of_flags).map_err(refused)
}

fn understood(text: &str, of_flags: &RateSettings) -> Result<RateSettings, String> {
    let written: Option<Written> = serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        format!("cannot be understood: {}", error.lines().next().unwrap_or_default())
    })?;
    let rates = written.unwrap_or_default().over(of_flags);
    let problems: Vec<_> = rates
        .problems()
        .iter()
        .map(|problem| format!("{}: {}: want {}", key(problem.setting), problem.value, problem.want))
        .collect();
    if problems.is_empty() {
        Ok(rates)
    } else {
        Err(problems.join("; "))
    }
}

/// The key of a setting: its flag in camel case.
fn key(setting: &str) -> String {
    let mut words = setting.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut key, word| {
        let mut letters = word.chars();
        key.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        key.push_str(letters.as_str());
        key
    })
}

#[cfg(test)]
mod tests {
    use failover_core::eviction::queue::QueueSettings;

    use super::*;

    fn of_flags() -> RateSettings {
        QueueSettings::default().rates()
    }

    #[test]
    fn what_a_file_leaves_out_is_as_the_flags_have_it() {
        for nothing in ["", "{}", "# no rates\n"] {
            assert_eq!(understood(nothing, &of_flags()), Ok(of_flags()), "{nothing:?}");
        }
        let all = "resourceEvictionRate: 2\nsecondaryResourceEvictionRate: 0.5\nunhealthyClusterThreshold: 1\n\
                   largeClusterNumThreshold: 3\nmaxOutstandingLeases: 4\n";
        let rates = understood(all, &of_flags()).unwrap();
        assert_eq!(
            (rates.resource_eviction_rate, rates.secondary_resource_eviction_rate),
            (2.0, 0.5)
        );
        assert_eq!(
            (rates.unhealthy_cluster_threshold, rates.large_cluster_num_threshold),
            (1.0, 3)
        );
        assert_eq!(rates.max_outstanding_leases, Some(4));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_write() {
        for (text, says) in [
            ("resourceEvictionRates: 2", "resourceEvictionRates"),
            ("resourceEvictionRate: fast", "cannot be understood"),
            ("resourceEvictionRate: -1", "resourceEvictionRate: -1: want a number"),
            (
                "unhealthyClusterThreshold: 55",
                "unhealthyClusterThreshold: 55: want a share",
            ),
            ("maxOutstandingLeases: 0", "maxOutstandingLeases: 0: want at least 1"),
            ("largeClusterNumThreshold: -1", "cannot be understood"),
            ("[", "cannot be understood"),
        ] {
            let why = understood(text, &of_flags()).unwrap_err();
            assert!(why.contains(says) && !why.contains('\n'), "{text}: {why}");
        }
    }
}
