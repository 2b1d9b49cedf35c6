//! Create, update, patch and delete: the road of an object from a request into the store.
//!
//! Guarantee: a write either stores exactly one new version (or removes the object) or changes nothing at all;
//! a write that would store what is there already stores nothing and answers with the version that is there.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::admission::{check_kind, match_namespace, normalize, refuse_unknown, validate};
use crate::patch::Patch;
use crate::registry::ResourceDef;
use crate::state::{Outcome, State, from_storage, to_storage};
use crate::status::{ApiError, FieldError};
use crate::store::{Key, Stored};
use crate::{crd, meta, strategy};

/// How a write is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOptions {
    pub now: jiff::Timestamp,
    pub dry_run: bool,
    pub unknown_fields: UnknownFields,
    pub half: Half,
}

/// What happens to fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Dropped,
    Refused,
}

/// Which half of the object a write owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Main,
    Status,
    /// `spec.finalizers` of a namespace.
    Finalizers,
}

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

    /// Replaces an object by a PUT body.
    pub(crate) fn update(
        &mut self,
        def: &Arc<ResourceDef>,
        namespace: Option<&str>,
        name: &str,
        object: Value,
        options: WriteOptions,
    ) -> Result<(Outcome, bool), ApiError> {
        let mut object = check_kind(def, object)?;
        let given_name = meta::name(&object).to_owned();
        if given_name.is_empty() {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        if given_name != name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({given_name}) does not match the name on the URL ({name})"
            )));
        }
        if def.namespaced {
            match_namespace(&mut object, namespace)?;
        }
        let Ok(current) = self.current(def, namespace, name) else {
            if strategy::creates_on_update(def) && options.half == Half::Main {
                return self.create(def, namespace, object, options).map(|made| (made, true));
            }
            return Err(ApiError::not_found(def, name));
        };
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != &*current.uid {
            return Err(ApiError::conflict(
                def,
                name,
                &format!(
                    "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                    def.storage.trim_start_matches('/'),
                    current.key.as_str(),
                    current.uid
                ),
            ));
        }
        match object["metadata"]["resourceVersion"]
            .as_str()
            .filter(|v| !v.is_empty() && *v != "0")
        {
            Some(version) if version.parse::<u64>().is_err() => return Err(ApiError::no_version(version)),
            Some(version) if version != current.rv.to_string() => return Err(ApiError::modified(def, name)),
            Some(_) => {}
            None if strategy::allows_unconditional_update(def) => {}
            None => {
                let missing =
                    FieldError::invalid("metadata.resourceVersion", 0.into(), "must be specified for an update");
                let mut error = ApiError::invalid(def, name, &[missing]);
                // This one refusal of the real server calls the resource a kind.
                error.message = format!(
                    "{} \"{name}\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
                    def.qualified()
                );
                if let Some(details) = &mut error.details {
                    details["kind"] = def.plural.clone().into();
                }
                return Err(error);
            }
        }
        self.replace(def, &current, object, options)
            .map(|outcome| (outcome, false))
    }

    /// Applies a patch to what is stored; an apply patch may create.
    pub(crate) fn patch(
        &mut self,
        def: &Arc<ResourceDef>,
        namespace: Option<&str>,
        name: &str,
        patch: &Patch,
        options: WriteOptions,
    ) -> Result<(Outcome, bool), ApiError> {
        if let Some(applied) = patch.as_new_object() {
            check_applied(applied, name)?;
        }
        let Ok(current) = self.current(def, namespace, name) else {
            return match patch.as_new_object() {
                Some(new) if options.half == Half::Main => {
                    let mut object = new.clone();
                    meta::metadata(&mut object).insert("name".into(), name.into());
                    self.create(def, namespace, object, options).map(|made| (made, true))
                }
                _ => Err(ApiError::not_found(def, name)),
            };
        };
        let before = from_storage(def, current.value());
        let mut object = patch.apply_to(&before, def)?;
        object = check_kind(def, object)?;
        let given_name = meta::name(&object);
        if !given_name.is_empty() && given_name != name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({given_name}) does not match the name on the URL ({name})"
            )));
        }
        if def.namespaced {
            match_namespace(&mut object, namespace)?;
        }
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if !version.is_empty() && version != current.rv.to_string() {
            return Err(ApiError::modified(def, name));
        }
        if let Err(error) = refuse_unknown(def, &object, options) {
            // Of a patch the real server refuses unknown fields as invalid, and shows the whole object.
            return Err(match error.message.split_once("strict decoding error: ") {
                Some((_, fields)) => {
                    let value = Value::from(object.to_string());
                    let wrong = FieldError::invalid("patch", value, format!("strict decoding error: {fields}"));
                    let mut error = ApiError::new(422, "Invalid", format!(" \"\" is invalid: patch: {}", wrong.body()));
                    error.details = Some(json!({"causes": [
                        {"reason": "FieldValueInvalid", "message": wrong.body(), "field": "patch"}
                    ]}));
                    error
                }
                None => error,
            });
        }
        let outcome = self.replace(def, &current, object, options)?;
        Ok((outcome, false))
    }

    /// The common end of update and patch: a whole new object in place of the current one.
    fn replace(
        &mut self,
        def: &Arc<ResourceDef>,
        current: &Arc<Stored>,
        object: Value,
        options: WriteOptions,
    ) -> Result<Outcome, ApiError> {
        let old = current.value();
        refuse_unknown(def, &object, options)?;
        let mut object = to_storage(def, object);
        strategy::keep_other_half(def, &mut object, &old, options.half == Half::Status);
        meta::metadata(&mut object).remove("managedFields");
        let mut errors = meta::validate_update(&mut object, &old);
        let generation = old["metadata"]["generation"].as_i64();
        match generation {
            Some(number) => object["metadata"]["generation"] = number.into(),
            None => {
                meta::metadata(&mut object).remove("generation");
            }
        }
        if errors.is_empty() {
            normalize(def, &mut object)?;
            if def.is("CustomResourceDefinition") {
                crd::apply_defaults(&mut object);
            }
        }
        if def.is("Namespace") && options.half != Half::Finalizers {
            object["spec"] = old["spec"].clone();
        }
        errors.extend(validate(def, &object, Some(&old)));
        let name = meta::name(&old).to_owned();
        if !errors.is_empty() {
            return Err(ApiError::invalid(def, &name, &errors));
        }
        if def.is("CustomResourceDefinition") && options.half == Half::Main {
            object["status"] = crd::established_status(&object, &meta::time_text(options.now));
        }
        if let Some(number) = generation
            && options.half == Half::Main
            && strategy::desired_state_changed(def, &object, &old)
        {
            object["metadata"]["generation"] = (number + 1).into();
        }
        object["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        let waits = meta::is_deleting(&object) && waits_for_something(&object);
        if meta::is_deleting(&object) && !waits && !options.dry_run {
            // As on the real server the last change is not stored: watchers see the object go as it was before.
            self.remove(def, &current.key.clone());
            return Ok(Outcome::Dry(object));
        }
        if options.dry_run {
            return Ok(Outcome::Dry(object));
        }
        Ok(Outcome::Stored(self.put_or_keep(def, current, object, &old)))
    }

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
            for (policy, finalizer) in [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")] {
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

    /// Stores a new version, with what follows from it for the server itself.
    pub(crate) fn put(&mut self, def: &Arc<ResourceDef>, object: Value) -> Arc<Stored> {
        if def.is("CustomResourceDefinition") && !meta::is_deleting(&object) {
            crd::register(&mut self.registry, &object);
        }
        let storage = def.storage.clone();
        self.store.put(&storage, object, &def.selectable)
    }

    fn put_or_keep(
        &mut self,
        def: &Arc<ResourceDef>,
        current: &Arc<Stored>,
        object: Value,
        old: &Value,
    ) -> Arc<Stored> {
        if &object == old {
            current.clone()
        } else {
            self.put(def, object)
        }
    }

    /// Takes an object out of the store.
    pub(crate) fn remove(&mut self, def: &Arc<ResourceDef>, key: &Key) -> Option<Arc<Stored>> {
        let storage = def.storage.clone();
        let gone = self.store.remove(&storage, key, &def.selectable)?;
        self.removed.push_back(gone.uid.clone());
        Some(gone)
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

/// What an apply patch must say and may not say.
fn check_applied(object: &Value, name: &str) -> Result<(), ApiError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    if text("kind").is_empty() {
        return Err(ApiError::bad_request(format!(
            "invalid object type: {}, Kind=",
            if text("apiVersion").contains('/') {
                text("apiVersion").to_owned()
            } else {
                format!("/{}", text("apiVersion"))
            }
        )));
    }
    let given = meta::name(object);
    if !given.is_empty() && given != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    if object["metadata"]["managedFields"]
        .as_array()
        .is_some_and(|fields| !fields.is_empty())
    {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

fn waits_for_something(object: &Value) -> bool {
    !meta::finalizers(object).is_empty()
        || (object["kind"] == "Namespace"
            && object["apiVersion"] == "v1"
            && object["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty()))
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
