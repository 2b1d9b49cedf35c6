//! The agent as a process.

use std::process::ExitCode;

use agent::{Flags, controllers};
use clap::{CommandFactory, FromArgMatches, Parser};
use controller_kit::{KitFlags, main_in_member};

/// Lives in a Pull member: applies the member's Works and reports on them and on the member.
#[derive(Parser)]
#[command(name = "agent", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    // By the names that stock's agent has for them, too.
    let command = Cli::command()
        .mut_arg("kubeconfig", |flag| flag.visible_alias("karmada-kubeconfig"))
        .mut_arg("context", |flag| flag.visible_alias("karmada-context"));
    let cli = match Cli::from_arg_matches(&command.get_matches()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    if let Some(printed) = cli.flags.print_rights(&cli.kit.system_namespace) {
        return printed;
    }
    let member = cli.flags.member_access();
    main_in_member("agent", cli.kit, member, controllers(cli.flags))
}
