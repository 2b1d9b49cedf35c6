//! What of a binding's template could not be interpreted, as far as this process knows.
//!
//! Guarantee: what was said before stays until the template was looked at here: by `detector` and `dependencies` of this process, or,
//! where they have no word of it (a start, another replica that leads them), by the same questions asked here.

use api_types::conditions;
use api_types::work::Binding;
use serde_json::Value;

use crate::interpreted::{AGGREGATE_STATUS, GET_DEPENDENCIES, GET_REPLICAS, Trouble, condition};
use crate::interpreter::{InterpretError, Interpreter};
use crate::troubles::About;

const QUESTIONS: [(About, &str); 2] = [(About::Dependencies, GET_DEPENDENCIES), (About::Replicas, GET_REPLICAS)];

/// Whether the binding says that its template could not be interpreted, alone or with the status of its copies.
#[must_use]
pub fn is_said(binding: &Binding) -> bool {
    said(binding).is_some()
}

fn said(binding: &Binding) -> Option<&str> {
    let conditions = &binding.status.as_ref()?.conditions;
    let said = conditions::get(conditions, condition::INTERPRETED).filter(|said| said.status == "False")?;
    let about_it = [GET_DEPENDENCIES, GET_REPLICAS, AGGREGATE_STATUS];
    about_it.contains(&said.reason.as_str()).then_some(&*said.reason)
}

/// What is wrong; `None` where that is not known, so that what was said has to stay. `known` has what the others found.
#[must_use]
pub fn troubles(
    binding: &Binding,
    template: Option<&Value>,
    known: impl Fn(About) -> Option<String>,
    interpreter: &dyn Interpreter,
) -> Option<Vec<Trouble>> {
    let said = said(binding);
    if said == Some(AGGREGATE_STATUS) && template.is_none() {
        return None;
    }
    let mut all = Vec::new();
    for (about, reason) in QUESTIONS {
        let words = match known(about) {
            Some(words) => Some(words),
            None if said.is_some() => ask(about, binding, template?, interpreter)
                .err()
                .map(|error| error.to_string()),
            None => None,
        };
        all.extend(words.map(|words| Trouble {
            reason: reason.to_owned(),
            words,
        }));
    }
    Some(all)
}

/// What the controller that finds it out asks.
fn ask(about: About, binding: &Binding, template: &Value, interpreter: &dyn Interpreter) -> Result<(), InterpretError> {
    match about {
        About::Dependencies if binding.spec.propagate_deps == Some(true) => {
            interpreter.dependencies(template).map(drop)
        }
        About::Replicas => interpreter.replicas(template).map(drop),
        About::Dependencies | About::Works => Ok(()),
    }
}
