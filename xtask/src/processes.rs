//! The end of a command together with all that it has started: a build that is killed alone leaves its compilers behind, and
//! `cargo bench` the benchmark.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

/// Kills a process and all that descend from it.
pub fn kill_tree(child: &mut Child) -> Result<()> {
    // While the child stands, those below it can be found. What they start between this look and their end is missed.
    let below = descendants(child.id(), &parents());
    child.kill().context("cannot kill a command")?;
    if !below.is_empty() {
        let ids = below.iter().map(ToString::to_string);
        // One that has ended by itself is complained about, and that is all.
        let _ = Command::new("kill")
            .arg("-KILL")
            .args(ids)
            .stderr(Stdio::null())
            .status();
    }
    child.wait().context("cannot wait for a command")?;
    Ok(())
}

/// Each process and who started it, as `/proc` tells it; empty where there is none.
fn parents() -> BTreeMap<u32, u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, parent(&stat)?))
    })
    .collect()
}

/// The fourth field; the second, the program's name, may hold anything.
fn parent(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn descendants(of: u32, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
    let mut found = vec![of];
    let mut next = 0;
    while let Some(above) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, parent)| **parent == above);
        let children: Vec<u32> = children.map(|(id, _)| *id).filter(|id| !found.contains(id)).collect();
        found.extend(children);
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};

    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_obstacle() {
        assert_eq!(parent("12 (a (b) c) S 7 12 12"), Some(7));
        assert_eq!(parent("nonsense"), None);
    }

    #[test]
    fn grandchildren_are_found_and_others_are_not() {
        let parents = BTreeMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 3)]);
        assert_eq!(descendants(2, &parents), [3, 4, 6]);
        assert!(descendants(4, &parents).is_empty());
    }

    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let script = "(sleep 30; echo late) & echo started; wait";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(shell.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        kill_tree(&mut shell).unwrap();
        // The end comes when the last one that could still say something is gone.
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}
