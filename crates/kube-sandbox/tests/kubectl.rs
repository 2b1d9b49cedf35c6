//! A stock kubectl against the sandbox, the way people will use it. Skipped with one line where there is no kubectl.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)] // Helpers of tests count as tests.

mod common;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use common::{deployment, simulated_now, widget, widget_crd};
use kube_sandbox::{Sandbox, SandboxOptions, Served};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

struct Bench {
    sandbox: Sandbox,
    _served: Served,
    home: TempDir,
}

impl Bench {
    /// `None`, after saying so, where kubectl is missing.
    async fn new() -> Option<Self> {
        if Command::new("kubectl")
            .arg("version")
            .arg("--client")
            .stdout(Stdio::null())
            .status()
            .await
            .is_err()
        {
            println!("skipped: no kubectl on the PATH");
            return None;
        }
        let sandbox = Sandbox::new(SandboxOptions::new(simulated_now()));
        sandbox.apply_crd(widget_crd()).unwrap();
        let served = sandbox
            .serve_http(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config"), served.kubeconfig()).unwrap();
        Some(Self {
            sandbox,
            _served: served,
            home,
        })
    }

    async fn run(&self, line: &str, input: &str) -> (bool, String) {
        let mut child = Command::new("kubectl")
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("config"))
            .env("EDITOR", "sed -i s/red/blue/")
            .args(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output())
            .await
            .expect("kubectl hangs")
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text)
    }

    async fn ok(&self, line: &str, input: &str) -> String {
        let (success, text) = self.run(line, input).await;
        assert!(success, "kubectl {line}: {text}");
        text
    }

    async fn fails(&self, line: &str, input: &str) -> String {
        let (success, text) = self.run(line, input).await;
        assert!(!success, "kubectl {line}: {text}");
        text
    }
}

fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|l| l.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn get_describe_explain() {
    let Some(bench) = Bench::new().await else { return };
    bench.sandbox.create(widget("w")).unwrap();
    bench.sandbox.create(deployment("web", 2, "nginx:1")).unwrap();
    let lines = bench.ok("get wd", "").await;
    assert_eq!(words(&lines)[0], ["NAME", "COLOR", "REPLICAS", "READY", "AGE"]);
    assert!(words(&lines)[1].starts_with(&["w", "red", "1"]), "{lines}");
    let lines = bench.ok("get toys,deploy,ns -A", "").await;
    assert!(
        lines.contains("widget.example.com/w") && lines.contains("deployment.apps/web"),
        "{lines}"
    );
    assert!(lines.contains("namespace/kube-system"), "{lines}");
    assert!(bench.ok("get deploy web -o wide", "").await.contains("nginx:1"));
    assert!(bench.ok("get widget w -o yaml", "").await.contains("color: red"));
    assert!(
        bench
            .ok("get wd -l nothing=here", "")
            .await
            .contains("No resources found")
    );
    assert!(
        bench
            .fails("get wd none", "")
            .await
            .contains("Error from server (NotFound): widgets.example.com \"none\" not found")
    );
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Widget", "name": "w", "namespace": "default", "apiVersion": "example.com/v1",
            "uid": bench.sandbox.get("example.com/v1", "Widget", Some("default"), "w").unwrap()["metadata"]["uid"]},
        "reason": "Painted", "message": "now red", "type": "Normal", "source": {"component": "painter"},
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1,
    });
    bench.sandbox.create(event).unwrap();
    let described = bench.ok("describe widget w", "").await;
    assert!(
        described.contains("Color:") && described.contains("Painted"),
        "{described}"
    );
    let described = bench.ok("describe deployment web", "").await;
    assert!(described.contains("nginx:1"), "{described}");
    assert!(bench.ok("get events", "").await.contains("widget/w"));
    let explained = bench.ok("explain widget.spec.color", "").await;
    assert!(
        explained.contains("Its color.") && explained.contains("<string>"),
        "{explained}"
    );
    let explained = bench.ok("explain deployment.spec.replicas", "").await;
    assert!(explained.contains("<integer>"), "{explained}");
    assert!(bench.ok("api-resources", "").await.contains("widgets"));
    assert!(bench.ok("version", "").await.contains("v1.36.3-sandbox"));
    assert!(bench.ok("get --raw /readyz", "").await.contains("ok"));
}

#[tokio::test]
async fn apply_edit_label_scale_delete() {
    let Some(bench) = Bench::new().await else { return };
    let manifest = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {color: red}\n";
    assert!(bench.ok("apply -f -", manifest).await.contains("created"));
    assert!(bench.ok("apply -f -", manifest).await.contains("unchanged"));
    assert!(
        bench
            .ok("apply -f -", &manifest.replace("red", "green"))
            .await
            .contains("configured")
    );
    assert!(
        bench
            .ok("apply --server-side -f -", manifest)
            .await
            .contains("serverside-applied")
    );
    assert!(
        bench
            .ok("apply --dry-run=server -f -", manifest)
            .await
            .contains("(server dry run)")
    );
    assert!(bench.ok("diff -f -", manifest).await.is_empty());
    let refused = bench.fails("apply -f -", &manifest.replace("red", "pink")).await;
    assert!(refused.contains("spec.color: Unsupported value: \"pink\""), "{refused}");
    let refused = bench
        .fails("apply -f -", &manifest.replace("color: red", "color: red, size: 3"))
        .await;
    assert!(refused.contains("unknown field \"spec.size\""), "{refused}");
    bench.ok("edit widget w", "").await;
    assert!(
        bench
            .ok("get widget w -o jsonpath={.spec.color}", "")
            .await
            .contains("blue")
    );
    bench.ok("label widget w tier=gold", "").await;
    bench.ok("annotate widget w note=this", "").await;
    assert!(
        bench
            .ok("get wd -l tier=gold -o name", "")
            .await
            .contains("widget.example.com/w")
    );
    bench.ok("scale widget w --replicas=4", "").await;
    assert!(
        bench
            .ok("get widget w -o jsonpath={.spec.replicas}", "")
            .await
            .contains('4')
    );
    bench
        .ok("patch widget w --type=merge -p {\"spec\":{\"code\":\"abc\"}}", "")
        .await;
    bench.ok("patch widget w --subresource=status --type=merge -p {\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}", "").await;
    assert!(
        bench
            .ok("wait --for=condition=Ready widget/w --timeout=10s", "")
            .await
            .contains("condition met")
    );
    assert!(bench.ok("delete widget w", "").await.contains("deleted"));

    let app = deployment("web", 1, "nginx:1").to_string();
    assert!(bench.ok("apply -f -", &app).await.contains("created"));
    bench.ok("set image deployment/web main=nginx:2", "").await;
    bench.ok("scale deployment web --replicas=3", "").await;
    assert!(
        bench
            .ok("get deploy web -o jsonpath={.spec.replicas}/{..image}", "")
            .await
            .contains("3/nginx:2")
    );
    bench.ok("create namespace extra", "").await;
    bench.ok("create configmap c --from-literal=a=b -n extra", "").await;
    bench
        .ok("create secret generic s --from-literal=a=b -n extra", "")
        .await;
    bench.ok("delete namespace extra --timeout=20s", "").await;
    assert!(bench.fails("get ns extra", "").await.contains("NotFound"));
    bench.ok("delete crd widgets.example.com --timeout=20s", "").await;
    assert!(
        bench
            .fails("get wd --cache-dir=/nonexistent/nothing-is-remembered", "")
            .await
            .contains("the server doesn't have a resource type")
    );
}

#[tokio::test]
async fn nodes_can_be_tainted_and_cordoned_and_watched() {
    let Some(bench) = Bench::new().await else { return };
    bench
        .sandbox
        .create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))
        .unwrap();
    bench.ok("taint node n1 example.com/bad=yes:NoExecute", "").await;
    bench.ok("cordon n1", "").await;
    assert!(bench.ok("get nodes", "").await.contains("Unknown,SchedulingDisabled"));
    let node = bench.sandbox.get("v1", "Node", None, "n1").unwrap();
    assert!(
        node["spec"]["taints"]
            .as_array()
            .unwrap()
            .iter()
            .any(|t| t["key"] == "example.com/bad"),
        "{node}"
    );
    bench.ok("taint node n1 example.com/bad-", "").await;

    let mut child = Command::new("kubectl")
        .env("HOME", bench.home.path())
        .env("KUBECONFIG", bench.home.path().join("config"))
        .args(["get", "configmaps", "-w", "--no-headers"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stdout.take().unwrap()));
    bench.sandbox.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen", "namespace": "default"}, "data": {"a": "b"}})).unwrap();
    let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(line.starts_with("seen") && line.contains('1'), "{line}");
}
