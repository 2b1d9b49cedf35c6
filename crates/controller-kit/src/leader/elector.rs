//! Taking, keeping and handing back a Lease.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::leadership::{Epoch, Leadership};
use super::{DISTURBANCES_ANNOTATION, HOLDER_PREFIX, LeaseTiming};
use crate::answers::SLOW;
use crate::api_errors;
use crate::clock::Clock;
use crate::disturbances::{Disturbance, Disturbances};
use crate::troubles::Troubles;

/// Time limit of one request, so that one lost packet does not use up the whole renew deadline.
const REQUEST_LIMIT: Duration = Duration::from_secs(3);
/// Wait between tries to renew that failed.
const RETRY_RENEWAL_AFTER: Duration = Duration::from_secs(1);

/// One candidate for one Lease.
pub(crate) struct Elector {
    pub(crate) api: Api<Lease>,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) identity: String,
    pub(crate) timing: LeaseTiming,
    pub(crate) clock: Clock,
    /// What the holder says about itself.
    pub(crate) about: BTreeMap<String, String>,
    /// Shared by all candidates of the process: that the API server is away is said once, not once for each lease.
    pub(crate) troubles: Troubles,
    /// Of the process: said with each renewal.
    pub(crate) disturbances: Disturbances,
}

/// A Lease that is ours.
pub(crate) struct Held {
    lease: Lease,
    pub(crate) leadership: Leadership,
}

enum Attempt {
    Won(Box<Held>),
    /// Somebody else was faster.
    Beaten,
}

impl Elector {
    /// Waits until the Lease is ours.
    pub(crate) async fn acquire(&self) -> Held {
        let mut seen: Option<(LeaseSpec, Instant)> = None;
        loop {
            let wait = match self.look(&mut seen).await {
                Ok(Look::Free(lease)) => match self.take(lease).await {
                    Ok(Attempt::Won(held)) => {
                        self.relieved();
                        tracing::info!(lease = self.name, identity = self.identity, "became the leader");
                        return *held;
                    }
                    Ok(Attempt::Beaten) => {
                        self.relieved();
                        Duration::ZERO
                    }
                    Err(error) => self.complain("cannot take the lease", &error),
                },
                Ok(Look::HeldFor(left)) => {
                    self.relieved();
                    left.min(self.timing.renew_every)
                }
                Err(error) => self.complain("cannot read the lease", &error),
            };
            // Never in a tight loop: whoever was faster will hold it for a while.
            sleep(wait.max(Duration::from_millis(100))).await;
        }
    }

    fn complain(&self, what: &str, error: &RequestError) -> Duration {
        self.trouble(what, error);
        self.timing.renew_every
    }

    fn trouble(&self, what: &str, error: &RequestError) {
        if error.is_unanswered() {
            let lease = &self.name;
            self.disturbances
                .seen(Disturbance::Unanswered, "", || format!("lease {lease}: {error}"));
        }
        if self.troubles.begins(&self.name, &error.to_string()) {
            tracing::warn!(lease = self.name, namespace = self.namespace, %error, "{what}, trying again");
        } else {
            tracing::debug!(lease = self.name, namespace = self.namespace, %error, "{what}, trying again");
        }
    }

    /// At rest renewals are all that is asked: by them it is known that the API server is still slow.
    fn took(&self, took: Duration) {
        if took >= SLOW {
            let (lease, took) = (&self.name, Duration::from_secs(took.as_secs()));
            self.disturbances.seen(Disturbance::SlowAnswers, "", || {
                format!(
                    "renewing lease {lease} took {}",
                    crate::durations::format_duration(took)
                )
            });
        }
    }

    fn relieved(&self) {
        if self.troubles.ends(&self.name) {
            tracing::info!(lease = self.name, "leases can be read and written again");
        }
    }

    async fn look(&self, seen: &mut Option<(LeaseSpec, Instant)>) -> Result<Look, RequestError> {
        let Some(lease) = limited(self.api.get_opt(&self.name)).await? else {
            return Ok(Look::Free(None));
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder.is_empty() || holder == self.identity {
            return Ok(Look::Free(Some(Box::new(lease))));
        }
        let since = match seen {
            Some((known, since)) if *known == spec => *since,
            _ => {
                let now = Instant::now();
                *seen = Some((spec.clone(), now));
                now
            }
        };
        // The holder may have longer times than we do: the longer one counts.
        let stated = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or_default();
        let duration = Duration::from_secs(stated).max(self.timing.duration);
        match (since + duration).checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Look::HeldFor(left)),
            _ => {
                tracing::info!(
                    lease = self.name,
                    holder,
                    "the holder has not renewed its lease in time"
                );
                Ok(Look::Free(Some(Box::new(lease))))
            }
        }
    }

    async fn take(&self, found: Option<Box<Lease>>) -> Result<Attempt, RequestError> {
        let sent = Instant::now();
        let now = MicroTime(self.clock.now());
        let is_new = found.is_none();
        let written = match found {
            None => {
                let mut lease = Lease {
                    metadata: ObjectMeta {
                        name: Some(self.name.clone()),
                        namespace: Some(self.namespace.clone()),
                        ..ObjectMeta::default()
                    },
                    spec: Some(self.spec(&now, &now, 0)),
                };
                self.describe(&mut lease, &BTreeMap::new());
                limited(self.api.create(&PostParams::default(), &lease)).await
            }
            Some(mut lease) => {
                let before = lease.spec.take().unwrap_or_default();
                let transitions = before.lease_transitions.unwrap_or_default();
                let again = before.holder_identity.as_deref() == Some(&self.identity);
                let transitions = if again {
                    transitions
                } else {
                    transitions.saturating_add(1)
                };
                lease.spec = Some(self.spec(&now, &now, transitions));
                self.describe(&mut lease, &BTreeMap::new());
                limited(self.api.replace(&self.name, &PostParams::default(), &lease)).await
            }
        };
        match written {
            Ok(lease) => {
                let epoch = Epoch {
                    lease_uid: lease.metadata.uid.clone().unwrap_or_default(),
                    transitions: lease
                        .spec
                        .as_ref()
                        .and_then(|spec| spec.lease_transitions)
                        .unwrap_or_default(),
                };
                let leadership = Leadership::won(epoch, sent, self.timing.renew_deadline);
                Ok(Attempt::Won(Box::new(Held { lease, leadership })))
            }
            Err(RequestError::Api(error)) if is_new && api_errors::is_not_found(&error) => {
                Err(RequestError::NoNamespace(self.namespace.clone()))
            }
            Err(RequestError::Api(error))
                if api_errors::is_conflict(&error)
                    || api_errors::is_already_exists(&error)
                    || api_errors::is_not_found(&error) =>
            {
                Ok(Attempt::Beaten)
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps the Lease by renewing it; returns why it is lost.
    pub(crate) async fn keep(&self, held: &mut Held) -> String {
        let mut next = Instant::now() + self.timing.renew_every;
        let mut last_error = "the process did not run".to_owned();
        loop {
            tokio::select! {
                biased;
                () = held.leadership.annotations_changed() => {}
                () = sleep_until(next) => {}
            }
            let sent = Instant::now();
            let Some(renewed) = held.leadership.last_renewal() else {
                return "never held".to_owned();
            };
            let deadline = renewed + self.timing.renew_deadline;
            if sent >= deadline {
                return format!(
                    "not renewed for {}: {last_error}",
                    crate::durations::format_duration(Duration::from_secs((sent - renewed).as_secs()))
                );
            }
            match timeout(deadline - sent, self.renew(held)).await {
                Ok(Ok(())) => {
                    held.leadership.renewed(sent);
                    self.took(sent.elapsed());
                    self.relieved();
                    next = sent + self.timing.renew_every;
                }
                Ok(Err(Renewal::Lost(why))) => return why,
                Ok(Err(Renewal::Failed(error))) => {
                    self.trouble("cannot renew the lease", &error);
                    last_error = error.to_string();
                    next = (Instant::now() + RETRY_RENEWAL_AFTER).min(deadline);
                }
                Err(_) => {
                    "no answer".clone_into(&mut last_error);
                    next = deadline;
                }
            }
        }
    }

    async fn renew(&self, held: &mut Held) -> Result<(), Renewal> {
        let mut refusal = RequestError::Contended;
        // Another round when somebody else (an administrator, a tool) touched our lease.
        for _ in 0..3 {
            let mut lease = held.lease.clone();
            let spec = lease.spec.get_or_insert_default();
            spec.renew_time = Some(MicroTime(self.clock.now()));
            self.describe(&mut lease, &held.leadership.annotations());
            match limited(self.api.replace(&self.name, &PostParams::default(), &lease)).await {
                Ok(lease) => {
                    held.lease = lease;
                    return Ok(());
                }
                // The server refused: the Lease as it is now says why. (For a deleted one it answers neither 404 nor
                // 409: Leases may be created by an update, and it then minds the version.)
                Err(RequestError::Api(error @ kube::Error::Api(_))) => {
                    held.lease = self.reread().await?;
                    refusal = RequestError::Api(error);
                }
                Err(error) => return Err(Renewal::Failed(error)),
            }
        }
        Err(Renewal::Failed(refusal))
    }

    /// The Lease as it is now, provided that it is still ours.
    async fn reread(&self) -> Result<Lease, Renewal> {
        match limited(self.api.get_opt(&self.name)).await {
            Ok(None) => Err(Renewal::Lost("the Lease was deleted".to_owned())),
            Ok(Some(lease)) => {
                let holder = lease
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.holder_identity.as_deref())
                    .unwrap_or_default();
                if holder == self.identity {
                    return Ok(lease);
                }
                Err(Renewal::Lost(if holder.is_empty() {
                    "somebody took it away from us".to_owned()
                } else {
                    format!("{holder} holds it now")
                }))
            }
            Err(error) => Err(Renewal::Failed(error)),
        }
    }

    /// Hands the Lease back, when it is still ours. Tries once more on a conflict; errors only cost the next holder
    /// the wait.
    pub(crate) async fn release(&self, held: Held) {
        let mut lease = held.lease;
        for _ in 0..2 {
            let spec = lease.spec.get_or_insert_default();
            spec.holder_identity = Some(String::new());
            spec.renew_time = Some(MicroTime(self.clock.now()));
            match limited(self.api.replace(&self.name, &PostParams::default(), &lease)).await {
                Ok(_) => {
                    tracing::info!(lease = self.name, "released the lease");
                    return;
                }
                Err(RequestError::Api(error)) if api_errors::is_conflict(&error) => match self.reread().await {
                    Ok(fresh) => lease = fresh,
                    Err(_) => return,
                },
                Err(error) => {
                    tracing::warn!(lease = self.name, %error, "cannot release the lease");
                    return;
                }
            }
        }
    }

    fn spec(&self, acquired: &MicroTime, renewed: &MicroTime, transitions: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.timing.duration.as_secs().max(1)).ok(),
            acquire_time: Some(acquired.clone()),
            renew_time: Some(renewed.clone()),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    fn describe(&self, lease: &mut Lease, extra: &BTreeMap<String, String>) {
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.retain(|name, _| !name.starts_with(HOLDER_PREFIX));
        annotations.extend(
            self.about
                .iter()
                .chain(extra)
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        if let Some(text) = self.disturbances.in_short() {
            annotations.insert(DISTURBANCES_ANNOTATION.to_owned(), text);
        }
        lease.metadata.managed_fields = None;
    }
}

enum Look {
    /// Nobody holds it; `None` = there is no Lease object.
    Free(Option<Box<Lease>>),
    HeldFor(Duration),
}

enum Renewal {
    Lost(String),
    Failed(RequestError),
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Api(error) => f.write_str(&api_errors::with_advice(error)),
            Self::TimedOut => write!(
                f,
                "no answer within {}",
                crate::durations::format_duration(REQUEST_LIMIT)
            ),
            Self::NoNamespace(name) => write!(
                f,
                "namespace {name:?} of the leases does not exist: create it (kubectl create namespace {name}), or name \
                 another with --system-namespace"
            ),
            Self::Contended => f.write_str("the Lease changes faster than it can be written"),
        }
    }
}

enum RequestError {
    Api(kube::Error),
    /// What a new Lease is answered where it would stand in no namespace.
    NoNamespace(String),
    TimedOut,
    Contended,
}

impl RequestError {
    fn is_unanswered(&self) -> bool {
        match self {
            Self::Api(error) => matches!(api_errors::label(error), "unreachable"),
            Self::TimedOut => true,
            Self::NoNamespace(_) | Self::Contended => false,
        }
    }
}

async fn limited<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, RequestError> {
    match timeout(REQUEST_LIMIT, request).await {
        Ok(answer) => answer.map_err(RequestError::Api),
        Err(_) => Err(RequestError::TimedOut),
    }
}
