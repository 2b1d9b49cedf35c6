//! What the API server is and takes.

use std::collections::BTreeMap;

use api_types::names::annotation;
use api_types::openapi;
use api_types::our_fields;
use api_types::second_home::SecondHome;
use jiff::{SignedDuration, Timestamp};

use crate::check::facts::{Facts, Stage, Trial};
use crate::check::rules::live;
use crate::check::verdict::Verdict;
use crate::controllers::Mode;
use crate::output::span_of;

const CLUSTER: &str = "cluster.karmada.io/v1alpha1";
const WORK: &str = "work.karmada.io/v1alpha1";
const BINDING: &str = "work.karmada.io/v1alpha2";
const POLICY: &str = "policy.karmada.io/v1alpha1";
const CONFIG: &str = "config.karmada.io/v1alpha1";
const OURS: &str = "failover.karmada.io/v1alpha1";

/// Every kind that failover works on.
pub(in crate::check) const KINDS: [(&str, &str); 10] = [
    (CLUSTER, "Cluster"),
    (BINDING, "ResourceBinding"),
    (BINDING, "ClusterResourceBinding"),
    (WORK, "Work"),
    (POLICY, "PropagationPolicy"),
    (POLICY, "ClusterPropagationPolicy"),
    (POLICY, "ClusterTaintPolicy"),
    (CONFIG, "ResourceInterpreterCustomization"),
    (OURS, "FailoverPause"),
    (OURS, "FailoverRecord"),
];

/// Clocks that differ by more are worth a word.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(2);
/// Clocks that differ by more make Leases look lapsed, or fresh that are not.
const CLOCKS_MISLEAD: SignedDuration = SignedDuration::from_secs(10);

pub(super) fn kinds(facts: &Facts) -> Verdict {
    let served = match &facts.served {
        Ok(served) => served,
        Err(why) => return Verdict::not_seen(why),
    };
    let is_served = |(api_version, kind): &(&str, &str)| {
        served
            .get(*api_version)
            .is_some_and(|kinds| kinds.iter().any(|known| known == kind))
    };
    // Before ours are installed nothing of ours can be there, and standalone nothing at all.
    let expected = KINDS.iter().filter(|(api_version, _)| {
        facts.stage == Stage::Installed || (*api_version != OURS && facts.taken_for() == Mode::Beside)
    });
    let missing: Vec<&(&str, &str)> = expected.filter(|kind| !is_served(kind)).collect();
    if missing.is_empty() {
        let there = KINDS.iter().filter(|kind| is_served(kind)).count();
        let and = match facts.stage {
            Stage::Installed => String::new(),
            Stage::BeforeInstall if there == KINDS.len() => String::new(),
            Stage::BeforeInstall => "; the others come with the chart control-plane".to_owned(),
        };
        return Verdict::fine(format!("{there} of {} kinds are served{and}", KINDS.len()));
    }
    let details = missing.iter().map(|(api_version, kind)| {
        let group = api_version.split('/').next().unwrap_or_default();
        let others: Vec<&str> = versions(served, group).filter(|other| other != api_version).collect();
        if others.is_empty() {
            format!("{kind} ({api_version})")
        } else {
            format!("{kind} ({api_version}); the server has {}", others.join(", "))
        }
    });
    let next = if missing.len() == KINDS.len() {
        "check --kubeconfig and --context: this does not look like a Karmada control plane at all"
    } else if missing.iter().all(|(api_version, _)| *api_version == OURS) {
        "install the chart control-plane on this API server, or: kubectl apply -f charts/control-plane/kinds"
    } else {
        "check --kubeconfig and --context; bring the CRDs to this version: helm upgrade of the chart control-plane, or, beside a \
         stock Karmada, an upgrade of that"
    };
    Verdict::problem(
        format!("{} of {} kinds are not served", missing.len(), KINDS.len()),
        next,
    )
    .details(details.collect())
}

fn versions<'a>(served: &'a BTreeMap<String, Vec<String>>, group: &'a str) -> impl Iterator<Item = &'a str> {
    let of_group = move |version: &&str| version.split('/').next() == Some(group);
    served.keys().map(String::as_str).filter(of_group)
}

pub(super) fn mode(facts: &Facts) -> Verdict {
    let words = |mode: Mode| match mode {
        Mode::Standalone => "standalone: no stock Karmada serves Clusters here",
        Mode::Beside => "beside: a stock Karmada's aggregated API server serves Clusters",
        Mode::Unknown => "not known",
    };
    match (facts.meant, facts.mode) {
        (_, Mode::Unknown) => mistaken(facts).unwrap_or_else(|| {
            Verdict::not_seen("this user may not get APIService v1alpha1.cluster.karmada.io").next(
                "use a kubeconfig whose user may get apiservices.apiregistration.k8s.io, and give --mode until then",
            )
        }),
        (Some(meant), seen) if meant != seen => Verdict::problem(
            format!("it is {}", words(seen)),
            "check --kubeconfig and --context, or correct --mode here and mode in the charts' values",
        ),
        (_, seen) => mistaken(facts).unwrap_or_else(|| Verdict::fine(words(seen))),
    }
}

/// That controllers run which take it for something else.
fn mistaken(facts: &Facts) -> Option<Verdict> {
    let found = live::not_done(facts, |item| item.subject == "mode").ok()?;
    let message = found.into_iter().next()?.message;
    Some(
        Verdict::problem(
            "controllers run that take it for what it is not",
            "set mode in the charts' values, the same for all, and check their --kubeconfig",
        )
        .details(vec![message]),
    )
}

pub(super) fn fields(facts: &Facts) -> Verdict {
    let mut kept = 0;
    let mut in_annotations = Vec::new();
    let mut nowhere = Vec::new();
    let mut lost = Vec::new();
    let mut not_served = 0;
    let mut not_seen = None;
    let all = our_fields::all().count();
    for our in our_fields::all() {
        let document = match facts.schemas.get(our.api_version) {
            Some(Ok(document)) => document,
            Some(Err(why)) => {
                not_seen = Some(why.clone());
                continue;
            }
            None => {
                not_served += 1;
                continue;
            }
        };
        let Some(schema) = openapi::of_kind(document, our.kind) else {
            not_seen = Some(format!(
                "the OpenAPI document of {} has no {}",
                our.api_version, our.kind
            ));
            continue;
        };
        let dropped = our.dropped_by(document, schema);
        if dropped.is_empty() {
            kept += 1;
            continue;
        }
        let name = format!("{} {}", our.kind, dropped.join(", "));
        match (our.second_home, facts.taken_for()) {
            (SecondHome::Annotation(home), Mode::Beside) => {
                in_annotations.push(format!("{name}: annotation {home}"));
            }
            (SecondHome::Nowhere(instead), Mode::Beside) => nowhere.push(format!("{name}: {instead}")),
            _ => lost.push(name),
        }
    }
    if !lost.is_empty() {
        let message = format!("the API server drops {} of {all} fields of ours", lost.len());
        let next = "its CRDs are of another version: bring them to this one, as helm upgrade of the chart control-plane does; \
                    beside a stock Karmada give --mode beside";
        return Verdict::problem(message, next).details(lost);
    }
    if let Some(why) = not_seen {
        return match kept + in_annotations.len() + nowhere.len() {
            0 => Verdict::not_seen(why),
            seen => Verdict::not_seen(format!(
                "nothing is wrong with {seen} of {all} fields of ours, and the others cannot be seen: {why}"
            )),
        };
    }
    if !in_annotations.is_empty() || !nowhere.is_empty() {
        let message = format!(
            "{kept} of {all} fields of ours are kept, {} have their second home in annotations, {} have none",
            in_annotations.len(),
            nowhere.len()
        );
        in_annotations.append(&mut nowhere);
        return Verdict::fine(message).details(in_annotations);
    }
    if kept == 0 {
        return Verdict::not_applicable("none of the kinds is served yet");
    }
    if not_served > 0 {
        return Verdict::fine(format!(
            "{kept} of {all} fields of ours are kept; the kinds of the others are not served yet"
        ));
    }
    Verdict::fine("all fields of ours are kept")
}

pub(super) fn annotations(facts: &Facts) -> Verdict {
    match &facts.unreadable {
        Err(why) => Verdict::not_seen(why),
        Ok(unreadable) if unreadable.is_empty() => Verdict::fine("all that are there can be read"),
        Ok(unreadable) => Verdict::problem(
            "some cannot be read, and the fields count as if they were not there",
            "correct them; docs/beside-stock.md says what each holds",
        )
        .details(unreadable.clone()),
    }
}

pub(super) fn prefer_no_execute(facts: &Facts) -> Verdict {
    let document = match facts.schemas.get(CLUSTER) {
        Some(Ok(document)) => document,
        Some(Err(why)) => return Verdict::not_seen(why),
        None => return Verdict::not_applicable("no Cluster is served yet"),
    };
    let effects = openapi::of_kind(document, "Cluster")
        .and_then(|schema| openapi::values(document, schema, "spec.taints.effect"));
    match (effects, facts.taken_for()) {
        (Some(effects), _) if effects.contains("PreferNoExecute") => Verdict::fine("the API server takes the effect"),
        // An aggregated API server says nothing of it in its schema.
        (seen, Mode::Beside) => Verdict::fine(format!(
            "the API server's schema {}; beside a stock Karmada such taints have their second home: annotation {}",
            match seen {
                Some(_) => "does not have the effect",
                None => "does not say which effects it takes",
            },
            annotation::PREFER_NO_EXECUTE_TAINTS
        )),
        (Some(_), _) => Verdict::problem(
            "the API server refuses the effect",
            "its CRD of Cluster is of another version: bring it to this one; beside a stock Karmada give --mode beside",
        ),
        (None, _) => Verdict::not_seen("the schema of Cluster does not say which effects it takes"),
    }
}

pub(super) fn no_execute_policies(facts: &Facts) -> Verdict {
    match &facts.no_execute_policy {
        Ok(Trial::Taken) => Verdict::fine("a ClusterTaintPolicy with effect NoExecute is admitted, by a trial"),
        Ok(Trial::Refused(why)) => Verdict::problem(
            format!("a ClusterTaintPolicy with effect NoExecute is refused: {why}"),
            "start stock's webhook with --allow-no-execute-taint-policy=true",
        ),
        Err(why) => Verdict::not_seen(why),
    }
}

pub(super) fn clock(facts: &Facts) -> Verdict {
    let ahead: Vec<(String, SignedDuration)> = facts
        .leases
        .iter()
        .flatten()
        .filter_map(|lease| {
            let renewed = lease.spec.as_ref()?.renew_time.as_ref()?.0;
            let name = lease.metadata.name.clone().unwrap_or_default();
            Some((format!("the holder of Lease {name}"), renewed.duration_since(facts.now)))
        })
        .filter(|(_, ahead)| *ahead > CLOCKS_DIFFER)
        .collect();
    let server = facts.server_time.as_ref().map(|there| there.duration_since(facts.now));
    let mut differ = ahead;
    if let Ok(differs) = server
        && differs.abs() > CLOCKS_DIFFER
    {
        differ.push(("the API server".to_owned(), differs));
    }
    let worst = differ.iter().map(|(_, differs)| differs.abs()).max();
    let details = differ.iter().map(|(who, differs)| {
        let side = if differs.is_negative() { "behind" } else { "ahead of" };
        format!("{who} is {} {side} this clock", span_of(differs.abs().as_secs_f64()))
    });
    let details = details.collect();
    let next = "set the clocks by NTP: a Lease counts by the clock that reads it, and windows by the controllers' own";
    match (worst, server) {
        (Some(worst), _) if worst > CLOCKS_MISLEAD => Verdict::problem("clocks differ too much", next).details(details),
        (Some(_), _) => Verdict::note("clocks differ").next(next).details(details),
        (None, Ok(_)) => Verdict::fine("they agree within 2s"),
        (None, Err(why)) => Verdict::not_seen(why),
    }
}

/// The time that an HTTP header `Date` states.
#[must_use]
pub(in crate::check) fn http_date(text: &str) -> Option<Timestamp> {
    let (_, date) = text.split_once(", ")?;
    let date = date.strip_suffix(" GMT")?;
    let zoned = jiff::civil::DateTime::strptime("%d %b %Y %H:%M:%S", date).ok()?;
    Some(zoned.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates_of_http() {
        let read = http_date("Sat, 31 Jan 2026 12:00:05 GMT").unwrap();
        assert_eq!(read.to_string(), "2026-01-31T12:00:05Z");
        for wrong in [
            "",
            "Sat, 31 Jan 2026",
            "31 Jan 2026 12:00:05 GMT",
            "Sat, 31 Foo 2026 12:00:05 GMT",
        ] {
            assert_eq!(http_date(wrong), None, "{wrong}");
        }
    }

    /// What `failoverctl check` says of a policy's field `failoverctl lint` says of a policy that has it.
    #[test]
    fn lint_finds_every_field_of_a_policy_that_stock_drops() {
        let of_policies = our_fields::all().filter_map(|field| {
            let path = field.field.strip_prefix("spec.")?;
            (field.api_version == POLICY).then_some((field.kind, path))
        });
        for (kind, path) in of_policies {
            let spec = path.rsplit('.').fold(json!(1), |inner, name| json!({name: inner}));
            let found = crate::lint::stock::drops(&json!({"kind": kind, "spec": spec}));
            assert_eq!(found.len(), 1, "{kind} spec.{path}");
        }
    }
}
