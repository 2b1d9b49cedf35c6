//! The sources of a stock Karmada, for tests that hold our answers against what it brings: fetched by Go, never built.

use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

/// Karmada's module.
const MODULE: &str = "github.com/karmada-io/karmada";
/// The oldest version that ours work beside.
const VERSION: &str = "v1.16.0";
/// What Go says of that version's files.
const SUM: &str = "h1:RD58HD7xp0+FKDWkJRygBsN/ht3k7gbBZa0xBzWSio4=";

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
    #[error("go cannot fetch {MODULE} {VERSION}: {why}; it needs a module proxy (GOPROXY), or the module in its cache")]
    NotFetchable {
        /// What Go said.
        why: String,
    },
    /// It is not what it was.
    #[error("{MODULE} {VERSION} has the sum {found}, expected {SUM}")]
    Another {
        /// Its sum.
        found: String,
    },
}

/// The folder of the sources in Go's module cache, which may not be written to; fetched unless they are there.
///
/// # Errors
/// [`NoStock`].
pub fn fetch_stock() -> Result<PathBuf, NoStock> {
    let output = Command::new("go")
        // Outside of every module, whose requirements would count.
        .current_dir(env::temp_dir())
        .env("GOWORK", "off")
        .env("GOFLAGS", "")
        .args(["mod", "download", "-json", &format!("{MODULE}@{VERSION}")])
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
        Some(sum) if sum == SUM => Ok(PathBuf::from(folder)),
        sum => Err(NoStock::Another {
            found: sum.unwrap_or_default(),
        }),
    }
}

/// A field of Go's answer, which has one a line.
fn field(said: &str, name: &str) -> Option<String> {
    let start = format!("\"{name}\": \"");
    let value = said.lines().find_map(|line| line.trim().strip_prefix(&start))?;
    Some(value.trim_end_matches(',').trim_end_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn what_go_answers_is_read() {
        let said = "{\n\t\"Path\": \"a\",\n\t\"Dir\": \"/cache/a@v1\",\n\t\"Sum\": \"h1:x=\"\n}\n";
        assert_eq!(field(said, "Dir").as_deref(), Some("/cache/a@v1"));
        assert_eq!(field(said, "Sum").as_deref(), Some("h1:x="));
        assert_eq!(field(said, "Error"), None);
    }
}
