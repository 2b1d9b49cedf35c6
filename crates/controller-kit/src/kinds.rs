//! Whether the API server serves the kinds a controller needs, asked before it starts.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::{Client, Resource};
use tokio_util::sync::CancellationToken;

use crate::api_errors;
use crate::backoff::Backoff;
use crate::random::Random;

/// A kind that has to be there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredKind {
    /// `group/version`, or `v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

impl RequiredKind {
    /// The kind of a type whose type says everything about it.
    #[must_use]
    pub fn of<K>() -> Self
    where
        K: Resource,
        K::DynamicType: Default,
    {
        Self::with::<K>(&K::DynamicType::default())
    }

    /// The kind of a type and its run-time part.
    #[must_use]
    pub fn with<K: Resource>(dyntype: &K::DynamicType) -> Self {
        Self {
            api_version: K::api_version(dyntype).into_owned(),
            kind: K::kind(dyntype).into_owned(),
        }
    }
}

/// Why a controller cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RequireError {
    /// Kinds are missing.
    #[error(
        "the API server does not serve {}; install the CRDs: kubectl apply -f charts/karmada-crds/kinds -f \
         charts/control-plane/kinds (not the former where a Karmada is)",
        missing.iter().map(|kind| format!("{} ({})", kind.kind, kind.api_version)).collect::<Vec<_>>().join(", ")
    )]
    Missing {
        /// Those that are not served, sorted.
        missing: Vec<RequiredKind>,
    },
    /// The server did not answer the question.
    #[error("cannot ask the API server what it serves: {}", api_errors::one_line(_0))]
    Unanswered(#[source] kube::Error),
    /// The process stops.
    #[error("stopped while waiting for the API server")]
    Stopped,
}

/// Asks once whether the server serves all of `kinds`.
///
/// # Errors
/// [`RequireError::Missing`] names all that are missing; [`RequireError::Unanswered`] when the server cannot say.
pub async fn require_kinds(client: &Client, kinds: &[RequiredKind]) -> Result<(), RequireError> {
    let mut by_version: BTreeMap<&str, Vec<&RequiredKind>> = BTreeMap::new();
    for kind in kinds {
        by_version.entry(&kind.api_version).or_default().push(kind);
    }
    let mut missing = Vec::new();
    for (api_version, wanted) in by_version {
        let answer = if api_version.contains('/') {
            client.list_api_group_resources(api_version).await
        } else {
            client.list_core_api_resources(api_version).await
        };
        let served = match answer {
            Ok(list) => list.resources,
            Err(error) if api_errors::is_not_found(&error) => Vec::new(),
            Err(error) => return Err(RequireError::Unanswered(error)),
        };
        missing.extend(
            wanted
                .into_iter()
                .filter(|wanted| !served.iter().any(|served| served.kind == wanted.kind))
                .cloned(),
        );
    }
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort();
    missing.dedup();
    Err(RequireError::Missing { missing })
}

pub(crate) async fn wait_for_kinds(
    client: &Client,
    kinds: &[RequiredKind],
    shutdown: &CancellationToken,
    seed: &str,
) -> Result<(), RequireError> {
    let ask = || async {
        match require_kinds(client, kinds).await {
            Err(RequireError::Unanswered(error)) => Err(error),
            settled => Ok(settled),
        }
    };
    let settled = until_answered(shutdown, &[seed, "require_kinds"], ask).await;
    settled.unwrap_or(Err(RequireError::Stopped))
}

/// Asks the API server again, later each time, until it has an answer; nothing when `shutdown` comes before that.
pub(crate) async fn until_answered<T, F>(
    shutdown: &CancellationToken,
    seed: &[&str],
    mut ask: impl FnMut() -> F,
) -> Option<T>
where
    F: Future<Output = Result<T, kube::Error>>,
{
    let backoff = Backoff {
        base: Duration::from_millis(500),
        max: Duration::from_secs(15),
    };
    let mut random = Random::from_text(seed);
    let mut failures = 0;
    loop {
        let error = tokio::select! {
            biased;
            () = shutdown.cancelled() => return None,
            answer = ask() => match answer {
                Ok(answer) => return Some(answer),
                Err(error) => error,
            },
        };
        failures += 1;
        tracing::warn!(
            error = api_errors::with_advice(&error),
            failures,
            "waiting for the API server"
        );
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return None,
            () = tokio::time::sleep(backoff.delay(failures, &mut random)) => {}
        }
    }
}
