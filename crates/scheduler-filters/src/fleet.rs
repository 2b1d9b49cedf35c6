//! The clusters that a decision looks at, in order of their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::Cluster;

/// All clusters of the fleet. Cheap to clone; always walked in order of names.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    by_name: BTreeMap<ClusterName, Arc<Cluster>>,
}

impl Fleet {
    /// The cluster of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Cluster> {
        self.by_name.get(name).map(AsRef::as_ref)
    }

    /// The same fleet with `cluster` in the place of the one of its name.
    #[must_use]
    pub fn with(mut self, cluster: Cluster) -> Self {
        self.by_name.insert(cluster.cluster_name(), Arc::new(cluster));
        self
    }

    /// Every cluster with its name, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&ClusterName, &Cluster)> {
        self.by_name.iter().map(|(name, cluster)| (name, cluster.as_ref()))
    }

    /// How many clusters there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The clusters for which `keep` says yes.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&ClusterName, &Cluster) -> bool) -> Self {
        Self {
            by_name: self
                .by_name
                .iter()
                .filter(|(name, cluster)| keep(name, cluster))
                .map(|(name, cluster)| (name.clone(), Arc::clone(cluster)))
                .collect(),
        }
    }
}

impl FromIterator<Arc<Cluster>> for Fleet {
    fn from_iter<I: IntoIterator<Item = Arc<Cluster>>>(clusters: I) -> Self {
        Self {
            by_name: clusters
                .into_iter()
                .map(|cluster| (cluster.cluster_name(), cluster))
                .collect(),
        }
    }
}

impl FromIterator<Cluster> for Fleet {
    fn from_iter<I: IntoIterator<Item = Cluster>>(clusters: I) -> Self {
        clusters.into_iter().map(Arc::new).collect()
    }
}
