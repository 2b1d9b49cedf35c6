//! The program `failoverctl`.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches};
use controller_kit::Clock;
use failoverctl::cli::Command;
use failoverctl::console::{Standard, columns_of};
use failoverctl::invoked::{as_typed, typed_as};
use failoverctl::output::{Colour, Screen};
use failoverctl::run::Surroundings;
use failoverctl::{Cli, ExitStatus, Failure, run};

/// Half an answer must not be taken for a whole one.
fn not_written(error: &std::io::Error) -> Failure {
    Failure::new(
        ExitStatus::Problem,
        "cannot write the answer to standard output",
        error.to_string(),
        "make room there, or write it to another place",
    )
}

#[tokio::main]
async fn main() -> ExitCode {
    let typed = typed_as(std::env::args_os().next().as_ref());
    let parsed = Cli::command().bin_name(typed).get_matches();
    let cli = match Cli::from_arg_matches(&parsed) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let mut stdout = std::io::stdout();
    let columns = columns_of(&stdout);
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || !stdout.is_terminal();
    let colour = if plain { Colour::Off } else { Colour::On };
    let around = Surroundings {
        screen: Screen { colour, columns },
        console: Arc::new(Standard { typed }),
        ..Surroundings::plain(Clock::system())
    };
    let (text, status) = match run(&cli, &around).await {
        Ok(answer) => (answer.text, answer.status),
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "error: {}", as_typed(&failure.to_string(), typed));
            return failure.status().into();
        }
    };
    let text = match &cli.command {
        // A script for the program's own name.
        Command::Completion(_) => text,
        _ => as_typed(&text, typed),
    };
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => status.into(),
        // A reader that left early, as in `failoverctl queue list | head`, has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => status.into(),
        Err(error) => {
            let failure = not_written(&error);
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            failure.status().into()
        }
    }
}
