//! The checkout, and where its programs are built.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

use crate::run::run;

/// A build from nothing takes minutes on a small machine.
const BUILD_WITHIN: Duration = Duration::from_mins(40);

/// The checkout.
pub struct Workspace {
    shell: Shell,
}

impl Workspace {
    /// The checkout that this program was built in.
    pub fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let root = fs::canonicalize(&root).with_context(|| format!("{} is gone", root.display()))?;
        let shell = Shell::new()?;
        shell.change_dir(&root);
        Ok(Self { shell })
    }

    /// A shell in the checkout's root.
    pub fn shell(&self) -> &Shell {
        &self.shell
    }

    /// Builds all programs and tests. One command for both, and for all packages: with fewer, cargo would choose other
    /// features for shared dependencies and build them a second time.
    pub fn build(&self) -> Result<()> {
        let build = cmd!(self.shell, "cargo build --workspace --bins --tests --locked");
        run(build, BUILD_WITHIN).map(drop)
    }

    /// Where the programs lie that [`Workspace::build`] makes: where this one lies.
    pub fn programs(&self) -> Result<PathBuf> {
        let mut folder = env::current_exe().context("cannot find the running program")?;
        folder.pop();
        Ok(folder)
    }

    /// The folder of everything that is built.
    pub fn target(&self) -> Result<PathBuf> {
        let programs = self.programs()?;
        let target = programs.parent().context("the programs lie in no folder")?;
        Ok(target.to_owned())
    }

    /// One of the programs that [`Workspace::build`] makes.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        let path = self.programs()?.join(name);
        ensure!(
            path.is_file(),
            "the workspace has no program {name}: {} is not there",
            path.display()
        );
        Ok(path)
    }
}
