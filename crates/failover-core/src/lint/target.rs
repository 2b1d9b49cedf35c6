//! Whether an affinity selects anything: the same for targets of taint policies and for placements.

use api_types::cluster::Cluster;
use api_types::placement::ClusterAffinity;

use super::code::Code;
use super::finding::Finding;
use super::known::Known;
use super::similar::nearest;
use crate::affinity;

/// How many names a sentence holds.
const NAMES: usize = 5;

/// What is wrong with the affinity at `field`; `subject` is what does not happen if it selects nothing.
pub(super) fn findings(affinity: &ClusterAffinity, field: &str, subject: &str, known: &Known<'_>) -> Vec<Finding> {
    let Some(clusters) = known.clusters else {
        return excludes_itself(affinity, field, subject).into_iter().collect();
    };
    let mut found = names_without_cluster(affinity, field, clusters);
    if !clusters.iter().any(|cluster| affinity::matches(affinity, cluster)) {
        found.push(Finding::new(
            Code::TargetMatchesNothing,
            field,
            format!("none of the {} clusters is selected", clusters.len()),
            format!("{subject} as long as that is so"),
            format!(
                "correct the names, labels or fields; there are {}",
                some(&names(clusters))
            ),
        ));
    }
    found
}

/// How many clusters may be meant at most, as far as that can be told: of all that there are, or of those named.
pub(super) fn at_most(affinities: &[&ClusterAffinity], known: &Known<'_>) -> Option<Vec<String>> {
    if let Some(clusters) = known.clusters {
        let selected = clusters
            .iter()
            .filter(|cluster| affinities.is_empty() || affinities.iter().any(|a| affinity::matches(a, cluster)));
        return Some(selected.map(|cluster| cluster.cluster_name().to_string()).collect());
    }
    if affinities.is_empty() || affinities.iter().any(|affinity| affinity.cluster_names.is_empty()) {
        return None;
    }
    let mut named: Vec<String> = affinities.iter().flat_map(|affinity| left(affinity)).collect();
    named.sort();
    named.dedup();
    Some(named)
}

/// Names that are not excluded again.
fn left(affinity: &ClusterAffinity) -> Vec<String> {
    let stays = |name: &&String| !affinity.exclude_clusters.contains(*name);
    affinity.cluster_names.iter().filter(stays).cloned().collect()
}

fn excludes_itself(affinity: &ClusterAffinity, field: &str, subject: &str) -> Option<Finding> {
    (!affinity.cluster_names.is_empty() && left(affinity).is_empty()).then(|| {
        Finding::new(
            Code::TargetMatchesNothing,
            field,
            "every cluster in clusterNames is excluded again",
            format!("exclude wins over clusterNames: {subject}"),
            "take the names out of exclude",
        )
    })
}

fn names_without_cluster(affinity: &ClusterAffinity, field: &str, clusters: &[Cluster]) -> Vec<Finding> {
    let known = names(clusters);
    let lists = [
        ("clusterNames", &affinity.cluster_names),
        ("exclude", &affinity.exclude_clusters),
    ];
    lists
        .into_iter()
        .flat_map(|(list, written)| written.iter().enumerate().map(move |(index, name)| (list, index, name)))
        .filter(|(_, _, name)| !known.contains(name))
        .map(|(list, index, name)| {
            let meant = nearest(name, known.iter().map(String::as_str));
            Finding::new(
                Code::NoSuchCluster,
                format!("{field}.{list}[{index}]"),
                format!("there is no cluster {name}"),
                "a name selects a cluster only once one of that name has joined",
                match meant {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("correct the name; there are {}", some(&known)),
                },
            )
        })
        .collect()
}

pub(super) fn names(clusters: &[Cluster]) -> Vec<String> {
    let mut names: Vec<String> = clusters
        .iter()
        .map(|cluster| cluster.cluster_name().to_string())
        .collect();
    names.sort();
    names
}

/// The first names, and how many more.
pub(super) fn some(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
