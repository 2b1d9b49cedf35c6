//! The arguments of what is done before and after: to look whether all is right, to set up, to hand back.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::Shell;

use super::change::ChangeArgs;
use super::when::parse_days;
use crate::check::Code;
use crate::controllers::Mode;

/// What is checked.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckArgs {
    /// Whose control plane it should be. Without it: what it looks like.
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<controller_kit::Mode>,

    /// Nothing of ours is installed yet: check what has to be so before.
    #[arg(long)]
    pub before_install: bool,

    /// Leave out checks of these codes; may be repeated, or a list with commas.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub ignore: Vec<Code>,
}

impl From<controller_kit::Mode> for Mode {
    fn from(mode: controller_kit::Mode) -> Self {
        match mode {
            controller_kit::Mode::Standalone => Self::Standalone,
            controller_kit::Mode::Beside => Self::Beside,
        }
    }
}

/// Whose kubeconfig.
#[derive(Debug, Clone, Args)]
pub struct KubeconfigArgs {
    /// A component, by its chart's name.
    #[arg(value_name = "COMPONENT", value_parser = clap::builder::PossibleValuesParser::new(crate::kubeconfig::COMPONENTS))]
    pub component: String,

    /// URL by which the component reaches the API server. Without it: the one that this command uses.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,

    /// Certificates of the API server's authority, in PEM. Without it: those beside the token, else those of the kubeconfig
    /// that this command uses.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// A token that ends after this time, instead of the one that lasts. The API server may shorten it.
    #[arg(long, value_name = "DURATION", value_parser = parse_days)]
    pub expires_in: Option<Duration>,

    /// Write it to this file, which must not exist yet and which its owner alone may read. Without it: to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// What is handed back.
#[derive(Debug, Clone, Default, Args)]
pub struct HandbackArgs {
    /// Also what people wrote into annotations of ours on policies and bindings: windows, failover, stay.
    #[arg(long)]
    pub settings: bool,

    /// How careful to be.
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// For which shell.
#[derive(Debug, Clone, Args)]
pub struct CompletionArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Where man pages go.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// A directory, which is made if it is not there: one page a command.
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}
