//! Which bindings are attached to one that leaves, as they are stored now.
//!
//! Which they are is known from the informers that the taint manager follows, too, which keep of each binding only what
//! verdicts and this need; the bindings themselves, few as they are, are read live. The rule that asks for their mirror
//! tasks is `failover_core::graceful::mirrors`.

use std::sync::Arc;

use api_types::BindingKey;
use api_types::names::depended_by_label;
use api_types::work::Binding;
use binding_writer::binding_key;
use controller_kit::informer::Stopped;
use controller_kit::{Context, Store, api_errors};
use failover_core::graceful::mirrors::owner_labels;
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::Client;

use super::reads::SharedReads;
use crate::manager::judged_part::{self, JudgedPart};

/// Index of attached bindings by the labels of those that need their object.
const BY_OWNER: &str = "evictor/owners";

/// Attached bindings of one owner that are read at the same time.
const READS_AT_ONCE: usize = 8;

/// The attached bindings of the fleet.
pub(crate) struct Attached {
    client: Client,
    known: [Store<JudgedPart>; 2],
    /// Workloads that leave at the same time may need the same object.
    reads: SharedReads<Option<Arc<Binding>>>,
}

impl Attached {
    pub async fn synced(ctx: &Context) -> Result<Self, Stopped> {
        let informers = judged_part::informers(ctx);
        for informer in &informers {
            informer.index(BY_OWNER, |binding| binding.owners().map(str::to_owned).collect());
        }
        let [namespaced, cluster_wide] = &informers;
        Ok(Self {
            client: ctx.client.clone(),
            known: [namespaced.synced().await?, cluster_wide.synced().await?],
            reads: SharedReads::default(),
        })
    }

    /// What is attached to `owner`, read after this was asked; without those that are gone or attached no more.
    ///
    /// # Errors
    /// Which of them could not be read, and why.
    pub async fn read(&self, owner: &BindingKey) -> Result<Vec<Arc<Binding>>, String> {
        let label = depended_by_label(owner);
        let known = self.known_by(&label).into_iter();
        let reads: Vec<_> = known.map(|key| self.read_one(key)).collect();
        let read: Vec<Option<Arc<Binding>>> = stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await?;
        let attached = read.into_iter().flatten();
        Ok(attached
            .filter(|attached| owner_labels(attached).contains(&label))
            .collect())
    }

    fn known_by(&self, label: &str) -> Vec<BindingKey> {
        let stores = self.known.iter();
        let found = stores.flat_map(|store| store.entries_by_index(BY_OWNER, label));
        found.map(|(key, _)| binding_key(&key)).collect()
    }

    async fn read_one(&self, key: BindingKey) -> Result<Option<Arc<Binding>>, String> {
        let api = binding_writer::api(&self.client, &key);
        let read = || async { api.get_opt(&key.name).await.map(|binding| binding.map(Arc::new)) };
        let read = self.reads.get(&key.to_string(), read).await;
        read.map_err(|error| format!("cannot read {key}, which it needs: {}", api_errors::one_line(&error)))
    }
}
