//! Create.

use std::sync::Arc;

use serde_json::{Value, json};

use super::WriteOptions;
use crate::admission::{check_kind, match_namespace, normalize, refuse_unknown, validate};
use crate::registry::ResourceDef;
use crate::state::{Outcome, State, to_storage};
use crate::status::ApiError;
use crate::store::Key;
use crate::{crd, meta, strategy};

impl State {
    pub(crate) fn create(
        &mut self,
        def: &Arc<ResourceDef>,
        namespace: Option<&str>,
        object: Value,
        options: WriteOptions,
    ) -> Result<Outcome, ApiError> {
        let mut object = check_kind(def, object)?;
        self.place(def, namespace, &mut object)?;
        let given = object.clone();
        let meta = meta::metadata(&mut object);
        let version_given = meta
            .get("resourceVersion")
            .and_then(Value::as_str)
            .is_some_and(|v| !v.is_empty());
        for field in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            meta.remove(field);
        }
        meta.insert("uid".into(), self.store.next_uid().into());
        meta.insert("creationTimestamp".into(), meta::time_text(options.now).into());
        if strategy::has_generation(def) {
            meta.insert("generation".into(), 1.into());
        }
        let generated = self.generate_name(def, &mut object);
        let mut object = to_storage(def, object);
        refuse_unknown(def, &given, options)?;
        normalize(def, &mut object)?;
        strategy::first_status(def, &mut object);
        if def.is("CustomResourceDefinition") {
            crd::apply_defaults(&mut object);
        }
        let name = meta::name(&object).to_owned();
        let errors = validate(def, &object, None);
        if !errors.is_empty() {
            return Err(ApiError::invalid(def, &name, &errors));
        }
        if version_given {
            return Err(ApiError::new(
                500,
                "",
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let key = Key::new(if def.namespaced { namespace } else { None }, &name);
        if self.store.get(&def.storage, &key).is_some() {
            let mut error = ApiError::already_exists(def, &name);
            if generated {
                error
                    .message
                    .push_str(", the server was not able to generate a unique name for the object");
            }
            if self
                .store
                .get(&def.storage, &key)
                .is_some_and(|present| present.deleting)
            {
                error.message.insert_str(0, "object is being deleted: ");
            }
            return Err(error);
        }
        if def.is("CustomResourceDefinition") {
            object["status"] = crd::established_status(&object, &meta::time_text(options.now));
        }
        if options.dry_run {
            return Ok(Outcome::Dry(object));
        }
        Ok(Outcome::Stored(self.put(def, object)))
    }

    /// Checks that the namespace exists and takes new objects, and writes it into the object.
    fn place(&self, def: &ResourceDef, namespace: Option<&str>, object: &mut Value) -> Result<(), ApiError> {
        if !def.namespaced {
            meta::metadata(object).remove("namespace");
            return Ok(());
        }
        match_namespace(object, namespace)?;
        let name = namespace.unwrap_or_default();
        let Some(namespaces) = self.registry.get("", "v1", "namespaces") else {
            return Ok(());
        };
        let Some(stored) = self.store.get(&namespaces.storage, &Key::new(None, name)) else {
            return Err(ApiError::not_found(&namespaces, name));
        };
        if stored.deleting {
            let mut error = ApiError::forbidden(
                def,
                meta::name(object),
                &format!("unable to create new content in namespace {name} because it is being terminated"),
            );
            if let Some(details) = &mut error.details {
                details["causes"] = json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {name} is being terminated"),
                    "field": "metadata.namespace",
                }]);
            }
            return Err(error);
        }
        Ok(())
    }

    fn generate_name(&mut self, def: &ResourceDef, object: &mut Value) -> bool {
        let prefix = object["metadata"]["generateName"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !meta::name(object).is_empty() || prefix.is_empty() {
            return false;
        }
        // As the real server: the prefix is cut so that the name stays within 63 characters.
        let prefix: String = prefix.chars().take(58).collect();
        let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
        for _ in 0..8 {
            let name = format!("{prefix}{}", self.store.next_suffix());
            let taken = self
                .store
                .get(&def.storage, &Key::new(namespace.as_deref(), &name))
                .is_some();
            object["metadata"]["name"] = name.into();
            if !taken {
                break;
            }
        }
        true
    }
}
