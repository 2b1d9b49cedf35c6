//! The program `failoverctl`.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use controller_kit::Clock;
use failoverctl::output::Colour;
use failoverctl::run::Surroundings;
use failoverctl::{Cli, run};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut stdout = std::io::stdout();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || !stdout.is_terminal();
    let colour = if plain { Colour::Off } else { Colour::On };
    let around = Surroundings {
        colour,
        ..Surroundings::plain(Clock::system())
    };
    let (text, status) = match run(&cli, &around).await {
        Ok(answer) => (answer.text, answer.status),
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            return failure.status().into();
        }
    };
    // A reader that left early, as in `failoverctl queue list | head`, has seen enough.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    status.into()
}
