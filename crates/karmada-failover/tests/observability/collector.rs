//! One move over real processes, with a queue on a socket, and a test collector that they tell their spans to over OTLP. In
//! real time, at the demo's fast pace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use controller_kit::Clock;
use karmada_failover::story::example::{self, MemberEntry, Pace};
use karmada_failover::story::expect::{BINDING, placement};
use kube::Api;
use kube_sandbox::{Fleet, Now};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use parking_lot::Mutex;
use tonic::{Request, Response, Status};

use crate::scene::PROCESSES;

/// A span as it came, and the process that told it.
#[derive(Clone, Debug)]
struct Told {
    process: String,
    name: String,
    trace: Vec<u8>,
    span: Vec<u8>,
    parent: Vec<u8>,
}

/// The collector.
#[derive(Clone, Default)]
struct Collector {
    told: Arc<Mutex<Vec<Told>>>,
}

fn text(attributes: &[KeyValue], name: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == name);
    match found.and_then(|attribute| attribute.value.clone()?.value) {
        Some(any_value::Value::StringValue(text)) => text,
        _ => String::new(),
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for of_process in request.into_inner().resource_spans {
            let resource = of_process.resource.unwrap_or_default();
            assert_eq!(text(&resource.attributes, "service.name"), "karmada-failover");
            let process = text(&resource.attributes, "service.instance.id");
            for span in of_process.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                assert_eq!(text(&span.attributes, "binding"), BINDING);
                self.told.lock().push(Told {
                    process: process.clone(),
                    name: span.name,
                    trace: span.trace_id,
                    span: span.span_id,
                    parent: span.parent_span_id,
                });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A process of ours; killed when it goes.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Started {
    fn program(folder: &Path, name: &str, arguments: &[String]) -> Self {
        let log = std::fs::File::create(folder.join(format!("{name}.log"))).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_karmada-failover"))
            .arg("run")
            .args(arguments)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Asks it to end; what it still has to tell it tells now.
    async fn end(mut self) {
        let told = Command::new("kill").arg(self.0.id().to_string()).status().unwrap();
        assert!(told.success());
        for _ in 0..600 {
            if let Some(status) = self.0.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it did not end");
    }
}

async fn until<F: Future<Output = bool>>(what: &str, folder: &Path, mut holds: impl FnMut() -> F) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let logs = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for log in logs.filter(|path| path.extension().is_some_and(|extension| extension == "log")) {
        let text = std::fs::read_to_string(&log).unwrap();
        let tail: Vec<&str> = text.lines().rev().take(15).collect();
        eprintln!("{}:\n{}", log.display(), tail.join("\n"));
    }
    panic!("{what}");
}

async fn scene() {
    let clock = Clock::system();
    let now: Now = Arc::new(move || clock.now());
    let fleet = Fleet::start(&now, &["member1", "member2", "member3"]);
    let (control_plane, members) = fleet.serve_http().await.unwrap();
    let plane = fleet.control_plane();
    for crd in api_types::crds() {
        plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
    }
    let member = |(name, served): (&String, &kube_sandbox::Served)| {
        example::member(&MemberEntry {
            name: name.clone(),
            endpoint: served.url(),
            token: "token".to_owned(),
            ca_bundle: None,
        })
    };
    let given = example::namespaces().into_iter().chain(members.iter().flat_map(member));
    for object in given.chain(example::taint_policies(&Pace::FAST)) {
        plane.put(object).unwrap();
    }

    let collector = Collector::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = tonic::transport::Server::builder().add_service(TraceServiceServer::new(collector.clone()));
    let tasks = controller_kit::Tasks::new();
    tasks.spawn("collector", async move {
        let calls = tokio_stream::wrappers::TcpListenerStream::new(listener);
        server.serve_with_incoming(calls).await.unwrap();
    });

    let folder = tempfile::tempdir().unwrap();
    let kubeconfig: PathBuf = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, control_plane.kubeconfig()).unwrap();
    let common = [
        format!("--kubeconfig={}", kubeconfig.display()),
        "--feature-gates=Failover=true".to_owned(),
        "--admin-bind-address=0".to_owned(),
        format!("--otlp-endpoint={endpoint}"),
    ];
    let processes: Vec<Started> = PROCESSES
        .iter()
        .map(|(name, controllers)| {
            let own = [
                format!("--controllers={controllers}"),
                "--queue-bind-address=127.0.0.1:0".to_owned(),
            ];
            let pace = [Pace::FAST.health_flags(), Pace::FAST.queue_flags()].concat();
            Started::program(folder.path(), name, &[&own, pace.as_slice(), &common].concat())
        })
        .collect();

    until("three clusters that are Ready", folder.path(), || async {
        let clusters = plane.list("cluster.karmada.io/v1alpha1", "Cluster").into_iter();
        let conditions =
            clusters.flat_map(|cluster| cluster["status"]["conditions"].as_array().cloned().unwrap_or_default());
        let ready = conditions.filter(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        ready.count() == 3
    })
    .await;
    plane.create(example::deployment()).unwrap();
    plane.create(example::propagation_policy()).unwrap();
    let (namespace, name) = BINDING.split_once('/').unwrap();
    let kind = api_types::work::BindingKind::Namespaced;
    let bindings: Api<api_types::work::Binding> = Api::namespaced_with(plane.observer(), namespace, &kind);
    let placed = async |wanted: &[(&str, i32)]| {
        let Some(binding) = bindings.get_opt(name).await.unwrap() else {
            return false;
        };
        let wanted = wanted
            .iter()
            .map(|(name, replicas)| ((*name).to_owned(), *replicas))
            .collect();
        placement(&binding) == wanted && binding.spec.graceful_eviction_tasks.is_empty()
    };
    until("nginx on member1 and member2", folder.path(), || {
        placed(&[("member1", 1), ("member2", 2)])
    })
    .await;
    fleet.member("member1").unwrap().stop();
    until("nginx on member2 alone", folder.path(), || placed(&[("member2", 3)])).await;
    // The record is closed a moment after the task went.
    until("a closed record", folder.path(), || async {
        let records = plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        records.iter().any(|record| record["status"]["outcome"].is_string())
    })
    .await;
    for process in processes {
        process.end().await;
    }

    let told = collector.told.lock().clone();
    let mut by_process = BTreeMap::<&str, BTreeSet<&str>>::new();
    for span in &told {
        by_process.entry(&span.process).or_default().insert(&span.name);
    }
    let spans: BTreeSet<BTreeSet<&str>> = by_process.into_values().collect();
    let expected = [
        ["move", "until due", "evict"].as_slice(),
        &["in the queue", "lease"],
        &["place anew", "until healthy", "clean up"],
    ];
    let expected = expected.map(|names| names.iter().copied().collect());
    assert_eq!(spans, expected.into_iter().collect(), "{told:#?}");
    let first = told.iter().find(|span| span.name == "move").unwrap();
    assert!(first.parent.is_empty(), "{first:?}");
    for span in &told {
        assert_eq!(span.trace, first.trace, "{span:?}");
        assert!(span.name == "move" || span.parent == first.span, "{span:?}");
    }
}

#[test]
fn processes_tell_a_collector_one_trace() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(scene());
}
