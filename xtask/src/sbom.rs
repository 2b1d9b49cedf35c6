//! What the programs are made of: a CycloneDX document of every package that is compiled into them, with version, licence
//! and checksum, from `cargo metadata` and `Cargo.lock`.
//!
//! It lists what any of the programs has, also what only one of them or one feature brings: rather one too many.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use xshell::cmd;

use crate::version::version;
use crate::workspace::Workspace;

/// Writes the document, or prints it.
pub fn run(workspace: &Workspace, output: Option<&Path>, programs: &[String]) -> Result<()> {
    write(output, &format!("{:#}\n", document(workspace, programs)?))
}

/// Writes a paper to a file, or prints it.
pub fn write(output: Option<&Path>, text: &str) -> Result<()> {
    match output {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display())),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

fn document(workspace: &Workspace, programs: &[String]) -> Result<Value> {
    let metadata = metadata(workspace)?;
    let lock = workspace.shell().read_file("Cargo.lock")?;
    components(&metadata, &checksums(&lock), programs, &version(workspace))
}

/// What cargo says of this workspace as it is built on this machine.
pub fn metadata(workspace: &Workspace) -> Result<Value> {
    let shell = workspace.shell();
    let version = cmd!(shell, "rustc -vV").quiet().read()?;
    let platform = version.lines().find_map(|line| line.strip_prefix("host: "));
    let platform = platform.context("rustc -vV says no host")?;
    let metadata = cmd!(
        shell,
        "cargo metadata --locked --format-version 1 --filter-platform {platform}"
    );
    serde_json::from_str(&metadata.quiet().read()?).context("cargo metadata printed no JSON")
}

/// The packages that are compiled into these programs, themselves included, in the order of names.
pub fn compiled<'a>(metadata: &'a Value, programs: &[String]) -> Result<Vec<&'a Value>> {
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .map(|package| (text(package, "id"), package))
        .collect();
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .map(|node| (text(node, "id"), node))
        .collect();
    let mut waiting = Vec::new();
    for program in programs {
        let mut named = packages
            .values()
            .filter(|package| text(package, "name") == program && package["source"].is_null());
        let package = named
            .next()
            .with_context(|| format!("the workspace has no package {program}"))?;
        waiting.push(text(package, "id"));
    }
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        let node = nodes.get(id).with_context(|| format!("cargo resolved no {id}"))?;
        let dependencies = list(&node["deps"]).filter(|dep| is_compiled_in(dep));
        waiting.extend(dependencies.map(|dep| text(dep, "pkg")));
    }
    let found = found.into_iter();
    let mut found: Vec<&Value> = found
        .map(|id| {
            packages
                .get(id)
                .copied()
                .with_context(|| format!("cargo knows no {id}"))
        })
        .collect::<Result<_>>()?;
    found.sort_by_key(|package| (text(package, "name"), text(package, "version")));
    Ok(found)
}

/// The version of the programs that a document is of.
pub fn version_of(document: &str) -> Result<String> {
    let document: Value = serde_json::from_str(document).context("the document is no JSON")?;
    let version = text(&document["metadata"]["component"], "version");
    ensure!(!version.is_empty(), "the document says no version");
    Ok(version.to_owned())
}

/// The document for these programs of this version, out of what cargo says.
fn components(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    programs: &[String],
    version: &str,
) -> Result<Value> {
    let packages = compiled(metadata, programs)?.into_iter();
    let components: Vec<Value> = packages
        .map(|package| component(package, checksums))
        .collect::<Result<_>>()?;
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "karmada-failover", "version": version}},
        "components": components,
    }))
}

/// Not what only builds or tests it.
fn is_compiled_in(dependency: &Value) -> bool {
    list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null())
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let licence = text(package, "license");
    ensure!(
        !licence.is_empty(),
        "{name} {version} says no licence: deny.toml has to clarify it before it is shipped"
    );
    let reference = format!("pkg:cargo/{name}@{version}");
    let mut component = json!({
        "type": "library",
        "bom-ref": reference,
        "purl": reference,
        "name": name,
        "version": version,
        // What SPDX writes OR for, some still write / for.
        "licenses": [{"expression": licence.replace('/', " OR ")}],
    });
    if let Some(checksum) = checksums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    Ok(component)
}

/// Checksums by name and version. Packages of this workspace have none.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |package: &str, name: &str| {
        let line = package
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = ")))?;
        Some(line.trim_matches('"').to_owned())
    };
    lock.split("[[package]]")
        .filter_map(|package| {
            let key = (field(package, "name")?, field(package, "version")?);
            Some((key, field(package, "checksum")?))
        })
        .collect()
}

pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images;

    fn metadata() -> Value {
        let package = |name: &str, source: Option<&str>, licence: &str| json!({"id": name, "name": name, "version": "1.0.0", "source": source, "license": licence});
        let dep = |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        json!({
            "packages": [
                package("agent", None, "Apache-2.0"),
                package("serde", Some("registry"), "MIT/Apache-2.0"),
                package("tests-only", Some("registry"), "MIT"),
                package("builds-only", Some("registry"), "MIT"),
            ],
            "resolve": {"nodes": [
                {"id": "agent", "deps": [dep("serde", None), dep("tests-only", Some("dev")), dep("builds-only", Some("build"))]},
                {"id": "serde", "deps": []},
            ]},
        })
    }

    #[test]
    fn what_is_compiled_in_is_listed_with_licence_and_checksum() {
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let document = components(&metadata(), &checksums(lock), &["agent".to_owned()], "1.2.3+abc").unwrap();
        assert_eq!(version_of(&document.to_string()).unwrap(), "1.2.3+abc");
        let listed: Vec<&str> = list(&document["components"]).map(|one| text(one, "purl")).collect();
        assert_eq!(listed, ["pkg:cargo/agent@1.0.0", "pkg:cargo/serde@1.0.0"]);
        let serde = &document["components"][1];
        assert_eq!(serde["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(serde["hashes"][0]["content"], "abc");
    }

    #[test]
    fn who_says_no_licence_is_not_shipped() {
        let mut metadata = metadata();
        metadata["packages"][1]["license"] = Value::Null;
        let refused = components(&metadata, &BTreeMap::new(), &["agent".to_owned()], "1.2.3").unwrap_err();
        assert!(
            refused.to_string().starts_with("serde 1.0.0 says no licence"),
            "{refused}"
        );
    }

    // Of this very workspace: each program's packages are found, and each of them says its licence.
    #[test]
    fn the_document_of_this_workspace_can_be_made() {
        let workspace = Workspace::find().unwrap();
        let programs = images::programs(&workspace).unwrap();
        let document = document(&workspace, &programs).unwrap();
        assert_eq!(version_of(&document.to_string()).unwrap(), version(&workspace));
        let names: BTreeSet<&str> = list(&document["components"]).map(|one| text(one, "name")).collect();
        assert!(names.contains("kube") && names.contains("eviction-queue"), "{names:?}");
        assert!(
            !names.contains("proptest") && !names.contains("xtask"),
            "what only tests is not shipped"
        );
    }
}
