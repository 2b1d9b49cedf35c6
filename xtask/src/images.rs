//! The images of the Dockerfile: which there are, and their build step carried out here, without a container.
//!
//! What the Dockerfile names is what the workspace has and what the charts run, compared by tests; how large the programs
//! are, and whether they say which version they are, is seen by carrying out the very command of the Dockerfile, on a copy of
//! what goes to the builder: what is missing there would be missed nowhere else.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

use crate::build_context;
use crate::run::run as run_command;
use crate::sbom;
use crate::stage::Outcome;
use crate::version::{VARIABLE, version};
use crate::workspace::Workspace;

/// An optimized build of everything from nothing.
const BUILD_WITHIN: Duration = Duration::from_mins(90);
/// The most that a stripped program may have.
const MOST_MIB: f64 = 25.0;
/// What is shipped with the programs: what they are made of, and the licences of that.
const PAPERS: [&str; 2] = [SBOM, "THIRD-PARTY.txt"];
const SBOM: &str = "sbom.cdx.json";

/// Carries out the build step and looks at what it made, as a stage of the test run.
pub fn stage(workspace: &Workspace) -> Outcome {
    run(workspace).into()
}

/// Carries out the build step and prints the size of each program.
pub fn run(workspace: &Workspace) -> Result<()> {
    let target = workspace.target()?;
    let made = target.join("images");
    fs::create_dir_all(&made).with_context(|| format!("cannot make {}", made.display()))?;
    let context = target.join("images-context");
    build_context::prepare(workspace, &context)?;
    let inside = workspace.shell().clone();
    inside.change_dir(&context);
    let step = build_step(&inside.read_file("Dockerfile")?)?;
    let version = version(workspace);
    let build = cmd!(inside, "sh -euc {step}")
        .env("OUT", &made)
        // As the build-arg of docs/install.md.
        .env(VARIABLE, &version)
        // The builder has no .git: nor is one above to be found.
        .env("GIT_CEILING_DIRECTORIES", &target)
        .env("CARGO_TARGET_DIR", &target);
    run_command(build, BUILD_WITHIN)?;
    look_at(&made, &programs(workspace)?, &version)
}

/// What was made is whole, small enough, and says which version it is.
fn look_at(made: &Path, programs: &[String], version: &str) -> Result<()> {
    let shell = Shell::new()?;
    let mut too_large = Vec::new();
    for program in programs {
        let path = made.join(program);
        let mib = size_mib(&path)?;
        let said = cmd!(shell, "{path} --version").quiet().read()?;
        ensure!(
            is_of(&said, program, version),
            "{program} is of {version}, and says {said:?}"
        );
        println!("{program:<34}{mib:6.1} MiB");
        if mib > MOST_MIB {
            too_large.push(format!("{program} has {mib:.1} MiB"));
        }
    }
    for paper in PAPERS {
        ensure!(made.join(paper).is_file(), "the build step wrote no {paper}");
    }
    let listed = sbom::version_of(&shell.read_file(made.join(SBOM))?)?;
    ensure!(listed == version, "{SBOM} is of {version}, and says {listed}");
    ensure!(
        too_large.is_empty(),
        "more than {MOST_MIB} MiB: {}",
        too_large.join(", ")
    );
    Ok(())
}

/// The programs that the Dockerfile builds.
pub fn programs(workspace: &Workspace) -> Result<Vec<String>> {
    let step = build_step(&workspace.shell().read_file("Dockerfile")?)?;
    let builds = step
        .split("&&")
        .filter(|command| command.trim_start().starts_with("cargo build "));
    let mut words = builds.flat_map(str::split_ascii_whitespace);
    let mut programs = Vec::new();
    while let Some(word) = words.next() {
        if word == "--package" {
            programs.push(
                words
                    .next()
                    .context("the Dockerfile's build ends in --package")?
                    .to_owned(),
            );
        }
    }
    ensure!(!programs.is_empty(), "the Dockerfile builds no package");
    Ok(programs)
}

/// The command of the Dockerfile's RUN, without its mounts.
fn build_step(dockerfile: &str) -> Result<String> {
    let mut lines = dockerfile.lines().skip_while(|line| !line.starts_with("RUN "));
    let mut step = String::new();
    for line in &mut lines {
        let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
        let words = line.split_ascii_whitespace();
        for word in words.filter(|word| *word != "RUN" && !word.starts_with("--mount=")) {
            step.push_str(word);
            step.push(' ');
        }
        if !goes_on {
            break;
        }
    }
    ensure!(!step.is_empty(), "the Dockerfile has no RUN");
    Ok(step)
}

/// Whether this is what a program of this version says when it is asked for it.
fn is_of(said: &str, program: &str, version: &str) -> bool {
    said.trim_end() == format!("{program} {version}")
}

#[allow(clippy::cast_precision_loss, reason = "sizes of programs")]
fn size_mib(path: &Path) -> Result<f64> {
    let size = fs::metadata(path).with_context(|| format!("the build step did not make {}", path.display()))?;
    Ok(size.len() as f64 / 1024.0 / 1024.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The targets that make an image of a program.
    fn targets(dockerfile: &str) -> BTreeSet<&str> {
        let lines = dockerfile.lines();
        lines.filter_map(|line| line.strip_prefix("FROM runtime AS ")).collect()
    }

    fn dockerfile() -> String {
        Workspace::find().unwrap().shell().read_file("Dockerfile").unwrap()
    }

    #[test]
    fn each_program_is_built_copied_and_made_an_image_of() {
        let (dockerfile, workspace) = (dockerfile(), Workspace::find().unwrap());
        let built: BTreeSet<String> = programs(&workspace).unwrap().into_iter().collect();
        let targets: BTreeSet<String> = targets(&dockerfile).into_iter().map(str::to_owned).collect();
        assert_eq!(targets, built);
        let step = build_step(&dockerfile).unwrap();
        for program in &built {
            // By --package, and in the list of what is copied.
            let named = step.split(' ').filter(|word| word.trim_end_matches(';') == program);
            assert_eq!(named.count(), 2, "{program} in {step}");
            for line in [
                format!("COPY --from=build /out/{program} /usr/local/bin/{program}"),
                format!("ENTRYPOINT [\"/usr/local/bin/{program}\"]"),
            ] {
                assert!(dockerfile.contains(&line), "{line}");
            }
        }
    }

    /// In the lines of a builder's stage the builder knows an argument from where it stands.
    #[test]
    fn the_builder_is_told_the_version_before_it_builds() {
        let dockerfile = dockerfile();
        let (before, after) = dockerfile.split_once("\nRUN ").unwrap();
        let stage = before.rsplit("\nFROM ").next().unwrap();
        let arguments: Vec<&str> = stage.lines().filter_map(|line| line.strip_prefix("ARG ")).collect();
        assert_eq!(arguments, [format!("{VARIABLE}=\"\"")]);
        // And the image says it as well.
        assert!(after.contains(&format!("image.version=\"${{{VARIABLE}}}\"")));
        let installing = Workspace::find().unwrap().shell().read_file("docs/install.md").unwrap();
        let told = format!(
            "--build-arg {VARIABLE}=\"{}+$(git rev-parse --short HEAD)\"",
            env!("CARGO_PKG_VERSION")
        );
        assert!(installing.contains(&told), "{told}");
    }

    /// A folder with a program that says this version, and papers of that one.
    fn made(programs: &str, papers: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        // Written by another process: whom another test starts meanwhile would hold a file open that is to be run.
        let write = format!("printf '#!/bin/sh\necho agent {programs}\n' >agent && chmod +x agent");
        let shell = Shell::new().unwrap();
        shell.change_dir(folder.path());
        cmd!(shell, "sh -euc {write}").quiet().run().unwrap();
        let sbom = format!(r#"{{"metadata": {{"component": {{"version": "{papers}"}}}}}}"#);
        fs::write(folder.path().join(SBOM), sbom).unwrap();
        fs::write(folder.path().join("THIRD-PARTY.txt"), "").unwrap();
        folder
    }

    #[test]
    fn what_was_made_says_the_version_that_the_builder_was_told() {
        let looked_at = |folder: &tempfile::TempDir| {
            let told = look_at(folder.path(), &["agent".to_owned()], "0.1.0+abc");
            told.map_err(|error| format!("{error:#}"))
        };
        assert_eq!(looked_at(&made("0.1.0+abc", "0.1.0+abc")), Ok(()));
        let wrong = looked_at(&made("0.1.0", "0.1.0+abc")).unwrap_err();
        assert_eq!(wrong, "agent is of 0.1.0+abc, and says \"agent 0.1.0\"");
        let wrong = looked_at(&made("0.1.0+abc", "0.1.0")).unwrap_err();
        assert_eq!(wrong, "sbom.cdx.json is of 0.1.0+abc, and says 0.1.0");
        let lacking = made("0.1.0+abc", "0.1.0+abc");
        fs::remove_file(lacking.path().join("THIRD-PARTY.txt")).unwrap();
        assert_eq!(
            looked_at(&lacking).unwrap_err(),
            "the build step wrote no THIRD-PARTY.txt"
        );
    }

    #[test]
    fn a_program_says_its_name_and_version_and_no_more() {
        assert!(is_of("agent 0.1.0+abc\n", "agent", "0.1.0+abc"));
        assert!(!is_of("agent 0.1.0\n", "agent", "0.1.0+abc"));
        assert!(!is_of("agent 0.1.0+abcd\n", "agent", "0.1.0+abc"));
    }

    // What a chart runs has an image.
    #[test]
    fn each_chart_of_a_component_has_an_image() {
        let workspace = Workspace::find().unwrap();
        let built = programs(&workspace).unwrap();
        let crates = fs::read_dir(workspace.shell().current_dir().join("charts")).unwrap();
        let charts = crates.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        for chart in charts.filter(|chart| {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../crates")
                .join(chart)
                .is_dir()
        }) {
            assert!(built.contains(&chart), "{chart}");
        }
    }

    #[test]
    fn the_build_step_is_one_command_without_mounts() {
        let step = build_step(&dockerfile()).unwrap();
        assert!(step.starts_with("cargo build --release --locked"), "{step}");
        assert!(!step.contains("--mount"), "{step}");
        for paper in PAPERS {
            assert!(step.contains(&format!("$OUT/{paper}")), "{step}");
            let shipped = format!("COPY --from=build /out/{paper} /usr/share/doc/karmada-failover/{paper}");
            assert!(dockerfile().contains(&shipped), "{shipped}");
        }
    }
}
