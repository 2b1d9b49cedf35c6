//! The sources of a stock Karmada, for tests that hold our answers against what it brings: fetched by Go, never built.

use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

/// Karmada's module.
const MODULE: &str = "github.com/karmada-io/karmada";
/// The oldest version that ours work beside is pinned here, where a program of `stock` links it.
const GO_MOD: &str = include_str!("../stock/go.mod");
const GO_SUM: &str = include_str!("../stock/go.sum");

/// Why the sources are not there, in one line with the way to get them.
#[derive(Debug, thiserror::Error)]
pub enum NoStock {
    /// There is no Go.
    #[error("there is no Go to fetch {MODULE} with: install Go 1.26 or newer")]
    NoGo,
    /// Go could not be started.
    #[error("cannot run go: {0}")]
    Go(io::Error),
    /// Go could not fetch it.
    #[error("go cannot fetch {MODULE}: {why}; it needs a module proxy (GOPROXY), or the module in its cache")]
    NotFetchable {
        /// What Go said.
        why: String,
    },
    /// It is not what it was.
    #[error("{MODULE} has the sum {found}, which is not that of the pinned version")]
    Another {
        /// Its sum.
        found: String,
    },
    /// The files beside this crate pin none.
    #[error("{MODULE} is not pinned in stock/go.mod and stock/go.sum")]
    NotPinned,
}

/// The folder of the sources in Go's module cache, which may not be written to; fetched unless they are there.
///
/// # Errors
/// [`NoStock`].
pub fn fetch_stock() -> Result<PathBuf, NoStock> {
    let (version, pinned) = pin().ok_or(NoStock::NotPinned)?;
    let output = Command::new("go")
        // Outside of every module, whose requirements would count.
        .current_dir(env::temp_dir())
        .env("GOWORK", "off")
        .env("GOFLAGS", "")
        .args(["mod", "download", "-json", &format!("{MODULE}@{version}")])
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NoStock::NoGo,
            _ => NoStock::Go(error),
        })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let Some(folder) = field(&said, "Dir") else {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let why = field(&said, "Error").or_else(|| complaint.lines().last().map(str::to_owned));
        return Err(NoStock::NotFetchable {
            why: why.unwrap_or_else(|| "it said nothing".to_owned()),
        });
    };
    match field(&said, "Sum") {
        Some(sum) if sum == pinned => Ok(PathBuf::from(folder)),
        sum => Err(NoStock::Another {
            found: sum.unwrap_or_default(),
        }),
    }
}

/// The version, and the sum of its files.
fn pin() -> Option<(&'static str, &'static str)> {
    let after = |line: &'static str, words: &str| line.trim().strip_prefix(words)?.strip_prefix(' ');
    let version = GO_MOD.lines().find_map(|line| after(line, MODULE))?;
    let sum = GO_SUM
        .lines()
        .find_map(|line| after(line, &format!("{MODULE} {version}")))?;
    Some((version, sum))
}

/// A field of Go's answer, which has one a line.
fn field(said: &str, name: &str) -> Option<String> {
    let start = format!("\"{name}\": \"");
    let value = said.lines().find_map(|line| line.trim().strip_prefix(&start))?;
    Some(value.trim_end_matches(',').trim_end_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::{field, pin};

    #[test]
    fn a_version_is_pinned() {
        let (version, sum) = pin().unwrap();
        assert!(version.starts_with("v1.") && sum.starts_with("h1:"), "{version} {sum}");
    }

    #[test]
    fn what_go_answers_is_read() {
        let said = "{\n\t\"Path\": \"a\",\n\t\"Dir\": \"/cache/a@v1\",\n\t\"Sum\": \"h1:x=\"\n}\n";
        assert_eq!(field(said, "Dir").as_deref(), Some("/cache/a@v1"));
        assert_eq!(field(said, "Sum").as_deref(), Some("h1:x="));
        assert_eq!(field(said, "Error"), None);
    }
}
