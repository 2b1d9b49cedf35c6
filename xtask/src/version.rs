//! The version of what is built for others: what the builder is told, as the Dockerfile's build-arg tells it, else the package's
//! with the commit of the checkout, as the programs say it themselves.

use std::env;

use xshell::cmd;

use crate::workspace::Workspace;

/// By which a build is told; crates/controller-kit/build.rs reads it, too.
pub const VARIABLE: &str = "KARMADA_FAILOVER_VERSION";

/// Of this checkout.
pub fn version(workspace: &Workspace) -> String {
    let shell = workspace.shell();
    let commit = cmd!(shell, "git rev-parse --short HEAD").quiet().ignore_stderr().read();
    chosen(env::var(VARIABLE).ok(), commit.ok())
}

fn chosen(told: Option<String>, commit: Option<String>) -> String {
    let package = env!("CARGO_PKG_VERSION");
    let is_something = |text: &String| !text.is_empty();
    let with_commit = || Some(format!("{package}+{}", commit.filter(is_something)?));
    told.filter(is_something)
        .or_else(with_commit)
        .unwrap_or_else(|| package.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_goes_before_the_commit_and_that_before_nothing() {
        let some = |text: &str| Some(text.to_owned());
        let package = env!("CARGO_PKG_VERSION");
        assert_eq!(chosen(some("1.2.3+told"), some("abc")), "1.2.3+told");
        assert_eq!(chosen(some(""), some("abc")), format!("{package}+abc"));
        assert_eq!(chosen(None, some("abc")), format!("{package}+abc"));
        assert_eq!(chosen(None, None), package);
        assert_eq!(chosen(None, some("")), package);
    }
}
