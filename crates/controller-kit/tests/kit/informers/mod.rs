//! Informers miss nothing and never show what they do not know.

mod deep;
mod healing;
mod sharing;

use std::collections::BTreeMap;
use std::sync::Arc;

use controller_kit::Changes;
use controller_kit::informer::InformerOptions;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_sandbox::{Match, Verb};

use crate::world::value_of;

fn watches() -> Match {
    Match::any().resource("configmaps").verb(Verb::Watch)
}

fn lists() -> Match {
    Match::any().resource("configmaps").verb(Verb::List)
}

fn options() -> InformerOptions {
    InformerOptions::default()
}

/// So many seconds after a list the next one has been made: its interval, and a quarter at most.
fn until_the_next_list() -> u64 {
    options().relist_every.as_secs() * 5 / 4 + 30
}

/// What a subscriber believes after all that waits for it, checking that each change continues the one before.
fn follow(changes: &mut Changes<ConfigMap>, picture: &mut BTreeMap<String, Arc<ConfigMap>>) {
    while let Some(change) = changes.try_recv() {
        let known = picture
            .get(&change.key.name)
            .map(|object| object.metadata.resource_version.clone());
        assert_eq!(
            known,
            change
                .before
                .as_ref()
                .map(|object| object.metadata.resource_version.clone())
        );
        match change.after {
            Some(after) => picture.insert(change.key.name, after),
            None => picture.remove(&change.key.name),
        };
    }
}

fn values(picture: &BTreeMap<String, Arc<ConfigMap>>) -> BTreeMap<String, String> {
    picture
        .iter()
        .map(|(name, object)| (name.clone(), value_of(object)))
        .collect()
}
