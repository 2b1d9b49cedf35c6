//! The built-in kinds that the project uses: defaults, first status, checks.

use e2e_conformance::{Operation, Scenario, delete, get, merge, post, put, strategic};
use serde_json::{Value, json};

fn at(prefix: &str, plural: &str) -> String {
    format!("{prefix}/namespaces/%{{ns}}/{plural}")
}

fn template() -> Value {
    json!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "volumes": [{"name": "v", "configMap": {"name": "c"}}, {"name": "e", "emptyDir": {}}],
        "containers": [{
            "name": "c", "image": "nginx:1", "ports": [{"containerPort": 80}], "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
            "readinessProbe": {"httpGet": {"port": 80}}, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}})
}

fn workloads() -> Vec<Operation> {
    let deployments = at("/apis/apps/v1", "deployments");
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template()});
    let with = |changes: Value| {
        let mut object = json!({"metadata": {"name": "x"}, "spec": spec});
        for (pointer, value) in changes.as_object().unwrap() {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = object.pointer_mut(parent).unwrap();
            if value.is_null() {
                parent.as_object_mut().unwrap().remove(key);
            } else {
                parent[key] = value.clone();
            }
        }
        object
    };
    let mut sets = spec.clone();
    sets["serviceName"] = "x".into();
    let job = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}});
    let jobs = at("/apis/batch/v1", "jobs");
    vec![
        post(
            "deployment",
            &deployments,
            &json!({"metadata": {"name": "d"}, "spec": spec}),
        ),
        post(
            "deployment, recreated",
            &deployments,
            &with(json!({"/spec/strategy": {"type": "Recreate"}, "/metadata/name": "recreated"})),
        ),
        post(
            "deployment without spec",
            &deployments,
            &json!({"metadata": {"name": "x"}, "spec": {}}),
        ),
        post(
            "deployment with another selector",
            &deployments,
            &with(json!({"/spec/selector/matchLabels": {"a": "c"}})),
        ),
        post(
            "deployment with a negative number",
            &deployments,
            &with(json!({"/spec/replicas": -1})),
        ),
        post(
            "deployment without containers",
            &deployments,
            &with(json!({"/spec/template/spec/containers": []})),
        ),
        post(
            "deployment without an image",
            &deployments,
            &with(json!({"/spec/template/spec/containers": [{"name": "c"}]})),
        ),
        post(
            "deployment with a bad policy",
            &deployments,
            &with(json!({"/spec/template/spec/restartPolicy": "Never"})),
        ),
        post(
            "deployment with a wrong type",
            &deployments,
            &with(json!({"/spec/replicas": "three"})),
        ),
        merge(
            "another selector",
            format!("{deployments}/d"),
            &json!({"spec": {"selector": {"matchLabels": {"a": "z"}}}}),
        ),
        delete("delete the deployment", format!("{deployments}/d")),
        post(
            "replica set",
            at("/apis/apps/v1", "replicasets"),
            &json!({"metadata": {"name": "r"}, "spec": spec}),
        ),
        post(
            "stateful set",
            at("/apis/apps/v1", "statefulsets"),
            &json!({"metadata": {"name": "s"}, "spec": sets}),
        ),
        post(
            "daemon set",
            at("/apis/apps/v1", "daemonsets"),
            &json!({"metadata": {"name": "d"}, "spec": spec}),
        ),
        post("job", &jobs, &json!({"metadata": {"name": "j"}, "spec": job})),
        post(
            "job without a policy",
            &jobs,
            &json!({"metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}}),
        ),
        merge(
            "another template",
            format!("{jobs}/j"),
            &json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "y"}]}}}}),
        ),
        merge(
            "suspend the job",
            format!("{jobs}/j"),
            &json!({"spec": {"suspend": true}}),
        ),
        delete("delete the job", format!("{jobs}/j?propagationPolicy=Background")),
        post(
            "cron job",
            at("/apis/batch/v1", "cronjobs"),
            &json!({"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}}}),
        ),
        post(
            "pod",
            at("/api/v1", "pods"),
            &json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}),
        ),
        merge(
            "status of a pod",
            at("/api/v1", "pods/p/status"),
            &json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        ),
        merge(
            "another image",
            at("/api/v1", "pods/p"),
            &json!({"spec": {"containers": [{"name": "c", "image": "y"}]}}),
        ),
        merge(
            "another name of a container",
            at("/api/v1", "pods/p?dryRun=All"),
            &json!({"spec": {"containers": [{"name": "d", "image": "y"}]}}),
        ),
        get(
            "pods by phase",
            at("/api/v1", "pods?fieldSelector=status.phase%3DRunning"),
        ),
        delete("delete a pod", at("/api/v1", "pods/p?gracePeriodSeconds=0")),
    ]
}

fn rest() -> Vec<Operation> {
    let leases = at("/apis/coordination.k8s.io/v1", "leases");
    let events = at("/api/v1", "events");
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "built-in-kinds", "name": "p"}, "reason": "R", "message": "m",
        "type": "Normal", "source": {"component": "c"}, "count": 1, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"});
    let mut wrong_event = event.clone();
    wrong_event["involvedObject"]["namespace"] = "other".into();
    wrong_event["metadata"]["name"] = "wrong".into();
    vec![
        post("service", at("/api/v1", "services"), &json!({"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}})),
        post("headless service", at("/api/v1", "services"), &json!({"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}})),
        post("service without ports", at("/api/v1", "services"), &json!({"metadata": {"name": "x"}, "spec": {}})),
        merge("another address", at("/api/v1", "services/s"), &json!({"spec": {"clusterIP": "10.96.9.9"}})),
        delete("delete a service", at("/api/v1", "services/s")),
        post("secret", at("/api/v1", "secrets"), &json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}})),
        post("secret that is no base64", at("/api/v1", "secrets"), &json!({"metadata": {"name": "x"}, "data": {"c": "?"}})),
        merge("another type of secret", at("/api/v1", "secrets/s"), &json!({"type": "other"})),
        post("service account", at("/api/v1", "serviceaccounts"), &json!({"metadata": {"name": "a"}})),
        post("token of a service account", at("/api/v1", "serviceaccounts/a/token"), &json!({"spec": {"expirationSeconds": 600}})),
        put("lease by update", format!("{leases}/l"), &json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}})).save("lease", "/metadata/resourceVersion"),
        put("lease without a version", format!("{leases}/l"), &json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "you"}})),
        put("lease", format!("{leases}/l"), &json!({"metadata": {"name": "l", "resourceVersion": "%{lease}"}, "spec": {"holderIdentity": "you", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.500000Z", "leaseTransitions": 1}})),
        put("lease of an old version", format!("{leases}/l"), &json!({"metadata": {"name": "l", "resourceVersion": "%{lease}"}, "spec": {"holderIdentity": "they"}})),
        post("lease of no length", &leases, &json!({"metadata": {"name": "x"}, "spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}})),
        post("lease with a short time", format!("{leases}?dryRun=All"), &json!({"metadata": {"name": "x"}, "spec": {"renewTime": "2026-01-01T00:00:00Z"}})),
        post("lease with a bad time", &leases, &json!({"metadata": {"name": "x"}, "spec": {"renewTime": "now"}})),
        get("namespace", "/api/v1/namespaces/%{ns}"),
        merge("label a namespace", "/api/v1/namespaces/%{ns}", &json!({"metadata": {"labels": {"a": "b", "kubernetes.io/metadata.name": "x"}}})),
        merge("finalizers of a namespace", "/api/v1/namespaces/%{ns}", &json!({"spec": {"finalizers": []}})),
        merge("status of a namespace", "/api/v1/namespaces/%{ns}/status", &json!({"status": {"phase": "Active", "conditions": [{"type": "X", "status": "True"}]}})),
        post("node", "/api/v1/nodes", &json!({"metadata": {"name": "conformance"}, "spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}})),
        strategic("status of a node", "/api/v1/nodes/conformance/status", &json!({"status": {"capacity": {"cpu": "2000m", "memory": "1Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}})),
        merge("taints of a node", "/api/v1/nodes/conformance", &json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}]}})),
        merge("unschedulable", "/api/v1/nodes/conformance", &json!({"spec": {"unschedulable": true}})),
        get("nodes by field", "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue"),
        delete("delete a node", "/api/v1/nodes/conformance"),
        post("event", &events, &event),
        post("event of another namespace", &events, &wrong_event),
        get("event, the new form", at("/apis/events.k8s.io/v1", "events/e")),
        get("events of an object", format!("{events}?fieldSelector=involvedObject.name%3Dp,type%3DNormal")),
        get("events, the new form", at("/apis/events.k8s.io/v1", "events")),
        merge("count an event", format!("{events}/e"), &json!({"count": 2, "lastTimestamp": "2026-01-01T00:01:00Z"})),
        post("new event", at("/apis/events.k8s.io/v1", "events"), &json!({"metadata": {"name": "n"}, "eventTime": "2026-01-01T00:00:00.000001Z", "reason": "R", "note": "n", "type": "Warning", "action": "A",
            "reportingController": "c", "reportingInstance": "i", "regarding": {"kind": "Pod", "namespace": "built-in-kinds", "name": "p"}})),
        post("new event without a time", at("/apis/events.k8s.io/v1", "events?dryRun=All"), &json!({"metadata": {"name": "x"}, "reason": "R", "regarding": {"namespace": "built-in-kinds"}})),
        get("new event, the old form", format!("{events}/n")),
        post("budget", at("/apis/policy/v1", "poddisruptionbudgets"), &json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}})),
        post("role", at("/apis/rbac.authorization.k8s.io/v1", "roles"), &json!({"metadata": {"name": "r:x"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})),
        post("role binding", at("/apis/rbac.authorization.k8s.io/v1", "rolebindings"), &json!({"metadata": {"name": "r"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r:x"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]})),
        post("webhook", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All", &json!({"metadata": {"name": "w"}})),
    ]
}

pub fn scenario() -> Scenario {
    let mut operations = workloads();
    operations.extend(rest());
    Scenario::new("built-in-kinds", operations)
}
