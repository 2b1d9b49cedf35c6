//! Bodies in Kubernetes' protobuf form, which `kubectl create namespace` and its likes send without asking.
//!
//! Guarantee: an object is either read completely or refused; a field that this table does not know is never dropped.

use serde_json::{Map, Value, json};

use crate::status::ApiError;

/// How the value of a field is read.
#[derive(Clone, Copy)]
enum Form {
    /// A string; the empty one is what "not set" looks like.
    Text,
    Texts,
    Bytes,
    /// An integer that is only there when it was set.
    Int,
    /// An integer of which zero is what "not set" looks like.
    Count,
    Bool,
    Message(&'static str),
    Messages(&'static str),
    TextMap,
    BytesMap,
    Time,
    IntOrString,
    /// Set by the server, whatever the client says.
    Ignored,
}

use Form::{Bool, Bytes, BytesMap, Count, Ignored, Int, IntOrString, Message, Messages, Text, TextMap, Texts, Time};

type Fields = &'static [(u64, &'static str, Form)];

/// The messages, by the numbers in the `generated.proto` files of Kubernetes.
const MESSAGES: &[(&str, Fields)] = &[
    (
        "Unknown",
        &[
            (1, "typeMeta", Message("TypeMeta")),
            (2, "raw", Bytes),
            (3, "contentEncoding", Text),
            (4, "contentType", Text),
        ],
    ),
    ("TypeMeta", &[(1, "apiVersion", Text), (2, "kind", Text)]),
    (
        "ObjectMeta",
        &[
            (1, "name", Text),
            (2, "generateName", Text),
            (3, "namespace", Text),
            (4, "selfLink", Ignored),
            (5, "uid", Text),
            (6, "resourceVersion", Text),
            (7, "generation", Ignored),
            (8, "creationTimestamp", Time),
            (9, "deletionTimestamp", Time),
            (10, "deletionGracePeriodSeconds", Int),
            (11, "labels", TextMap),
            (12, "annotations", TextMap),
            (13, "ownerReferences", Messages("OwnerReference")),
            (14, "finalizers", Texts),
            (17, "managedFields", Ignored),
        ],
    ),
    (
        "OwnerReference",
        &[
            (1, "kind", Text),
            (3, "name", Text),
            (4, "uid", Text),
            (5, "apiVersion", Text),
            (6, "controller", Bool),
            (7, "blockOwnerDeletion", Bool),
        ],
    ),
    (
        "Namespace",
        &[
            (1, "metadata", Message("ObjectMeta")),
            (2, "spec", Message("NamespaceSpec")),
            (3, "status", Ignored),
        ],
    ),
    ("NamespaceSpec", &[(1, "finalizers", Texts)]),
    (
        "ConfigMap",
        &[
            (1, "metadata", Message("ObjectMeta")),
            (2, "data", TextMap),
            (3, "binaryData", BytesMap),
            (4, "immutable", Bool),
        ],
    ),
    (
        "Secret",
        &[
            (1, "metadata", Message("ObjectMeta")),
            (2, "data", BytesMap),
            (3, "type", Text),
            (4, "stringData", TextMap),
            (5, "immutable", Bool),
        ],
    ),
    (
        "ServiceAccount",
        &[
            (1, "metadata", Message("ObjectMeta")),
            (3, "imagePullSecrets", Messages("LocalObjectReference")),
            (4, "automountServiceAccountToken", Bool),
        ],
    ),
    ("LocalObjectReference", &[(1, "name", Text)]),
    (
        "Deployment",
        &[
            (1, "metadata", Message("ObjectMeta")),
            (2, "spec", Message("DeploymentSpec")),
            (3, "status", Ignored),
        ],
    ),
    (
        "DeploymentSpec",
        &[
            (1, "replicas", Int),
            (2, "selector", Message("LabelSelector")),
            (3, "template", Message("PodTemplateSpec")),
            (4, "strategy", Message("DeploymentStrategy")),
            (5, "minReadySeconds", Count),
            (6, "revisionHistoryLimit", Int),
            (7, "paused", Bool),
            (9, "progressDeadlineSeconds", Int),
        ],
    ),
    ("DeploymentStrategy", &[(1, "type", Text)]),
    ("LabelSelector", &[(1, "matchLabels", TextMap)]),
    (
        "PodTemplateSpec",
        &[(1, "metadata", Message("ObjectMeta")), (2, "spec", Message("PodSpec"))],
    ),
    (
        "PodSpec",
        &[
            (2, "containers", Messages("Container")),
            (3, "restartPolicy", Text),
            (4, "terminationGracePeriodSeconds", Int),
            (5, "activeDeadlineSeconds", Int),
            (6, "dnsPolicy", Text),
            (7, "nodeSelector", TextMap),
            (8, "serviceAccountName", Text),
            (9, "serviceAccount", Text),
            (10, "nodeName", Text),
            (11, "hostNetwork", Bool),
            (12, "hostPID", Bool),
            (13, "hostIPC", Bool),
            (15, "imagePullSecrets", Messages("LocalObjectReference")),
            (16, "hostname", Text),
            (17, "subdomain", Text),
            (19, "schedulerName", Text),
            (24, "priorityClassName", Text),
        ],
    ),
    (
        "Container",
        &[
            (1, "name", Text),
            (2, "image", Text),
            (3, "command", Texts),
            (4, "args", Texts),
            (5, "workingDir", Text),
            (6, "ports", Messages("ContainerPort")),
            (7, "env", Messages("EnvVar")),
            (8, "resources", Message("ResourceRequirements")),
            (13, "terminationMessagePath", Text),
            (14, "imagePullPolicy", Text),
            (16, "stdin", Bool),
            (17, "stdinOnce", Bool),
            (18, "tty", Bool),
            (20, "terminationMessagePolicy", Text),
        ],
    ),
    (
        "ContainerPort",
        &[
            (1, "name", Text),
            (2, "hostPort", Count),
            (3, "containerPort", Int),
            (4, "protocol", Text),
            (5, "hostIP", Text),
        ],
    ),
    ("EnvVar", &[(1, "name", Text), (2, "value", Text)]),
    ("ResourceRequirements", &[]),
    (
        "Job",
        &[
            (1, "metadata", Message("ObjectMeta")),
            (2, "spec", Message("JobSpec")),
            (3, "status", Ignored),
        ],
    ),
    (
        "JobSpec",
        &[
            (1, "parallelism", Int),
            (2, "completions", Int),
            (3, "activeDeadlineSeconds", Int),
            (4, "selector", Message("LabelSelector")),
            (5, "manualSelector", Bool),
            (6, "template", Message("PodTemplateSpec")),
            (7, "backoffLimit", Int),
            (8, "ttlSecondsAfterFinished", Int),
            (9, "completionMode", Text),
            (10, "suspend", Bool),
        ],
    ),
    (
        "Service",
        &[
            (1, "metadata", Message("ObjectMeta")),
            (2, "spec", Message("ServiceSpec")),
            (3, "status", Ignored),
        ],
    ),
    (
        "ServiceSpec",
        &[
            (1, "ports", Messages("ServicePort")),
            (2, "selector", TextMap),
            (3, "clusterIP", Text),
            (4, "type", Text),
            (5, "externalIPs", Texts),
            (7, "sessionAffinity", Text),
            (8, "loadBalancerIP", Text),
            (10, "externalName", Text),
            (11, "externalTrafficPolicy", Text),
            (12, "healthCheckNodePort", Count),
            (13, "publishNotReadyAddresses", Bool),
            (17, "ipFamilyPolicy", Text),
            (18, "clusterIPs", Texts),
            (19, "ipFamilies", Texts),
        ],
    ),
    (
        "ServicePort",
        &[
            (1, "name", Text),
            (2, "protocol", Text),
            (3, "port", Int),
            (4, "targetPort", IntOrString),
            (5, "nodePort", Count),
            (6, "appProtocol", Text),
        ],
    ),
    (
        "DeleteOptions",
        &[
            (1, "gracePeriodSeconds", Int),
            (2, "preconditions", Message("Preconditions")),
            (3, "orphanDependents", Bool),
            (4, "propagationPolicy", Text),
            (5, "dryRun", Texts),
        ],
    ),
    ("Preconditions", &[(1, "uid", Text), (2, "resourceVersion", Text)]),
    ("Time", &[(1, "seconds", Int), (2, "nanos", Count)]),
    (
        "IntOrString",
        &[(1, "type", Count), (2, "intVal", Int), (3, "strVal", Text)],
    ),
    ("TextEntry", &[(1, "key", Text), (2, "value", Text)]),
    ("BytesEntry", &[(1, "key", Text), (2, "value", Bytes)]),
];

/// What every protobuf body begins with.
pub(crate) const MAGIC: &[u8] = b"k8s\0";

/// The object in a body that begins with [`MAGIC`].
pub(crate) fn decode(body: &[u8]) -> Result<Value, ApiError> {
    let refuse = |why: String| {
        ApiError::new(
            415,
            "UnsupportedMediaType",
            format!("this server can't read this protobuf body, send JSON: {why}"),
        )
    };
    let envelope = message("Unknown", body.get(MAGIC.len()..).unwrap_or_default()).map_err(refuse)?;
    let type_meta = &envelope["typeMeta"];
    let kind = type_meta["kind"].as_str().unwrap_or_default();
    let Some((name, _)) = MESSAGES.iter().find(|(name, _)| *name == kind) else {
        return Err(refuse(format!("unknown kind {kind:?}")));
    };
    let raw: k8s_openapi::ByteString =
        serde_json::from_value(envelope["raw"].clone()).map_err(|why| refuse(why.to_string()))?;
    let mut object = message(name, &raw.0).map_err(refuse)?;
    object["apiVersion"] = type_meta["apiVersion"].clone();
    object["kind"] = kind.into();
    Ok(object)
}

/// One field as it is on the wire.
enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

fn message(name: &'static str, bytes: &[u8]) -> Result<Value, String> {
    let fields = MESSAGES.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, f)| f);
    let mut object = Map::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (number, wire) = next_field(&mut rest).ok_or_else(|| format!("{name} is broken"))?;
        let (_, field, form) = fields
            .iter()
            .find(|(n, _, _)| *n == number)
            .ok_or_else(|| format!("field {number} of {name}"))?;
        put(&mut object, field, *form, &wire).map_err(|why| format!("{name}.{field}: {why}"))?;
    }
    Ok(Value::Object(object))
}

fn put(object: &mut Map<String, Value>, field: &str, form: Form, wire: &Wire<'_>) -> Result<(), String> {
    let (key, entry) = (field.to_owned(), |object: &mut Map<String, Value>, empty: Value| {
        object.entry(field.to_owned()).or_insert(empty);
    });
    match (form, wire) {
        (Ignored, _) => {}
        (Text, Wire::Bytes(b)) => {
            let text = text(b)?;
            if !text.is_empty() {
                object.insert(key, text.into());
            }
        }
        (Texts, Wire::Bytes(b)) => {
            entry(object, json!([]));
            push(object, field, text(b)?.into());
        }
        (Bytes, Wire::Bytes(b)) => {
            object.insert(key, base64(b));
        }
        (Int, Wire::Varint(n)) => {
            object.insert(key, n.cast_signed().into());
        }
        (Count, Wire::Varint(n)) => {
            if *n != 0 {
                object.insert(key, n.cast_signed().into());
            }
        }
        (Bool, Wire::Varint(n)) => {
            if *n != 0 {
                object.insert(key, true.into());
            }
        }
        (Message(name), Wire::Bytes(b)) => {
            object.insert(key, message(name, b)?);
        }
        (Messages(name), Wire::Bytes(b)) => {
            entry(object, json!([]));
            push(object, field, message(name, b)?);
        }
        (TextMap | BytesMap, Wire::Bytes(b)) => {
            entry(object, json!({}));
            let (name, empty) = if matches!(form, TextMap) {
                ("TextEntry", Value::from(""))
            } else {
                ("BytesEntry", base64(&[]))
            };
            let pair = message(name, b)?;
            let value = pair.get("value").cloned().unwrap_or(empty);
            if let Some(map) = object.get_mut(field).and_then(Value::as_object_mut) {
                map.insert(pair["key"].as_str().unwrap_or_default().to_owned(), value);
            }
        }
        (Time, Wire::Bytes(b)) => {
            if let Some(seconds) = message("Time", b)?["seconds"].as_i64()
                && let Ok(time) = jiff::Timestamp::from_second(seconds)
            {
                object.insert(key, time.to_string().into());
            }
        }
        (IntOrString, Wire::Bytes(b)) => {
            let parts = message("IntOrString", b)?;
            let value = if parts["type"] == 1 {
                parts["strVal"].clone()
            } else {
                parts["intVal"].clone()
            };
            if !value.is_null() && value != 0 {
                object.insert(key, value);
            }
        }
        _ => return Err("unexpected wire type".into()),
    }
    Ok(())
}

fn push(object: &mut Map<String, Value>, field: &str, value: Value) {
    if let Some(list) = object.get_mut(field).and_then(Value::as_array_mut) {
        list.push(value);
    }
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "not UTF-8".into())
}

fn base64(bytes: &[u8]) -> Value {
    serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec())).unwrap_or_default()
}

fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let tag = varint(rest)?;
    let wire = match tag & 7 {
        0 => Wire::Varint(varint(rest)?),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let (bytes, tail) = rest.split_at_checked(length)?;
            *rest = tail;
            Wire::Bytes(bytes)
        }
        _ => return None,
    };
    Some((tag >> 3, wire))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    /// Length-delimited field.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend_from_slice(bytes);
        out
    }

    fn body(kind: &str, object: &[u8]) -> Vec<u8> {
        let meta = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [b"k8s\0".to_vec(), field(1, &meta), field(2, object)].concat()
    }

    #[test]
    fn reads_a_config_map() {
        let meta = [field(1, b"c"), field(2, b""), field(8, b"")].concat();
        let entry = [field(1, b"k"), field(2, b"v")].concat();
        let object = super::decode(&body("ConfigMap", &[field(1, &meta), field(2, &entry)].concat())).unwrap();
        assert_eq!(
            object,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}})
        );
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert_eq!(super::decode(&body("Pod", b"")).unwrap_err().code, 415);
        let error = super::decode(&body("ConfigMap", &field(9, b"x"))).unwrap_err();
        assert!(error.message.contains("field 9 of ConfigMap"), "{error}");
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = super::decode(&[b"k8s\0".to_vec(), bytes.clone()].concat());
            let _ = super::decode(&body("Deployment", &bytes[..bytes.len().min(100)]));
        }
    }
}
