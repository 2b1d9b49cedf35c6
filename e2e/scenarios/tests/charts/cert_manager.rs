//! Certificates by cert-manager, which is not here: a real API server takes the objects that ask for them, by kinds with
//! cert-manager's spelling of what we say; and certificates that say exactly what the objects ask for, in the Secrets that
//! they name, are such that the programs of the rendered Pods talk with each other by them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use clap::{Args, Command};
use controller_kit::{Controller, KitFlags, Process, Running};
use e2e_harness::{ControlPlane, Helm, Tool, available_with, eventually};
use eviction_queue_api::{ConnectionFlags, QueueClient, v1};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::{Value, json};
use test_bench::{Authority, Bench, Of, Wanted};
use tonic::codegen::tokio_stream;
use tonic::{Code, Status};

use crate::objects::{arguments, objects, only};
use crate::renderer;
use crate::stand_ins::{NAMESPACE, assert_taken, offer, serve, stand_in};

const GROUP: &str = "cert-manager.io";
const BY_CERT_MANAGER: [&str; 4] = ["--namespace", NAMESPACE, "--set", "tls.source=certManager"];
const SOON: Duration = Duration::from_secs(60);

/// Of each kind what we say and what it demands, as cert-manager spells it; whatever else is said is unknown.
fn kinds() -> [CustomResourceDefinition; 2] {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let issuer = json!({"type": "object", "properties": {
        "selfSigned": {"type": "object", "properties": {"crlDistributionPoints": texts}},
        "ca": {"type": "object", "required": ["secretName"], "properties": {"secretName": text}},
    }});
    let usage = [
        "signing",
        "digital signature",
        "content commitment",
        "key encipherment",
        "key agreement",
        "data encipherment",
        "cert sign",
        "crl sign",
        "encipher only",
        "decipher only",
        "any",
        "server auth",
        "client auth",
        "code signing",
        "email protection",
        "s/mime",
        "ipsec end system",
        "ipsec tunnel",
        "ipsec user",
        "timestamping",
        "ocsp signing",
        "microsoft sgc",
        "netscape sgc",
    ];
    let certificate = json!({"type": "object", "required": ["issuerRef", "secretName"], "properties": {
        "commonName": text, "dnsNames": texts, "ipAddresses": texts, "secretName": text,
        "duration": text, "renewBefore": text, "isCA": {"type": "boolean"},
        "usages": {"type": "array", "items": {"type": "string", "enum": usage}},
        "privateKey": {"type": "object", "properties": {
            "algorithm": {"type": "string", "enum": ["RSA", "ECDSA", "Ed25519"]},
            "encoding": {"type": "string", "enum": ["PKCS1", "PKCS8"]},
            "rotationPolicy": {"type": "string", "enum": ["Never", "Always"]},
            "size": {"type": "integer"},
        }},
        "issuerRef": {"type": "object", "required": ["name"], "properties": {"name": text, "kind": text, "group": text}},
    }});
    [
        stand_in(GROUP, "Issuer", &issuer),
        stand_in(GROUP, "Certificate", &certificate),
    ]
}

/// What a chart asks of cert-manager.
fn asked(helm: &Helm, chart: &str, more: &[&str]) -> Vec<Value> {
    let rendered = objects(helm, chart, &[&BY_CERT_MANAGER[..], more].concat());
    let ours = rendered.into_iter().filter(|object| {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        version.starts_with(GROUP)
    });
    let ours: Vec<Value> = ours.collect();
    assert!(!ours.is_empty(), "{chart} asks for nothing");
    ours
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_takes_what_cert_manager_is_asked_for() {
    let Some(binaries) = available_with(Tool::Helm, "objects for cert-manager on a real API server") else {
        return;
    };
    let helm = Helm::new(&binaries, "/dev/null").unwrap();
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    serve(&client, kinds()).await;
    let own_issuer = "tls.certManager.issuerRef.name=ours,tls.certManager.issuerRef.kind=ClusterIssuer";
    let all = [
        asked(&helm, "eviction-queue", &[]),
        asked(&helm, "eviction-queue", &["--set", own_issuer]),
        asked(
            &helm,
            "webhook",
            &[
                "--set",
                "tls.extraAddresses={10.0.0.1},tls.extraNames={hooks.example.com}",
            ],
        ),
        asked(&helm, "webhook", &["--set", own_issuer]),
    ]
    .concat();
    assert_taken(&client, &all).await;

    // It would say so.
    let certificate = all.iter().find(|object| object["kind"] == "Certificate").unwrap();
    for (field, wrong, complaint) in [
        ("dnsName", json!("eviction-queue"), "unknown field \"spec.dnsName\""),
        ("usages", json!(["serverAuth"]), "Unsupported value: \"serverAuth\""),
        ("secretName", Value::Null, "spec.secretName"),
    ] {
        let mut other = certificate.clone();
        other["spec"][field] = wrong;
        let refused = offer(&client, &other).await.unwrap_err();
        assert!(refused.contains(complaint), "{refused}");
    }
}

/// Secrets by name, each with its files.
type Secrets = BTreeMap<String, BTreeMap<&'static str, String>>;

fn list(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// Who makes what is asked for.
struct CertManager {
    /// By the Secret that keeps them.
    authorities: BTreeMap<String, Authority>,
}

impl CertManager {
    /// With the authorities that are asked for.
    fn with_authorities(asked: &[Value]) -> Self {
        let authorities = certificates(asked).filter(|spec| spec["isCA"] == true).map(|spec| {
            let issuer = issuer(asked, spec);
            assert!(issuer["selfSigned"].is_object(), "{issuer:#}");
            let authority = Authority::new(spec["commonName"].as_str().unwrap());
            (spec["secretName"].as_str().unwrap().to_owned(), authority)
        });
        Self {
            authorities: authorities.collect(),
        }
    }

    /// Certificates that say exactly what is asked for.
    fn issue(&self, asked: &[Value]) -> Secrets {
        let mut secrets = Secrets::new();
        for spec in certificates(asked).filter(|spec| spec["isCA"] != true) {
            let authority = &self.authorities[issuer(asked, spec)["ca"]["secretName"].as_str().unwrap()];
            let usage = |usage: &String| match usage.as_str() {
                "server auth" => Of::Server,
                "client auth" => Of::Client,
                other => panic!("nobody here uses a certificate for {other}"),
            };
            let addresses = list(&spec["ipAddresses"]);
            let made = authority.issue_as(&Wanted {
                common_name: spec["commonName"].as_str().unwrap().to_owned(),
                dns_names: list(&spec["dnsNames"]),
                addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
                usages: list(&spec["usages"]).iter().map(usage).collect(),
            });
            let files = [
                ("ca.crt", authority.pem()),
                ("tls.crt", made.certificate),
                ("tls.key", made.key),
            ];
            let name = spec["secretName"].as_str().unwrap().to_owned();
            assert!(
                secrets.insert(name, files.into()).is_none(),
                "two in one Secret: {spec:#}"
            );
        }
        secrets
    }
}

/// The specs of the certificates.
fn certificates(asked: &[Value]) -> impl Iterator<Item = &Value> {
    let certificates = asked.iter().filter(|object| object["kind"] == "Certificate");
    certificates.map(|certificate| &certificate["spec"])
}

/// The spec of the issuer that this certificate names.
fn issuer<'a>(asked: &'a [Value], certificate: &Value) -> &'a Value {
    let by = &certificate["issuerRef"];
    let found = asked
        .iter()
        .find(|object| object["kind"] == by["kind"] && object["metadata"]["name"] == by["name"]);
    &found.unwrap_or_else(|| panic!("there is no {by}"))["spec"]
}

/// The arguments of the component's Pod that these flags know, with the files of the Secrets that it mounts in `folder`. That
/// it listens on every address of its Pod is not for a test.
fn flags<F: Args>(rendered: &[Value], secrets: &Secrets, folder: &Path) -> F {
    let pod = &only(rendered, "Deployment")["spec"]["template"]["spec"];
    let mut arguments = arguments(rendered);
    for mount in pod["containers"][0]["volumeMounts"].as_array().unwrap() {
        let volumes = pod["volumes"].as_array().unwrap();
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        let Some(secret) = volume["secret"]["secretName"].as_str() else {
            continue;
        };
        let files = secrets
            .get(secret)
            .unwrap_or_else(|| panic!("nobody makes Secret {secret}"));
        let path = folder.join(secret);
        std::fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            std::fs::write(path.join(name), text).unwrap();
        }
        let mounted = format!("={}/", mount["mountPath"].as_str().unwrap());
        for argument in &mut arguments {
            *argument = argument.replace(&mounted, &format!("={}/", path.display()));
        }
    }
    let command = F::augment_args(Command::new("flags").no_binary_name(true));
    let known: Vec<String> = command
        .get_arguments()
        .filter_map(|argument| Some(format!("--{}=", argument.get_long()?)))
        .collect();
    let given = arguments
        .iter()
        .filter(|argument| known.iter().any(|flag| argument.starts_with(flag)));
    let elsewhere = ["--queue-advertise-address=", "--rate-file="];
    let given = given.filter(|argument| !elsewhere.iter().any(|flag| argument.starts_with(flag)));
    let given = given.map(|argument| argument.replace("=0.0.0.0:9443", "=127.0.0.1:0"));
    F::from_arg_matches(&command.clone().get_matches_from(given)).unwrap()
}

async fn run(bench: &Bench, name: &'static str, controllers: Vec<Controller>) -> Running {
    Process::builder(name, bench.plane().client_named(name))
        .clock(bench.clock.clone())
        .identity(name)
        .flags(KitFlags::default())
        .controllers(controllers)
        .start()
        .await
        .unwrap()
}

async fn until_ready(process: &Running) {
    eventually("the process to be ready", SOON, async || {
        match process.readiness().missing() {
            missing if missing.is_empty() => Ok(()),
            missing => Err(missing.join("; ")),
        }
    })
    .await
    .unwrap();
}

/// Which calls this client is let in with: looking, publishing, evicting.
async fn let_in(client: &QueueClient) -> [Result<(), Status>; 3] {
    let unavailable = |error: eviction_queue_api::ClientError| Status::unavailable(error.to_string());
    let look = async {
        let mut service = client.inspection().await.map_err(unavailable)?;
        service.get_status(v1::GetStatusRequest {}).await.map(drop)
    };
    let publish = async {
        let mut service = client.queue().await.map_err(unavailable)?;
        service.publish(tokio_stream::empty()).await.map(drop)
    };
    let evict = async {
        let mut service = client.queue().await.map_err(unavailable)?;
        service.complete(v1::CompleteRequest::default()).await.map(drop)
    };
    // What the queue makes of an empty request is its own matter.
    [look.await, publish.await, evict.await].map(|answer| match answer {
        Err(status)
            if matches!(
                status.code(),
                Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition
            ) =>
        {
            Ok(())
        }
        other => other,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_and_its_clients_talk_by_the_certificates_that_are_asked_for() {
    let Some(helm) = renderer() else { return };
    let asked = asked(&helm, "eviction-queue", &[]);
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(&[]);
    let render = |chart: &str| objects(&helm, chart, &["--namespace", NAMESPACE]);
    let cert_manager = CertManager::with_authorities(&asked);
    let secrets = cert_manager.issue(&asked);
    let queue = flags::<eviction_queue::Flags>(
        &objects(&helm, "eviction-queue", &BY_CERT_MANAGER),
        &secrets,
        folder.path(),
    );
    let queue = run(&bench, "eviction-queue", eviction_queue::controllers(queue)).await;
    until_ready(&queue).await;
    let client = |chart: &str, secrets: &Secrets| {
        let own = flags::<ConnectionFlags>(&render(chart), secrets, folder.path());
        assert!(
            own.queue_ca_file.is_some() && own.queue_client_cert_file.is_some(),
            "{own:?}"
        );
        QueueClient::by_lease(bench.client(), NAMESPACE, chart).secured(own.security(&bench.clock))
    };
    let [look, publish, evict] = let_in(&client("taint-manager", &secrets)).await;
    for answer in [look, publish, evict] {
        answer.unwrap();
    }
    let [look, publish, evict] = let_in(&client("application-failover-controller", &secrets)).await;
    look.unwrap();
    publish.unwrap();
    assert_eq!(evict.unwrap_err().code(), Code::PermissionDenied, "it publishes only");

    // Who asked for something else would not be let in.
    let instead = |field: &str, value: Value| -> Secrets {
        let mut other = asked.clone();
        let specs = other.iter_mut().map(|object| &mut object["spec"]);
        for spec in specs.filter(|spec| spec["secretName"] == "taint-manager-queue-tls") {
            spec[field] = value.clone();
            spec["dnsNames"] = json!([]);
        }
        cert_manager.issue(&other)
    };
    for (field, value, wanted) in [
        ("usages", json!(["server auth"]), Code::Unavailable),
        ("commonName", json!("stranger"), Code::PermissionDenied),
    ] {
        let other = client("taint-manager", &instead(field, value));
        for answer in let_in(&other).await {
            let refused = answer.unwrap_err();
            assert_eq!(refused.code(), wanted, "{field}: {refused:?}");
        }
    }
    queue.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_calls_the_webhook_takes_the_certificate_that_is_asked_for() {
    let Some(helm) = renderer() else { return };
    let more = [
        "--set",
        "tls.extraNames={hooks.example.com},tls.extraAddresses={127.0.0.1}",
    ];
    let asked = asked(&helm, "webhook", &more);
    let secrets = CertManager::with_authorities(&asked).issue(&asked);
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(&[]);
    let rendered = objects(&helm, "webhook", &[&BY_CERT_MANAGER[..], &more].concat());
    let own = flags::<webhook::Flags>(&rendered, &secrets, folder.path());
    let bound = own.bound.clone();
    let webhook = run(&bench, "webhook", webhook::controllers(own)).await;
    let url = format!("https://{}", bound.address().await);

    // As an API server calls it: by the Service's name, which Kubernetes writes so, or by what a URL has.
    let ask = async |name: Option<&str>| -> Result<u16, kube::Error> {
        let mut config = Config::new(url.parse().unwrap());
        let authority = pem_bodies(&secrets["webhook-tls"]["ca.crt"]);
        config.root_cert = Some(authority);
        config.tls_server_name = name.map(str::to_owned);
        let client = Client::try_from(config)?;
        let request = http::Request::get("/").body(Body::empty()).unwrap();
        client.send(request).await.map(|response| response.status().as_u16())
    };
    for name in [Some("webhook.karmada-system.svc"), Some("hooks.example.com"), None] {
        ask(name).await.unwrap_or_else(|error| panic!("{name:?}: {error:?}"));
    }
    let refused = ask(Some("webhook.elsewhere.svc")).await.unwrap_err();
    assert!(format!("{refused:?}").contains("NotValidForName"), "{refused:?}");
    webhook.stop().await;
}

/// DER of the certificates in this text.
fn pem_bodies(text: &str) -> Vec<Vec<u8>> {
    let bodies = text.split("-----BEGIN CERTIFICATE-----").skip(1);
    let bodies = bodies.map(|rest| rest.split("-----END").next().unwrap().replace('\n', ""));
    bodies
        .map(|body| {
            serde_json::from_value::<k8s_openapi::ByteString>(json!(body))
                .unwrap()
                .0
        })
        .collect()
}
