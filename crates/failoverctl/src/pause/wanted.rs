//! From arguments to a FailoverPause. Pure.

use api_types::failover::{FailoverPause, FailoverPauseSpec, PauseScope};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::cli::PauseArgs;
use crate::failure::{ExitStatus, Failure};

/// The longest name of a cluster or namespace that goes into a name.
const NAME_PART: usize = 63;

/// The pause that the arguments ask for. Whether it is valid is the API server's to say.
///
/// # Errors
/// The arguments contradict each other, say nothing to pause, or an end that is over.
pub fn pause(args: &PauseArgs, now: Timestamp) -> Result<FailoverPause, Failure> {
    let scope = scope(args)?;
    let until = until(args, now)?;
    let spec = FailoverPauseSpec {
        scope,
        clusters: args.clusters.clone(),
        namespaces: args.namespaces.clone(),
        reason: args.reason.clone().unwrap_or_default(),
        until: until.map(Time),
    };
    let name = args.name.clone().unwrap_or_else(|| name(&spec, now));
    Ok(FailoverPause::new(&name, spec))
}

fn scope(args: &PauseArgs) -> Result<PauseScope, Failure> {
    if let Some(scope) = args.scope {
        return Ok(scope.into());
    }
    let refuse = |why: &str, next: &str| Err(Failure::new(ExitStatus::Usage, "cannot pause", why, next));
    match (args.clusters.is_empty(), args.namespaces.is_empty()) {
        (true, true) => refuse(
            "what to pause is not said",
            "give --cluster NAME, --namespace NAME, or --scope all to stop every eviction",
        ),
        (false, true) => Ok(PauseScope::Clusters),
        (true, false) => Ok(PauseScope::Namespaces),
        (false, false) => refuse(
            "a FailoverPause covers clusters or namespaces, not both",
            "make two: one with --cluster, one with --namespace",
        ),
    }
}

fn until(args: &PauseArgs, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
    let until = match (args.lasts, args.until) {
        (None, None) => return Ok(None),
        (Some(lasts), _) => now.checked_add(lasts).map_err(|error| {
            Failure::new(
                ExitStatus::Usage,
                "cannot pause",
                format!("--for is too long: {error}"),
                "leave it away to pause until somebody resumes",
            )
        })?,
        (None, Some(until)) => until,
    };
    if until <= now {
        return Err(Failure::new(
            ExitStatus::Usage,
            "cannot pause",
            format!("the pause would be over already: it would end at {until:.0}, and it is {now:.0}"),
            "give a time in the future with --until, or how long with --for",
        ));
    }
    // To the second, rounded up: nothing ends earlier than was asked for.
    let seconds = until.as_second() + i64::from(until.subsec_nanosecond() > 0);
    Ok(Some(Timestamp::from_second(seconds).unwrap_or(until)))
}

/// As in `member1-20260131-120000`.
fn name(spec: &FailoverPauseSpec, now: Timestamp) -> String {
    let several = |one: &[String], what: &str| match one {
        [only] => part(only, what),
        more => format!("{}-{what}", more.len()),
    };
    let what = match spec.scope {
        PauseScope::Clusters => several(&spec.clusters, "clusters"),
        PauseScope::Namespaces => several(&spec.namespaces, "namespaces"),
        _ => "all".to_owned(),
    };
    format!("{what}-{}", now.strftime("%Y%m%d-%H%M%S"))
}

/// What may stand in a name of `one`.
fn part(one: &str, otherwise: &str) -> String {
    let kept: String = one
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(NAME_PART)
        .collect();
    let kept = kept.trim_matches('-');
    if kept.is_empty() {
        otherwise.to_owned()
    } else {
        kept.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use rstest::rstest;

    fn now() -> Timestamp {
        "2026-01-31T12:00:00.5Z".parse().unwrap()
    }

    fn asked(args: &[&str]) -> Result<FailoverPause, Failure> {
        let args = [&["failoverctl", "pause", "--reason", "works"], args].concat();
        let Command::Pause(args) = Cli::try_parse_from(args).unwrap().command else {
            unreachable!()
        };
        pause(&args, now())
    }

    #[rstest]
    #[case(&["--scope", "all"], "All", "all-20260131-120000")]
    #[case(&["-c", "member1"], "Clusters", "member1-20260131-120000")]
    #[case(&["-c", "a,b", "-c", "c"], "Clusters", "3-clusters-20260131-120000")]
    #[case(&["-n", "shop"], "Namespaces", "shop-20260131-120000")]
    #[case(&["-n", "-"], "Namespaces", "namespaces-20260131-120000")]
    #[case(&["-n", "-,shop"], "Namespaces", "2-namespaces-20260131-120000")]
    #[case(&["-n", "Über-Shop_1", "--name", "mine"], "Namespaces", "mine")]
    #[case(&["--scope", "Clusters"], "Clusters", "0-clusters-20260131-120000")]
    fn what_is_paused_and_what_it_is_called(#[case] args: &[&str], #[case] scope: &str, #[case] name: &str) {
        let pause = asked(args).unwrap();
        assert_eq!(pause.spec.scope.as_str(), scope);
        assert_eq!(pause.metadata.name.as_deref(), Some(name));
    }

    #[rstest]
    #[case(&[], "what to pause is not said")]
    #[case(&["-c", "a", "-n", "b"], "not both")]
    #[case(&["-c", "a", "--until", "2026-01-31T11:00:00Z"], "over already")]
    #[case(&["-c", "a", "--for", "0"], "over already")]
    #[case(&["-c", "a", "--for", "4000000d"], "too long")]
    fn what_cannot_be(#[case] args: &[&str], #[case] why: &str) {
        let failure = asked(args).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Usage);
        assert!(failure.to_string().contains(why), "{failure}");
    }

    #[test]
    fn it_ends_no_earlier_than_asked() {
        let until = |args: &[&str]| asked(args).unwrap().spec.until.map(|until| until.0.to_string());
        assert_eq!(until(&["-c", "a"]), None);
        assert_eq!(
            until(&["-c", "a", "--for", "2h"]).as_deref(),
            Some("2026-01-31T14:00:01Z")
        );
        assert_eq!(
            until(&["-c", "a", "--until", "2026-02-01T00:00:00Z"]).as_deref(),
            Some("2026-02-01T00:00:00Z")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_one_that_the_server_takes(cluster in ".{0,80}") {
            let spec = FailoverPauseSpec {
                scope: PauseScope::Clusters,
                clusters: vec![cluster],
                namespaces: Vec::new(),
                reason: String::new(),
                until: None,
            };
            let name = name(&spec, now());
            proptest::prop_assert!(name.len() < 100 && !name.starts_with('-'), "{}", name);
            proptest::prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        }
    }
}
