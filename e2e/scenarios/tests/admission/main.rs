//! The admission webhook, called by a real API server over TLS, by the configuration and with the rights of the chart.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

#[path = "../../src/judged.rs"]
mod judged;
mod rolled;
mod swapped;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use controller_kit::{Clock, Ended, KitFlags, Process, Running};
use e2e_harness::{Binaries, ControlPlane, Identity, Tool, available_with, eventually};
use k8s_openapi::ByteString;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use test_bench::{Authority, Of};
use webhook::{Bound, Flags, controllers};

const WEBHOOK: Identity = Identity::Component("webhook");
const PAUSES: &str = "/apis/failover.karmada.io/v1alpha1/failoverpauses";
const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
const POLICIES: &str = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies";
const TAINT_POLICIES: &str = "/apis/policy.karmada.io/v1alpha1/clustertaintpolicies";
const BINDINGS: &str = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const PATIENCE: Duration = Duration::from_secs(60);

/// What an API server said.
#[derive(Debug)]
struct Said {
    status: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Said {
    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The codes of the warnings.
    fn codes(&self) -> Vec<&str> {
        let codes = self.warnings.iter().filter_map(|warning| warning.split(':').next());
        codes.collect()
    }
}

async fn send(client: &Client, method: &str, path: &str, kind: &str, body: &Value) -> Said {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(Body::from(body.to_string().into_bytes()))
        .unwrap();
    let response = client.send(request).await.unwrap();
    let warnings = response.headers().get_all("warning").iter().map(|warning| {
        // 299 - "the text"
        let text = warning
            .to_str()
            .unwrap()
            .splitn(3, ' ')
            .nth(2)
            .unwrap()
            .trim_matches('"');
        text.replace("\\\"", "\"")
    });
    let warnings = warnings.collect();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    Said {
        status,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
        warnings,
    }
}

async fn create(client: &Client, path: &str, object: &Value) -> Said {
    send(client, "POST", path, "application/json", object).await
}

async fn merge(client: &Client, path: &str, change: &Value) -> Said {
    send(client, "PATCH", path, "application/merge-patch+json", change).await
}

/// Tries without storing anything.
async fn try_out(client: &Client, path: &str, object: &Value) -> Said {
    create(client, &format!("{path}?dryRun=All"), object).await
}

fn pause(name: &str, spec: &Value) -> Value {
    let mut whole = json!({"scope": "All", "reason": "maintenance", "until": "2999-01-01T00:00:00Z"});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": name}, "spec": whole,
    })
}

fn cluster(name: &str, spec: &Value) -> Value {
    let mut whole = json!({"syncMode": "Pull"});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": whole})
}

fn binding(name: &str, stay: &str) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "default", "annotations": {"failover.karmada.io/stay": stay}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}},
    })
}

fn charts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts")
}

fn encoded(pem: &str) -> String {
    let text = serde_json::to_value(ByteString(pem.as_bytes().to_vec())).unwrap();
    text.as_str().unwrap().to_owned()
}

/// The configurations that the chart installs, for a webhook at this address whose authorities are these, PEM.
fn configurations(binaries: &Binaries, url: &str, authorities: &str, more: &[&str]) -> Vec<Value> {
    let home = tempfile::tempdir().unwrap();
    let mut helm = Command::new(binaries.path(Tool::Helm));
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        helm.env(variable, home.path());
    }
    helm.env("KUBECONFIG", "/dev/null")
        .args(["template", "control-plane"])
        .arg(charts().join("control-plane"))
        .args([
            "--namespace",
            "karmada-system",
            "--show-only",
            "templates/webhooks.yaml",
        ])
        .args(["--set", "webhook.enabled=true"])
        .args(["--set", &format!("webhook.url={url}")])
        .args(["--set", &format!("webhook.caBundle={}", encoded(authorities))]);
    for setting in more {
        helm.args(["--set", setting]);
    }
    let output = helm.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let objects: Vec<Value> = serde_saphyr::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap();
    objects.into_iter().filter(|object| !object.is_null()).collect()
}

fn path_of(configuration: &Value) -> &'static str {
    match configuration["kind"].as_str().unwrap() {
        "ValidatingWebhookConfiguration" => VALIDATING,
        "MutatingWebhookConfiguration" => MUTATING,
        other => panic!("{other}"),
    }
}

/// Our kinds, and the rights of the webhook.
async fn furnish(client: &Client) {
    let crds: Vec<_> = api_types::crds();
    for crd in &crds {
        Api::all(client.clone()).create(&Default::default(), crd).await.unwrap();
    }
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}});
    assert_eq!(create(client, "/api/v1/namespaces", &namespace).await.status, 201);
    let file = charts().join("control-plane/rbac/webhook.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    for object in objects {
        let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        let place = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("namespaces/{namespace}/{plural}"),
            None => plural,
        };
        let said = create(client, &format!("/apis/rbac.authorization.k8s.io/v1/{place}"), &object).await;
        assert_eq!(said.status, 201, "{said:?}");
    }
    for path in [PAUSES, CLUSTERS, POLICIES, TAINT_POLICIES, BINDINGS] {
        eventually("our kinds are served", PATIENCE, async || {
            let request = http::Request::get(path).body(Vec::new()).unwrap();
            client.request_text(request).await.map_err(|error| error.to_string())
        })
        .await
        .unwrap();
    }
}

struct Scene {
    control_plane: ControlPlane,
    client: Client,
    folder: tempfile::TempDir,
    authority: Authority,
    running: Running,
    url: String,
}

async fn scene() -> Scene {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    furnish(&client).await;
    let authority = Authority::new("webhook authority");
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = authority.issue("webhook", Of::Server).write(folder.path(), "webhook");
    let bound = Bound::default();
    let flags = Flags {
        webhook_bind_address: "127.0.0.1:0".parse().unwrap(),
        tls_cert_file: Some(certificate),
        tls_key_file: Some(key),
        tls_client_ca_file: None,
        bound: bound.clone(),
    };
    let running = Process::builder("webhook", control_plane.api().client(WEBHOOK).await.unwrap())
        .clock(Clock::system())
        .identity("webhook")
        .flags(KitFlags::default())
        .controllers(controllers(flags))
        .start()
        .await
        .unwrap();
    let url = format!("https://{}", bound.address().await);
    eventually(
        "it reads what the chart's role lets it",
        PATIENCE,
        async || match running.readiness().missing() {
            missing if missing.is_empty() => Ok(()),
            missing => Err(missing.join("; ")),
        },
    )
    .await
    .unwrap();
    Scene {
        control_plane,
        client,
        folder,
        authority,
        running,
        url,
    }
}

/// Whether the API server asks the webhook about a pause; else what it says.
async fn is_asked(client: &Client) -> Result<(), String> {
    let never = pause("never", &json!({"until": "2001-01-01T00:00:00Z"}));
    let said = try_out(client, PAUSES, &never).await;
    if said.status == 422 {
        Ok(())
    } else {
        Err(format!("{said:?}"))
    }
}

/// Waits until the API server asks the webhook.
async fn asked(client: &Client) {
    eventually("the API server asks the webhook", PATIENCE, async || {
        is_asked(client).await
    })
    .await
    .unwrap();
}

async fn install(client: &Client, configurations: &[Value]) {
    for configuration in configurations {
        let said = create(client, path_of(configuration), configuration).await;
        assert_eq!(said.status, 201, "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_asks_it() {
    let Some(binaries) = available_with(Tool::Helm, "admission on a real API server") else {
        return;
    };
    let scene = scene().await;
    let client = &scene.client;
    install(
        client,
        &configurations(&binaries, &scene.url, &scene.authority.pem(), &[]),
    )
    .await;
    asked(client).await;

    refusals_and_warnings(client).await;
    zones(client).await;
    only_what_is_judged_is_asked_about(client, &scene.running).await;
    swapped::a_certificate_is_swapped(&scene, &binaries).await;
    without_it_everything_goes_on(client, &scene.running).await;
    drop(scene.control_plane);
}

async fn refusals_and_warnings(client: &Client) {
    let said = create(client, POLICIES, &judged::selects_elsewhere("web")).await;
    assert_eq!(said.status, 422, "{said:?}");
    let denied = format!(
        "admission webhook \"propagationpolicies.policy.karmada.io\" denied the request: {}: \
         spec.resourceSelectors[0].namespace: the policy is of namespace default",
        judged::SELECTOR_ELSEWHERE
    );
    assert!(said.message().starts_with(&denied), "{}", said.message());
    let said = create(client, POLICIES, &judged::tolerates_everything("wide")).await;
    assert_eq!(
        (said.status, said.codes()),
        (201, vec![judged::TOLERATES_EVERYTHING]),
        "{said:?}"
    );

    let said = create(
        client,
        PAUSES,
        &pause("blank", &json!({"scope": "Clusters", "clusters": [" "]})),
    )
    .await;
    assert_eq!(said.status, 422, "{said:?}");
    let mut endless = pause("endless", &json!({}));
    endless["spec"].as_object_mut().unwrap().remove("until");
    let said = create(client, PAUSES, &endless).await;
    assert_eq!(
        (said.status, said.codes()),
        (201, vec!["pause-without-end"]),
        "{said:?}"
    );
    // It ends by its time: that is no refusal.
    let ended = json!({"spec": {"until": "2999-01-01T00:00:00Z"}});
    let said = merge(client, &format!("{PAUSES}/endless"), &ended).await;
    assert_eq!((said.status, said.codes()), (200, Vec::new()), "{said:?}");

    let said = create(client, BINDINGS, &binding("web-deployment", "m1")).await;
    assert_eq!(said.status, 422, "{said:?}");
    assert!(said.message().contains("unreadable-annotation"), "{}", said.message());
    let said = create(client, BINDINGS, &binding("web-deployment", r#"[{"cluster": "m1"}]"#)).await;
    assert_eq!((said.status, said.codes()), (201, Vec::new()), "{said:?}");

    let never = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "never"},
        "spec": {
            "matchConditions": [
                {"conditionType": "Ready", "operator": "In", "statusValues": ["False"]},
                {"conditionType": "Ready", "operator": "In", "statusValues": ["True"]},
            ],
            "taintsToAdd": [{"key": "k", "effect": "NoSchedule"}],
        },
    });
    let said = create(client, TAINT_POLICIES, &never).await;
    assert_eq!((said.status, said.codes()), (201, vec!["never-matches"]), "{said:?}");
}

async fn zones(client: &Client) {
    let said = create(client, CLUSTERS, &cluster("member1", &json!({"zone": "zone-a"}))).await;
    assert_eq!(said.status, 201, "{said:?}");
    let spec = &said.body["spec"];
    assert_eq!((&spec["zones"], spec.get("zone")), (&json!(["zone-a"]), None));
    // Whoever applies the old manifest once more changes nothing.
    let path = format!("{CLUSTERS}/member1");
    let said = merge(client, &path, &json!({"spec": {"zone": "zone-a"}})).await;
    assert_eq!(
        (&said.body["spec"]["zones"], said.body["spec"].get("zone")),
        (&json!(["zone-a"]), None)
    );
    let said = merge(client, &path, &json!({"spec": {"zone": "zone-b"}})).await;
    assert_eq!(said.status, 422, "{said:?}");
    assert!(
        said.message().contains("zone and zones exclude each other"),
        "{}",
        said.message()
    );
    // A name that is nearly that of a cluster; the webhook learns of it a moment later than we do.
    let some = pause("some", &json!({"scope": "Clusters", "clusters": ["membr1"]}));
    eventually("the webhook knows member1", PATIENCE, async || {
        let said = try_out(client, PAUSES, &some).await;
        if said
            .warnings
            .iter()
            .any(|warning| warning.ends_with("did you mean member1?"))
        {
            Ok(())
        } else {
            Err(format!("{said:?}"))
        }
    })
    .await
    .unwrap();
}

/// How often it was asked about a resource.
fn asked_about(running: &Running, resource: &str) -> f64 {
    let verdicts = ["Allowed", "Warned", "Changed", "Unreadable", "Refused", "Bad"];
    let counts = verdicts.map(|verdict| {
        let labels = [("resource", resource), ("verdict", verdict)];
        running.metrics().value("failover_admission_reviews_total", &labels)
    });
    counts.into_iter().flatten().sum()
}

/// What controllers write all the time costs no call.
async fn only_what_is_judged_is_asked_about(client: &Client, running: &Running) {
    let policies = "propagationpolicies.policy.karmada.io";
    let (bindings, clusters) = ("resourcebindings.work.karmada.io", "clusters.cluster.karmada.io");
    let counts = || [policies, bindings, clusters].map(|resource| asked_about(running, resource));
    let before = counts();
    let label = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["karmada.io/propagation-policy-controller"]}});
    assert_eq!(merge(client, &format!("{POLICIES}/wide"), &label).await.status, 200);
    let placed = json!({"spec": {"clusters": [{"name": "member1"}]}});
    assert_eq!(
        merge(client, &format!("{BINDINGS}/web-deployment"), &placed)
            .await
            .status,
        200
    );
    let tainted = json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}});
    assert_eq!(
        merge(client, &format!("{CLUSTERS}/member1"), &tainted).await.status,
        200
    );
    assert_eq!(counts(), before);
    let annotated = json!({"metadata": {"annotations": {"failover.karmada.io/failover": "{"}}});
    let said = merge(client, &format!("{POLICIES}/wide"), &annotated).await;
    assert_eq!(said.status, 422, "a field's second home is judged, too: {said:?}");
    assert!(counts()[0] > before[0]);
}

/// Nothing depends on it: an outage is no time to be kept from pausing.
async fn without_it_everything_goes_on(client: &Client, running: &Running) {
    assert_eq!(running.stop().await, Ended::Stopped);
    let said = create(client, PAUSES, &pause("now", &json!({}))).await;
    assert_eq!(said.status, 201, "{said:?}");
    let said = create(client, POLICIES, &judged::selects_elsewhere("unasked")).await;
    assert_eq!(
        said.status, 201,
        "the detector says of it what the webhook would have: {said:?}"
    );
    let said = create(client, CLUSTERS, &cluster("member2", &json!({"zone": "zone-a"}))).await;
    assert_eq!(
        (said.status, &said.body["spec"]["zone"]),
        (201, &json!("zone-a")),
        "{said:?}"
    );
}

/// Beside stock its own webhook looks at its kinds, and ours at ours; whoever wants more says so.
#[test]
fn which_kinds_are_asked_about() {
    let Some(binaries) = available_with(Tool::Helm, "rendering the webhooks") else {
        return;
    };
    let authority = Authority::new("a").pem();
    let named = |more: &[&str]| -> Vec<String> {
        let objects = configurations(&binaries, "https://10.0.0.1:9443", &authority, more);
        let webhooks = objects.iter().flat_map(|object| object["webhooks"].as_array().unwrap());
        let policy = |webhook: &Value| {
            let name = webhook["name"].as_str().unwrap().split('.').next().unwrap();
            format!("{name} {}", webhook["failurePolicy"].as_str().unwrap())
        };
        let mut named: Vec<String> = webhooks.map(policy).collect();
        named.sort();
        named
    };
    let all = [
        "clusterpropagationpolicies Ignore",
        "clusterresourcebindings Ignore",
        "clusters Ignore",
        "clustertaintpolicies Ignore",
        "failoverpauses Ignore",
        "propagationpolicies Ignore",
        "resourcebindings Ignore",
    ];
    assert_eq!(named(&[]), all);
    assert_eq!(named(&["mode=beside"]), ["failoverpauses Ignore"]);
    assert_eq!(named(&["mode=beside", "webhook.karmadaKinds=always"]), all);
    assert_eq!(named(&["webhook.karmadaKinds=never"]), ["failoverpauses Ignore"]);
    let failing = named(&["webhook.failurePolicy=Fail"]);
    let fail: Vec<&String> = failing.iter().filter(|webhook| webhook.ends_with(" Fail")).collect();
    assert_eq!(
        fail,
        [
            "clusterpropagationpolicies Fail",
            "clustertaintpolicies Fail",
            "propagationpolicies Fail"
        ],
        "a pause always goes through"
    );
}
