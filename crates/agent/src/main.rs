//! The agent as a process.

use std::process::ExitCode;

use agent::cli::{self, Cli};
use agent::controllers;
use clap::FromArgMatches;
use controller_kit::main_in_member;

fn main() -> ExitCode {
    let cli = match Cli::from_arg_matches(&cli::command().get_matches()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    if let Some(printed) = cli.flags.print_rights(&cli.kit.system_namespace) {
        return printed;
    }
    let member = cli.flags.member_access();
    main_in_member("agent", cli.kit, member, controllers(cli.flags))
}
