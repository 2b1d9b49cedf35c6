//! What a chart renders, as objects.

use e2e_harness::Helm;
use serde_json::Value;

use crate::{chart, least};

/// The objects that this chart makes with these flags.
pub fn objects(helm: &Helm, name: &str, flags: &[&str]) -> Vec<Value> {
    let text = helm.template(&chart(name), &[least(name), flags].concat()).unwrap();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    objects.into_iter().filter(|object| !object.is_null()).collect()
}

/// The only one of this kind.
pub fn only<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<&Value> = objects.iter().filter(|object| object["kind"] == kind).collect();
    let [one] = found.as_slice() else {
        panic!("{} objects of kind {kind}", found.len())
    };
    one
}

/// The arguments of the only container of the only Deployment.
pub fn arguments(objects: &[Value]) -> Vec<String> {
    let container = &only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    serde_json::from_value(container["args"].clone()).unwrap()
}
