//! From a control plane to a file, a page at a time. What cannot be read is written down, and the rest goes on.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use api_types::names::namespace::CLUSTER as CLUSTER_LEASES;
use controller_kit::api_errors;
use eviction_queue_api::wire;
use k8s_openapi::ByteString;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use serde::Serialize;
use serde_json::{Value, json};

use super::clean::cleaned;
use super::kinds::{KINDS, Kind, Scope};
use super::report::{DumpResult, KindCount, NOT_SERVED, NotRead};
use super::shape::{Answer, End, Header, Line, Part};
use crate::cli::DumpArgs;
use crate::control_plane::{CLUSTER_API_SERVICE, ControlPlane, each_page};
use crate::entry::{EntryView, MoveView};
use crate::failure::{ExitStatus, Failure};
use crate::queue::Queue;
use crate::run::Surroundings;
use eviction_queue_api::v1;

/// Entries of the queue whose place is asked for.
const PLACED: usize = 2_000;
/// The file name that stands for standard output.
const STDOUT: &str = "-";

/// Why a dump is not written to its end.
enum Ended {
    /// It goes to standard output, and its reader left, as in `failoverctl dump -f - | head`: it has seen enough.
    ReaderGone,
    /// It cannot be written.
    Failed(Failure),
}

/// Writes a dump; nothing is said of one whose reader left.
///
/// # Errors
/// The file is there already or cannot be written. What cannot be read is no error: the dump says so.
pub async fn dump(
    control_plane: &ControlPlane,
    queue: Result<Queue, Failure>,
    args: &DumpArgs,
    around: &Surroundings,
) -> Result<Option<DumpResult>, Failure> {
    match write(control_plane, queue, args, around).await {
        Ok(written) => Ok(Some(written)),
        Err(Ended::ReaderGone) => Ok(None),
        Err(Ended::Failed(failure)) => Err(failure),
    }
}

async fn write(
    control_plane: &ControlPlane,
    queue: Result<Queue, Failure>,
    args: &DumpArgs,
    around: &Surroundings,
) -> Result<DumpResult, Ended> {
    let now = around.clock.now();
    let file = args
        .file
        .clone()
        .unwrap_or_else(|| format!("failover-dump-{}.jsonl", now.as_second()).into());
    let mut out = Out::create(&file)?;
    out.line(&Header::new(now, control_plane.system_namespace()))?;
    for kind in KINDS {
        objects(control_plane, kind, &mut out).await?;
    }
    match queue {
        Ok(queue) => answers(queue, &mut out).await?,
        Err(failure) => out.not_read("the eviction queue", &failure.one_line()),
    }
    out.finish()
}

/// The file, and what is in it so far.
struct Out {
    file: String,
    to: BufWriter<Box<dyn Write + Send>>,
    lines: usize,
    bytes: u64,
    holds: BTreeMap<usize, KindCount>,
    not_read: Vec<NotRead>,
}

impl Out {
    fn create(file: &Path) -> Result<Self, Ended> {
        let shown = file.display().to_string();
        let to: Box<dyn Write + Send> = if shown == STDOUT {
            Box::new(std::io::stdout())
        } else {
            let mut options = std::fs::File::options();
            options.write(true).create_new(true);
            // Names, namespaces and policies of a whole control plane are for whom it is given to.
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let made = options.open(file);
            Box::new(made.map_err(|error| not_written(&shown, &error))?)
        };
        Ok(Self {
            file: shown,
            to: BufWriter::new(to),
            lines: 0,
            bytes: 0,
            holds: BTreeMap::new(),
            not_read: Vec::new(),
        })
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), Ended> {
        let text = serde_json::to_string(line).map_err(std::io::Error::from);
        let text = text.map_err(|error| not_written(&self.file, &error))?;
        self.bytes += text.len() as u64 + 1;
        writeln!(self.to, "{text}").map_err(|error| not_written(&self.file, &error))
    }

    fn add(&mut self, order: usize, kind: &str, line: &Line) -> Result<(), Ended> {
        self.line(line)?;
        self.lines += 1;
        let counted = self.holds.entry(order).or_insert_with(|| KindCount {
            kind: kind.to_owned(),
            count: 0,
        });
        counted.count += 1;
        Ok(())
    }

    fn not_read(&mut self, what: &str, why: &str) {
        self.not_read.push(NotRead {
            what: what.to_owned(),
            why: why.to_owned(),
        });
    }

    fn finish(mut self) -> Result<DumpResult, Ended> {
        let end = Line::End(End {
            lines: self.lines,
            not_read: self.not_read.clone(),
        });
        self.line(&end)?;
        self.to.flush().map_err(|error| not_written(&self.file, &error))?;
        Ok(DumpResult {
            file: self.file,
            holds: self.holds.into_values().collect(),
            bytes: self.bytes,
            not_read: self.not_read,
        })
    }
}

fn not_written(file: &str, error: &std::io::Error) -> Ended {
    if file == STDOUT && error.kind() == std::io::ErrorKind::BrokenPipe {
        return Ended::ReaderGone;
    }
    let (status, next) = if error.kind() == std::io::ErrorKind::AlreadyExists {
        (ExitStatus::Usage, "name another file with -f: none is overwritten")
    } else {
        let next = "name a file that can be written with -f, or - for standard output";
        (ExitStatus::Problem, next)
    };
    Ended::Failed(Failure::new(
        status,
        format!("cannot write the dump to {file}"),
        error.to_string(),
        next,
    ))
}

async fn objects(control_plane: &ControlPlane, kind: Kind, out: &mut Out) -> Result<(), Ended> {
    let client = control_plane.client();
    let resource = ApiResource {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        plural: kind.plural.to_owned(),
    };
    let everywhere = || {
        (
            Api::<DynamicObject>::all_with(client.clone(), &resource),
            kind.plural.to_owned(),
        )
    };
    let in_namespace = |namespace: &str| {
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &resource);
        (api, format!("{} in namespace {namespace}", kind.plural))
    };
    match kind.scope {
        Scope::Cluster | Scope::Everywhere => {
            let (api, what) = everywhere();
            listed(&api, &what, kind, out).await
        }
        Scope::LeaseNamespaces => {
            for namespace in [control_plane.system_namespace(), CLUSTER_LEASES] {
                let (api, what) = in_namespace(namespace);
                listed(&api, &what, kind, out).await?;
            }
            Ok(())
        }
        Scope::OnlyClusterApi => {
            let (api, what) = everywhere();
            match api.get_opt(CLUSTER_API_SERVICE).await {
                Ok(Some(object)) => add(out, kind, &object),
                Ok(None) => Ok(()),
                // A server without aggregation does not know the kind at all.
                Err(error) if api_errors::is_not_found(&error) => Ok(()),
                Err(error) => {
                    out.not_read(&what, &api_errors::one_line(&error));
                    Ok(())
                }
            }
        }
    }
}

async fn listed(api: &Api<DynamicObject>, what: &str, kind: Kind, out: &mut Out) -> Result<(), Ended> {
    let mut failed = None;
    let (mut taken, mut left_out) = (0, 0_usize);
    let read = each_page(
        ListParams::default(),
        async |params| api.list(params).await,
        |page: Vec<DynamicObject>| {
            for object in page.into_iter().filter(is_ours) {
                if taken >= kind.most {
                    left_out += 1;
                    continue;
                }
                taken += 1;
                if let Err(ended) = add(out, kind, &object) {
                    failed = Some(ended);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        },
    );
    let read = read.await;
    if let Some(ended) = failed {
        return Err(ended);
    }
    if left_out > 0 {
        out.not_read(
            what,
            &format!("{left_out} more than the {} that a dump holds", kind.most),
        );
    }
    match read {
        Ok(()) => Ok(()),
        Err(error) if api_errors::is_not_found(&error) => {
            out.not_read(what, NOT_SERVED);
            Ok(())
        }
        Err(error) => {
            out.not_read(what, &api_errors::one_line(&error));
            Ok(())
        }
    }
}

/// Of Events only those about what failover is about.
fn is_ours(object: &DynamicObject) -> bool {
    let about = &object.data["involvedObject"];
    let of_karmada = about["apiVersion"]
        .as_str()
        .is_some_and(|version| version.contains("karmada.io"));
    about.is_null() || about["kind"] == "Cluster" || of_karmada
}

fn add(out: &mut Out, kind: Kind, object: &DynamicObject) -> Result<(), Ended> {
    let mut object = json!(object);
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.into();
    let order = KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len());
    out.add(order, kind.kind, &Line::Object(cleaned(object)))
}

/// What the queue says, in whole answers.
async fn answers(mut queue: Queue, out: &mut Out) -> Result<(), Ended> {
    let said = async {
        let status = queue.status().await?;
        let lanes = queue.lanes().await?;
        let entries = queue.list(&v1::EntryFilter::default(), 0).await?.entries;
        let placed = queue.with_places(&entries[..entries.len().min(PLACED)]).await?;
        let recent = queue.recent(0, None).await?;
        Ok::<_, Failure>((status, lanes, entries, placed, recent))
    };
    let (status, lanes, entries, placed, recent) = match said.await {
        Ok(said) => said,
        Err(failure) => {
            out.not_read("the eviction queue", &failure.one_line());
            return Ok(());
        }
    };
    let address = queue.address().to_owned();
    let mut answer = |part: Part, name: &str, wire: Vec<u8>, view: Value| {
        let line = Line::Queue(Answer {
            part,
            address: address.clone(),
            wire: ByteString(wire),
            view,
        });
        out.add(KINDS.len() + part as usize, name, &line)
    };
    answer(Part::Status, "queue status", wire::encode(&status), Value::Null)?;
    for lane in &lanes {
        answer(Part::Lane, "queue lane", wire::encode(lane), Value::Null)?;
    }
    let rest = entries.iter().skip(placed.len()).map(|entry| v1::GetEntryResponse {
        entry: Some(entry.clone()),
        ..v1::GetEntryResponse::default()
    });
    for entry in placed.into_iter().chain(rest) {
        let view = entry.entry.as_ref().map(|known| EntryView::of(known).placed(&entry));
        answer(Part::Entry, "queue entry", wire::encode(&entry), json!(view))?;
    }
    for outcome in &recent {
        answer(
            Part::Recent,
            "queue outcome",
            wire::encode(outcome),
            json!(MoveView::of(outcome)),
        )?;
    }
    Ok(())
}
