//! Update and patch: a whole new object in place of the current one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Half, WriteOptions, waits_for_something};
use crate::admission::{check_kind, match_namespace, normalize, refuse_unknown, validate};
use crate::patch::Patch;
use crate::registry::ResourceDef;
use crate::state::{Outcome, State, from_storage, to_storage};
use crate::status::{ApiError, FieldError};
use crate::store::Stored;
use crate::{crd, meta, strategy};

impl State {
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
