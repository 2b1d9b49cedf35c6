//! `completion` and `man-pages`: what shells and people know of the program, from its command line itself.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::{ExitStatus, Failure};
use crate::invoked::NAME;

/// The completion of a shell, as text.
#[must_use]
pub fn completion(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes a page for the program and for each of its commands: their names.
///
/// # Errors
/// They cannot be written.
pub fn man_pages(directory: &Path) -> Result<Vec<String>, Failure> {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    let written = std::fs::create_dir_all(directory).and_then(|()| page(&command, NAME, directory, &mut pages));
    written.map_err(|error| {
        Failure::new(
            ExitStatus::Problem,
            format!("cannot write man pages to {}", directory.display()),
            error.to_string(),
            "name a directory that can be written",
        )
    })?;
    Ok(pages)
}

fn page(command: &Command, name: &str, directory: &Path, pages: &mut Vec<String>) -> std::io::Result<()> {
    let mut text = Vec::new();
    let titled = command.clone().display_name(name.to_owned());
    clap_mangen::Man::new(titled).render(&mut text)?;
    let file = format!("{name}.1");
    std::fs::write(directory.join(&file), text)?;
    pages.push(file);
    let shown = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    for inner in shown {
        page(inner, &format!("{name}-{}", inner.get_name()), directory, pages)?;
    }
    Ok(())
}
