//! `lint`: whether policies in files say what their authors most likely meant, and what an API server would say.
//!
//! Works without any control plane; where one can be asked, what only it knows is compared too. What the fields mean
//! is judged by `failover_core::lint`; whether an API server takes them, by our CRDs, and where a stock Karmada is known to be, by
//! what its CRDs lack of them.

mod documents;
mod fields;
mod kinds;
mod known;
mod report;
mod server;
pub(crate) mod stock;
mod text;
mod tree;

use std::collections::BTreeMap;

use api_types::failover::FailoverPause;
use api_types::policy::{Policy, PolicyKind};
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::Binding;
use controller_kit::Clock;
use failover_core::lint::{Code, Finding, Known, Needs, StockKarmada, Subject};
use serde_json::{Value, json};

pub use documents::{Source, sources};
pub use report::{Counts, FleetView, Ignored, LintReport, Located, Skipped};
pub use tree::{Place, Places};

use crate::cli::LintArgs;
use crate::control_plane::ControlPlane;
use crate::failure::Failure;
pub(crate) use documents::{Document, documents};
pub(crate) use kinds::{Kind, kind};
use known::Fleet;
use server::Server;

/// Looks at files. `control_plane` is the one to compare with, or why there is none.
///
/// # Errors
/// The control plane was named by the command line and does not answer, or a defect of this program.
pub async fn lint(
    sources: &[Source],
    args: &LintArgs,
    control_plane: Result<&ControlPlane, String>,
    clock: &Clock,
) -> Result<LintReport, Failure> {
    let fleet = match control_plane {
        Ok(control_plane) => Ok(Fleet::ask(control_plane, clock).await?),
        Err(why) => Err(why),
    };
    let known = match &fleet {
        Ok(fleet) => fleet.known(args.probe_period, clock.now()),
        Err(_) => known::nothing(args.probe_period, clock.now()),
    };
    let mut report = LintReport {
        files: sources.len(),
        fleet: view(&fleet),
        ..LintReport::default()
    };
    let mut objects = Vec::new();
    let mut server = Server::new(clock);
    for source in sources {
        let (readable, unreadable) = documents(source);
        report.findings.extend(unreadable.into_iter().map(|unreadable| {
            Located::new(
                unreadable.finding,
                &unreadable.file,
                unreadable.number,
                "",
                unreadable.place,
            )
        }));
        for document in readable {
            objects.extend(one(document, &mut server, &mut report).await?);
        }
    }
    if known.stock_karmada == StockKarmada::There {
        for object in &objects {
            let found = stock::drops(&object.document.value);
            report
                .findings
                .extend(found.into_iter().map(|finding| object.located(finding)));
        }
    }
    twice(&objects, &mut report);
    meanings(&objects, &known, &mut report);
    Ok(report.finish(&args.ignore))
}

fn view(fleet: &Result<Fleet, String>) -> FleetView {
    let needs_it = |code: &&Code| code.needs() == Needs::Fleet;
    match fleet {
        Ok(fleet) => FleetView {
            asked: true,
            clusters: Some(fleet.clusters()),
            rules_left_out: fleet.rules_left_out(),
            ..FleetView::default()
        },
        Err(why) => FleetView {
            why_not: Some(why.clone()),
            rules_left_out: Code::ALL.iter().filter(needs_it).copied().collect(),
            ..FleetView::default()
        },
    }
}

/// An object of ours.
struct Object {
    document: Document,
    /// As `Kind NAMESPACE/NAME`.
    title: String,
    /// What it is for the rules; nothing for kinds that they do not speak of, and for what cannot be read as one.
    subject: Option<Subject>,
    /// Fields that the API server refuses.
    refused: Vec<String>,
}

impl Object {
    fn located(&self, finding: Finding) -> Located {
        locate(finding, &self.document, &self.title)
    }
}

fn locate(finding: Finding, document: &Document, title: &str) -> Located {
    let place = document.places.nearest(&finding.field).unwrap_or(document.begins);
    Located::new(finding, &document.file, document.number, title, place)
}

/// Looks at what an API server would say of one document.
async fn one(document: Document, server: &mut Server, report: &mut LintReport) -> Result<Option<Object>, Failure> {
    let crd = match kind(&document.value) {
        Kind::Ours(crd) => crd,
        Kind::Others(kind) => {
            report.skipped.push(Skipped {
                file: document.file,
                document: document.number,
                kind,
            });
            return Ok(None);
        }
        Kind::Nearly { what, fix } => {
            let why = "the API server does not serve it, so that it is refused";
            let finding = Finding::new(Code::UnknownKind, "kind", what, why, fix);
            report.findings.push(locate(finding, &document, ""));
            return Ok(None);
        }
        Kind::NoObject => {
            let finding = Finding::new(
                Code::NotAnObject,
                "",
                "apiVersion or kind is missing",
                "without them nobody can tell what it is",
                "add both, or take the document out of the file",
            );
            report.findings.push(locate(finding, &document, ""));
            return Ok(None);
        }
    };
    let title = title(&document.value);
    report.objects.push(title.clone());
    let metadata = &document.value["metadata"];
    if metadata["name"].as_str().is_none_or(str::is_empty) && metadata["generateName"].as_str().is_none() {
        let finding = Finding::new(
            Code::NotAnObject,
            "metadata.name",
            "metadata.name is missing",
            "every object has a name",
            "add metadata.name",
        );
        report.findings.push(locate(finding, &document, &title));
        return Ok(None);
    }
    let schema = crd
        .spec
        .versions
        .first()
        .map(|version| json!(version.schema)["openAPIV3Schema"].clone());
    let unknown = fields::unknown(&document.value, &schema.unwrap_or_default());
    let refusals = server.refusals(crd, &document.value).await?;
    let subject = subject(&server::corrected(&document.value, &refusals));
    let mut object = Object {
        refused: refusals.iter().map(|finding| finding.field.clone()).collect(),
        subject: None,
        document,
        title,
    };
    let is_silent = refusals.is_empty();
    report.findings.extend(
        unknown
            .into_iter()
            .chain(refusals)
            .map(|finding| object.located(finding)),
    );
    match subject {
        Ok(subject) => object.subject = subject,
        Err(why) if is_silent => {
            let finding = Finding::new(
                Code::Invalid,
                "spec",
                format!("it cannot be read: {why}"),
                "our controllers cannot read it either",
                "correct what the message names",
            );
            report.findings.push(object.located(finding));
        }
        Err(_) => {}
    }
    Ok(Some(object))
}

/// `Kind NAMESPACE/NAME`.
fn title(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or("without a name");
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

fn subject(object: &Value) -> Result<Option<Subject>, serde_json::Error> {
    let policy = |kind: PolicyKind| -> Result<Option<Subject>, serde_json::Error> {
        let policy: Policy = serde_json::from_value(object.clone())?;
        Ok(Some(Subject::Propagation(kind, Box::new(policy))))
    };
    match object["kind"].as_str() {
        Some("ClusterTaintPolicy") => {
            let policy: ClusterTaintPolicy = serde_json::from_value(object.clone())?;
            Ok(Some(Subject::TaintPolicy(Box::new(policy))))
        }
        Some("PropagationPolicy") => policy(PolicyKind::Namespaced),
        Some("ClusterPropagationPolicy") => policy(PolicyKind::Cluster),
        Some("FailoverPause") => {
            let pause: FailoverPause = serde_json::from_value(object.clone())?;
            Ok(Some(Subject::Pause(Box::new(pause))))
        }
        Some("ResourceBinding" | "ClusterResourceBinding") => {
            let binding: Binding = serde_json::from_value(object.clone())?;
            Ok(Some(Subject::Binding(Box::new(binding))))
        }
        _ => Ok(None),
    }
}

/// Says which objects stand in the files twice.
fn twice(objects: &[Object], report: &mut LintReport) {
    let mut first: BTreeMap<&str, &Object> = BTreeMap::new();
    for object in objects {
        if let Some(known) = first.get(object.title.as_str()) {
            let finding = Finding::new(
                Code::DuplicateObject,
                "metadata.name",
                format!(
                    "{} stands at {}:{} too",
                    object.title, known.document.file, known.document.begins.line
                ),
                "of two documents about one object the one that is applied last wins",
                "keep one of them",
            );
            report.findings.push(object.located(finding));
        } else {
            first.insert(&object.title, object);
        }
    }
}

/// Looks at what the objects mean. What the API server refuses already is not said twice.
fn meanings(objects: &[Object], known: &Known<'_>, report: &mut LintReport) {
    let (readable, subjects): (Vec<&Object>, Vec<Subject>) = objects
        .iter()
        .filter_map(|object| Some((object, object.subject.clone()?)))
        .unzip();
    for (index, finding) in failover_core::lint::lint(&subjects, known) {
        let object = readable[index];
        if matches!(finding.code, Code::TwoForms | Code::Invalid) {
            // The server's word about the same, which has no code of its own.
            report.findings.retain(|said| {
                said.code != Code::Refused || said.object != object.title || said.field != finding.field
            });
        } else if object.refused.iter().any(|refused| refused.starts_with(&finding.field)) {
            continue;
        }
        report.findings.push(object.located(finding));
    }
}
