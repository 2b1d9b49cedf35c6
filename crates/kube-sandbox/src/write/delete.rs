//! Delete: an object goes, or is marked and waits for its finalizers.

use std::sync::Arc;

use serde_json::json;

use super::{WriteOptions, waits_for_something};
use crate::registry::ResourceDef;
use crate::state::{Outcome, State};
use crate::status::ApiError;
use crate::store::Stored;
use crate::{crd, meta};

/// What a client demands of the object that it deletes.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub propagation: Option<String>,
}

/// What a delete did.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// Gone; the last state.
    Gone(Arc<Stored>),
    /// Waits for its finalizers.
    Marked(Outcome),
}

impl State {
    /// Deletes one object, or marks it.
    pub(crate) fn delete(
        &mut self,
        def: &Arc<ResourceDef>,
        namespace: Option<&str>,
        name: &str,
        delete: &DeleteOptions,
        options: WriteOptions,
    ) -> Result<Deleted, ApiError> {
        let current = self.current(def, namespace, name)?;
        preconditions(def, &current, delete)?;
        if def.is("Namespace") && matches!(name, "default" | "kube-system" | "kube-public" | "kube-node-lease") {
            return Err(ApiError::forbidden(def, name, "this namespace may not be deleted"));
        }
        let mut object = current.value();
        let mut finalizers: Vec<String> = meta::finalizers(&object).into_iter().map(str::to_owned).collect();
        if self.housekeeping == crate::state::Housekeeping::AtOnce {
            for (policy, finalizer) in [("Foreground", meta::FOREGROUND), ("Orphan", meta::ORPHAN)] {
                let wanted = delete.propagation.as_deref() == Some(policy);
                if wanted && !finalizers.iter().any(|f| f == finalizer) && !meta::is_deleting(&object) {
                    finalizers.push(finalizer.to_owned());
                }
            }
        }
        if def.is("CustomResourceDefinition") && !finalizers.iter().any(|f| f == crate::lifecycle::CRD_FINALIZER) {
            finalizers.push(crate::lifecycle::CRD_FINALIZER.to_owned());
        }
        let holds = !finalizers.is_empty() || waits_for_something(&object);
        if !holds {
            if options.dry_run {
                return Ok(Deleted::Gone(current));
            }
            let key = current.key.clone();
            return self
                .remove(def, &key)
                .map(Deleted::Gone)
                .ok_or_else(|| ApiError::not_found(def, name));
        }
        if meta::is_deleting(&object) {
            return Ok(Deleted::Marked(Outcome::Stored(current)));
        }
        object["metadata"]["deletionTimestamp"] = meta::time_text(options.now).into();
        if def.is("CustomResourceDefinition") {
            crd::mark_terminating(&mut object, &meta::time_text(options.now));
        } else {
            if !def.is("Namespace") {
                object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            }
            if let Some(generation) = object["metadata"]["generation"].as_i64() {
                object["metadata"]["generation"] = (generation + 1).into();
            }
        }
        if !finalizers.is_empty() {
            object["metadata"]["finalizers"] = json!(finalizers);
        }
        if def.is("Namespace") {
            object["status"]["phase"] = "Terminating".into();
            if !options.dry_run {
                self.terminating_namespaces.insert(name.to_owned());
            }
        }
        if options.dry_run {
            return Ok(Deleted::Marked(Outcome::Dry(object)));
        }
        if def.is("CustomResourceDefinition") {
            self.terminating_crds.insert(name.to_owned());
        }
        Ok(Deleted::Marked(Outcome::Stored(self.put(def, object))))
    }
}

fn preconditions(def: &ResourceDef, current: &Stored, delete: &DeleteOptions) -> Result<(), ApiError> {
    let refuse = |what: &str, wanted: &str, actual: &str, maybe: &str| {
        let group = if def.group.is_empty() {
            String::new()
        } else {
            format!(".{}", def.group)
        };
        let mut error = ApiError::conflict(def, current.key.name(), "");
        error.message = format!(
            "Operation cannot be fulfilled on {}{group} \"{}\": the {what} in the precondition ({wanted}) does not match the {what} in record ({actual}). The object might have been {maybe}",
            def.kind,
            current.key.name()
        );
        error.details = Some(def.details(current.key.name(), &def.kind));
        error
    };
    if let Some(uid) = &delete.uid
        && **uid != *current.uid
    {
        return Err(refuse("UID", uid, &current.uid, "deleted and then recreated"));
    }
    if let Some(version) = &delete.resource_version
        && *version != current.rv.to_string()
    {
        return Err(refuse("ResourceVersion", version, &current.rv.to_string(), "modified"));
    }
    Ok(())
}
