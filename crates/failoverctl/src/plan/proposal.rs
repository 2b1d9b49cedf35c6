//! From arguments to a proposal.

use api_types::taint_policy::ClusterTaintPolicy;
use failover_core::taint_policy::Reading;
use scheduler_filters::FewerCopies;
use scheduler_filters::plan::Proposal;

use crate::cli::PlanArgs;
use crate::failure::{ExitStatus, Failure};
use crate::lint::{self, Kind};

/// The proposal. Files are read here.
///
/// # Errors
/// A file cannot be read, or does not hold ClusterTaintPolicies that can be in force.
pub fn proposal(args: &PlanArgs) -> Result<Proposal, Failure> {
    let fewer_copies = if args.accept_fewer_copies {
        FewerCopies::AcceptedIfOneIsHealthy
    } else {
        FewerCopies::Refused
    };
    Ok(Proposal {
        failing: args.fail.iter().map(|name| name.as_str().into()).collect(),
        draining: args
            .drain
            .iter()
            .map(|name| (name.as_str().into(), fewer_copies))
            .collect(),
        policies: policies(args)?,
    })
}

fn policies(args: &PlanArgs) -> Result<Vec<ClusterTaintPolicy>, Failure> {
    let mut policies = Vec::new();
    for source in lint::sources(&args.policy)? {
        let (documents, unreadable) = lint::documents(&source);
        if let Some(bad) = unreadable.first() {
            let why = format!("at {}:{}: {}", bad.file, bad.place.line, bad.finding.what);
            return Err(refused(&source.file, why, "correct the YAML there, or a little above"));
        }
        let before = policies.len();
        let mut others = Vec::new();
        for document in &documents {
            let named = match lint::kind(&document.value) {
                Kind::Ours(crd) => crd.spec.names.kind.clone(),
                Kind::Nearly { what, fix } => return Err(refused(&source.file, what, fix)),
                Kind::Others(kind) => kind,
                Kind::NoObject => "a document without apiVersion or kind".to_owned(),
            };
            if named == "ClusterTaintPolicy" {
                policies.push(policy(&source.file, document)?);
            } else {
                others.push(named);
            }
        }
        if policies.len() == before {
            let why = if others.is_empty() {
                "it holds nothing".to_owned()
            } else {
                format!("it has no ClusterTaintPolicy, only {}", others.join(", "))
            };
            return Err(refused(
                &source.file,
                why,
                "give a file with ClusterTaintPolicies (policy.karmada.io/v1alpha1)",
            ));
        }
    }
    Ok(policies)
}

fn policy(file: &str, document: &lint::Document) -> Result<ClusterTaintPolicy, Failure> {
    let at = |why: String| format!("at {}:{}: {why}", document.file, document.begins.line);
    let policy: ClusterTaintPolicy = serde_json::from_value(document.value.clone())
        .map_err(|error| refused(file, at(error.to_string()), lint_it(file)))?;
    let name = policy.metadata.name.clone().unwrap_or_default();
    if let Some(why) = Reading::of(&policy).invalid() {
        return Err(refused(
            file,
            at(format!("ClusterTaintPolicy {name}: {why}")),
            lint_it(file),
        ));
    }
    Ok(policy)
}

fn lint_it(file: &str) -> String {
    format!(
        "correct it; all that is wrong with it: failoverctl lint {}",
        crate::change::quoted(file)
    )
}

fn refused(file: &str, why: impl Into<String>, next: impl Into<String>) -> Failure {
    Failure::new(
        ExitStatus::Usage,
        format!("cannot plan with the policies of {file}"),
        why,
        next,
    )
}
