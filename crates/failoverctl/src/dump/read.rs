//! From a file to memory.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use eviction_queue_api::{v1, wire};
use serde_json::Value;

use super::report::NotRead;
use super::shape::{Answer, Header, KIND, Line, Part};
use crate::failure::{ExitStatus, Failure};
use crate::output::API_VERSION;

/// What a dump holds.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) header: Header,
    pub(super) objects: Vec<Value>,
    pub(super) queue: Answers,
    pub(super) not_read: Vec<NotRead>,
}

/// What the queue said.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub(super) address: Option<String>,
    pub(super) status: Option<v1::GetStatusResponse>,
    pub(super) lanes: Vec<v1::Lane>,
    pub(super) entries: Vec<v1::GetEntryResponse>,
    pub(super) recent: Vec<v1::RecentOutcome>,
}

impl Answers {
    fn take(&mut self, answer: &Answer) -> Result<(), wire::NoMessage> {
        self.address = Some(answer.address.clone());
        let bytes = &answer.wire.0;
        match answer.part {
            Part::Status => self.status = Some(wire::decode(bytes)?),
            Part::Lane => self.lanes.push(wire::decode(bytes)?),
            Part::Entry => self.entries.push(wire::decode(bytes)?),
            Part::Recent => self.recent.push(wire::decode(bytes)?),
        }
        Ok(())
    }
}

impl Contents {
    /// Where the queue answers: where it did, and where its leader's Lease says.
    pub(super) fn queue_addresses(&self) -> BTreeSet<String> {
        let on_leases = self
            .objects
            .iter()
            .filter(|object| object["kind"] == "Lease")
            .filter_map(|lease| {
                let annotations = &lease["metadata"]["annotations"];
                Some(
                    annotations[controller_kit::leader::ADDRESS_ANNOTATION]
                        .as_str()?
                        .to_owned(),
                )
            });
        on_leases.chain(self.queue.address.clone()).collect()
    }

    /// Why the queue's answers are not there.
    pub(super) fn why_no_queue(&self) -> String {
        let said = self.not_read.iter().find(|not| not.what == "the eviction queue");
        said.map_or_else(|| "nobody asked it".to_owned(), |not| not.why.clone())
    }
}

/// Reads a dump.
pub(super) fn read(file: &Path) -> Result<Contents, Failure> {
    let shown = file.display().to_string();
    let opened: Box<dyn Read> = if shown == "-" {
        Box::new(std::io::stdin())
    } else {
        let opened = std::fs::File::open(file);
        Box::new(opened.map_err(|error| bad(&shown, error.to_string(), "check the name, and whether it may be read"))?)
    };
    parse(BufReader::new(opened), &shown)
}

fn parse(lines: impl BufRead, file: &str) -> Result<Contents, Failure> {
    let mut lines = lines.lines().zip(1_usize..);
    let unreadable = |error: &std::io::Error| bad(file, error.to_string(), NO_DUMP);
    let first = match lines.next() {
        Some((Ok(line), _)) => line,
        Some((Err(error), _)) => return Err(unreadable(&error)),
        None => return Err(bad(file, "it is empty", NO_DUMP)),
    };
    let mut contents = Contents {
        header: header(&first, file)?,
        objects: Vec::new(),
        queue: Answers::default(),
        not_read: Vec::new(),
    };
    let mut taken = 0;
    for (line, number) in lines {
        let line = line.map_err(|error| unreadable(&error))?;
        let line: Line = match serde_json::from_str(&line) {
            Ok(line) => line,
            // The line in the middle of which a copy broke off.
            Err(error) if error.is_eof() => return Err(cut_off(file, number, taken)),
            Err(error) => {
                return Err(bad(
                    file,
                    format!("line {number}: {error}"),
                    "make it again: somebody edited it",
                ));
            }
        };
        match line {
            Line::Object(object) => contents.objects.push(object),
            Line::Queue(answer) => {
                let taken = contents.queue.take(&answer);
                taken.map_err(|error| bad(file, format!("line {number}: {error}"), NEWER))?;
            }
            Line::End(end) if end.lines == taken => {
                contents.not_read = end.not_read;
                return Ok(contents);
            }
            Line::End(end) => {
                let why = format!("it says that it has {} lines, and has {taken}", end.lines);
                return Err(bad(file, why, "copy it again, or make it again: failoverctl dump"));
            }
        }
        taken += 1;
    }
    Err(cut_off(file, taken + 2, taken))
}

/// Versions of dumps that are read: what a dump is made of did not change from the one to the other.
const READ: [&str; 2] = [API_VERSION, "failoverctl.karmada.io/v1alpha1"];

const NO_DUMP: &str = "give a file that failoverctl dump wrote";
const NEWER: &str = "use the failoverctl of the version that wrote it, or a newer one";

fn header(line: &str, file: &str) -> Result<Header, Failure> {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let (api_version, kind) = (value["apiVersion"].as_str(), value["kind"].as_str());
    match (api_version, kind) {
        (Some(version), Some(KIND)) if READ.contains(&version) => {}
        (Some(other), Some(KIND)) if other.starts_with("failoverctl.karmada.io/") => {
            return Err(bad(
                file,
                format!("it is a dump of version {other}, and this program reads {API_VERSION}"),
                NEWER,
            ));
        }
        (Some(version), Some(kind)) => {
            return Err(bad(
                file,
                format!("it is no dump: it begins with a {kind} of {version}"),
                NO_DUMP,
            ));
        }
        _ => return Err(bad(file, "it is no dump: its first line says nothing of one", NO_DUMP)),
    }
    serde_json::from_value(value).map_err(|error| bad(file, format!("line 1: {error}"), NEWER))
}

fn cut_off(file: &str, line: usize, taken: usize) -> Failure {
    bad(
        file,
        format!("it is cut off at line {line}, after {taken} objects and answers: its last line is missing"),
        "copy it again, or make it again: failoverctl dump",
    )
}

fn bad(file: &str, why: impl Into<String>, next: &str) -> Failure {
    Failure::new(ExitStatus::Usage, format!("cannot read the dump {file}"), why, next)
}
