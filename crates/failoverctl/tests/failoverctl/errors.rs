//! What goes wrong before there is an answer: each says what, of which object, why, and what to do next.

use clap::Parser;
use controller_kit::Clock;
use failoverctl::Cli;
use failoverctl::control_plane::ControlPlane;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::run::{Answer, Surroundings, answer, run};
use insta::assert_snapshot;
use serde_json::Value;

use crate::objects::{binding, calm, cluster, fleet, lease, leases, leases_without, now};
use crate::server::{FixedQueue, api_server, control_plane, taint_policies};
use crate::taints::policies;

fn cli(args: &[&str]) -> Cli {
    Cli::try_parse_from([&["failoverctl"], args].concat()).unwrap()
}

async fn on(answers: Vec<(String, Value)>, args: &[&str]) -> Result<Answer, Failure> {
    let control_plane = ControlPlane::new(api_server(answers), "karmada-system");
    answer(
        &cli(args),
        &control_plane,
        &Surroundings::plain(Clock::simulated(now())),
    )
    .await
}

fn ours() -> Vec<(String, Value)> {
    control_plane(&fleet(cluster("member1", "True")), &leases(), &[binding()])
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there() {
    let args = cli(&["--kubeconfig", "/nowhere/config", "status"]);
    let failure = run(&args, &Surroundings::plain(Clock::simulated(now())))
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Usage);
    assert_snapshot!(failure.to_string(), @r"
    cannot find the API server: cannot read kubeconfig /nowhere/config: No such file or directory (os error 2)
      next: check --kubeconfig (or KUBECONFIG)
    ");
}

#[tokio::test]
async fn a_context_that_is_not_there() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), KUBECONFIG).unwrap();
    let args = cli(&[
        "--kubeconfig",
        file.path().to_str().unwrap(),
        "--context",
        "prod",
        "status",
    ]);
    let failure = run(&args, &Surroundings::plain(Clock::simulated(now())))
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Usage);
    assert!(
        failure
            .to_string()
            .ends_with("has no context \"prod\"; it has karmada\n  next: choose one with --context"),
        "{failure}"
    );
}

/// Nothing listens on port 1 of this machine.
const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: karmada\n\
    clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:1'}\nusers: []\n\
    contexts:\n- name: karmada\n  context: {cluster: c, user: u}\n";

#[tokio::test]
async fn an_api_server_that_does_not_answer() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), KUBECONFIG).unwrap();
    let args = cli(&["--kubeconfig", file.path().to_str().unwrap(), "status"]);
    let failure = run(&args, &Surroundings::plain(Clock::simulated(now())))
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    let text = failure.to_string();
    assert!(
        text.starts_with("cannot ask the API server what it serves: no answer from the API server: "),
        "{text}"
    );
    assert!(text.contains("--kubeconfig and --context"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_silent() {
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        std::future::pending::<()>().await;
        Ok::<_, tower::BoxError>(http::Response::new(kube::client::Body::empty()))
    });
    let client = kube::Client::new(silent, "default");
    let client = controller_kit::api_client::with_time_limit(client, std::time::Duration::from_secs(10));
    let control_plane = ControlPlane::new(client, "karmada-system");
    let failure = answer(
        &cli(&["status"]),
        &control_plane,
        &Surroundings::plain(Clock::simulated(now())),
    )
    .await
    .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::TimedOut);
    assert!(failure.to_string().contains("no answer within 10s"), "{failure}");
}

#[tokio::test]
async fn a_server_without_our_crds() {
    for args in [
        &["status"][..],
        &["queue", "list"],
        &["explain", "binding", "default/nginx-deployment"],
    ] {
        let failure = on(vec![], args).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Problem);
        assert_snapshot!("a_server_without_our_crds", failure.to_string());
    }
}

fn refused(what: &str, path: &str) -> (String, Value) {
    let message = format!("{what} is forbidden: User \"bob\" cannot {what}");
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message,
    });
    (path.to_owned(), status)
}

#[tokio::test]
async fn a_server_without_records_or_pauses() {
    let failure = on(ours(), &["history"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!(failure.to_string(), @r"
    cannot ask for FailoverRecords: the API server does not serve FailoverRecord (failover.karmada.io/v1alpha1)
      next: check --kubeconfig and --context; to install the CRDs: kubectl apply -f charts/control-plane/kinds
    ");
    let failure = on(ours(), &["resume", "--all", "--yes"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!(failure.to_string(), @r"
    cannot ask for FailoverPauses: the API server does not serve FailoverPause (failover.karmada.io/v1alpha1)
      next: check --kubeconfig and --context; to install the CRDs: kubectl apply -f charts/control-plane/kinds
    ");
}

#[tokio::test]
async fn rights_that_are_missing_are_named() {
    let mut answers = ours();
    answers.push(refused(
        "list failoverrecords",
        "/apis/failover.karmada.io/v1alpha1/failoverrecords",
    ));
    answers.push(refused(
        "create failoverpauses",
        "/apis/failover.karmada.io/v1alpha1/failoverpauses",
    ));
    let failure = on(answers.clone(), &["history"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!(failure.to_string(), @r#"
    cannot list failoverrecords: the API server refuses: HTTP 403: list failoverrecords is forbidden: User "bob" cannot list failoverrecords
      next: use a kubeconfig whose user may list failoverrecords.failover.karmada.io
    "#);
    let pause = ["pause", "--scope", "all", "--reason", "x", "--yes", "--name", "p"];
    let failure = on(answers, &pause).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!(failure.to_string(), @r#"
    cannot make FailoverPause p: the API server refuses: HTTP 403: create failoverpauses is forbidden: User "bob" cannot create failoverpauses
      next: use a kubeconfig whose user may list, create and delete failoverpauses.failover.karmada.io
    "#);
}

#[tokio::test]
async fn no_queue_runs() {
    let answers = control_plane(
        &fleet(cluster("member1", "True")),
        &leases_without(&["eviction-queue"]),
        &[],
    );
    let failure = on(answers.clone(), &["queue", "list"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!(failure.to_string(), @r"
    cannot ask the eviction queue: no eviction queue runs: nobody holds a fresh Lease eviction-queue in namespace karmada-system
      next: start the eviction queue (controller evictionQueue), or name it with --queue-address HOST:PORT
    ");
    let status = on(answers, &["status"]).await.unwrap();
    assert_eq!(status.status, ExitStatus::Problem, "status says so and shows the rest");
    assert!(
        status.text.contains("controller evictionQueue is not running"),
        "{}",
        status.text
    );
    assert!(status.text.contains("member3"), "{}", status.text);
}

#[tokio::test]
async fn a_queue_that_cannot_be_reached() {
    let mut lease = lease("eviction-queue", -3, "Failover=true");
    lease
        .metadata
        .annotations
        .as_mut()
        .unwrap()
        .insert("failover.karmada.io/address".to_owned(), "127.0.0.1:1".to_owned());
    let mut leases = leases_without(&["eviction-queue"]);
    leases.push(lease);
    let answers = control_plane(&fleet(cluster("member1", "True")), &leases, &[binding()]);
    let failure = on(answers.clone(), &["queue", "list"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!(failure.to_string(), @r"
    cannot reach the eviction queue at 127.0.0.1:1: Connection refused (os error 111)
      next: check that the queue runs and that this machine can reach the address; from outside the cluster that runs its pod name that cluster with --host-kubeconfig or --host-context: failoverctl then makes a port-forward to the pod
    ");
    let status = on(answers.clone(), &["status"]).await.unwrap();
    assert_eq!(status.status, ExitStatus::Unreachable);
    let explained = on(answers, &["explain", "binding", "default/nginx-deployment"])
        .await
        .unwrap();
    assert!(
        explained
            .text
            .contains("cannot reach the eviction queue at 127.0.0.1:1"),
        "{}",
        explained.text
    );
}

#[tokio::test]
async fn an_address_that_is_none() {
    let args = cli(&["--queue-address", "not an address", "queue", "list"]);
    let failure = run(&args, &Surroundings::plain(Clock::simulated(now())))
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Usage);
    assert!(failure.to_string().contains("this is not HOST:PORT"), "{failure}");
}

#[tokio::test]
async fn a_binding_that_is_not_there() {
    let failure = on(ours(), &["explain", "binding", "default/nginx"]).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!(failure.to_string(), @r"
    cannot explain ResourceBinding default/nginx: there is no such object
      next: did you mean default/nginx-deployment?
    ");
    let failure = on(ours(), &["explain", "binding", "nginx-deployment"])
        .await
        .unwrap_err();
    assert_snapshot!(failure.to_string(), @r"
    cannot explain ClusterResourceBinding nginx-deployment: there is no such object
      next: did you mean default/nginx-deployment?
    ");
    let failure = on(ours(), &["explain", "binding", "default/other"]).await.unwrap_err();
    assert_snapshot!(failure.to_string(), @r"
    cannot explain ResourceBinding default/other: there is no such object
      next: see what there is: kubectl get resourcebindings -n default; a binding is named after its template, as in nginx-deployment
    ");
}

fn ours_with_policies() -> Vec<(String, Value)> {
    let mut answers = ours();
    answers.extend(taint_policies(&policies()));
    for cluster in fleet(cluster("member1", "True")) {
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{}", cluster.cluster_name());
        answers.push((path, serde_json::json!(cluster)));
    }
    answers
}

#[tokio::test]
async fn a_cluster_that_is_not_there() {
    let failure = on(ours_with_policies(), &["explain", "cluster", "member"])
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!(failure.to_string(), @r"
    cannot explain Cluster member: there is no such object
      next: did you mean member1 or member2 or member3?
    ");
    let failure = on(ours_with_policies(), &["explain", "cluster", "other"])
        .await
        .unwrap_err();
    assert_snapshot!(failure.to_string(), @r"
    cannot explain Cluster other: there is no such object
      next: choose one of those that there are: member1, member2, member3
    ");
}

#[tokio::test]
async fn a_policy_that_is_not_there() {
    let failure = on(ours_with_policies(), &["explain", "policy", "not-ready"])
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!(failure.to_string(), @r"
    cannot explain ClusterTaintPolicy not-ready: there is no such object
      next: did you mean not-ready-no-execute or not-ready-no-schedule?
    ");
    let mut answers = ours();
    answers.extend(taint_policies(&[]));
    let failure = on(answers, &["explain", "policy", "not-ready"]).await.unwrap_err();
    assert_snapshot!(failure.to_string(), @r"
    cannot explain ClusterTaintPolicy not-ready: there is no such object
      next: there is none at all: kubectl get clustertaintpolicies
    ");
    let failure = on(ours_with_policies(), &["explain", "policy", "default/nginx"])
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Usage);
    assert_snapshot!(failure.to_string(), @r"
    cannot explain policy default/nginx: a ClusterTaintPolicy has no namespace, and a PropagationPolicy is explained by what it does to a workload
      next: give the name of a ClusterTaintPolicy, or ask failoverctl explain binding NAMESPACE/NAME
    ");
}

#[tokio::test]
async fn a_server_without_taint_policies() {
    for args in [
        &["explain", "cluster", "member1"][..],
        &["explain", "policy", "not-ready"],
    ] {
        let failure = on(ours(), args).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Problem);
        assert!(
            failure
                .to_string()
                .contains("ClusterTaintPolicy (policy.karmada.io/v1alpha1)"),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn events_and_agents_leases_are_a_courtesy() {
    let answer = on(ours_with_policies(), &["explain", "cluster", "member1"])
        .await
        .unwrap();
    assert_eq!(answer.status, ExitStatus::Fine);
    assert!(
        answer.text.contains("member1 is well and has no taint"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn the_queue_is_found_by_its_lease() {
    let mut tasks = tokio::task::JoinSet::new();
    let address = FixedQueue {
        status: calm(),
        ..FixedQueue::default()
    }
    .serve(&mut tasks)
    .await;
    let mut leases = leases();
    for lease in leases
        .iter_mut()
        .filter(|lease| lease.metadata.name.as_deref() == Some("eviction-queue"))
    {
        let annotations = lease.metadata.annotations.as_mut().unwrap();
        annotations.insert("failover.karmada.io/address".to_owned(), address.to_string());
    }
    let answers = control_plane(&fleet(cluster("member1", "True")), &leases, &[binding()]);
    for args in [
        &["status"][..],
        &["queue", "list"],
        &["explain", "binding", "default/nginx-deployment"],
    ] {
        assert_eq!(
            on(answers.clone(), args).await.unwrap().status,
            ExitStatus::Fine,
            "{args:?}"
        );
    }
}

/// The program itself: exit statuses, and errors on standard error only.
#[test]
fn the_program_ends_as_documented() {
    let program = || assert_cmd::Command::new(env!("CARGO_BIN_EXE_failoverctl"));
    program().arg("--version").assert().code(0);
    let usage = program().args(["queue", "frob"]).assert().code(2);
    assert!(usage.get_output().stdout.is_empty());
    let missing = program()
        .args(["--kubeconfig", "/nowhere/config", "status"])
        .assert()
        .code(2);
    let said = String::from_utf8(missing.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("error: cannot find the API server: "), "{said}");
    program()
        .args(["--queue-address", "127.0.0.1:1", "queue", "list"])
        .assert()
        .code(3);
}

/// The answers of a control plane that does not let us see these.
fn without_rights_on(paths: &[&str]) -> Vec<(String, Value)> {
    let refused = |path: &&str| {
        let status = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": format!("{path} is forbidden: User \"ada\" cannot list resource"),
        });
        ((*path).to_owned(), status)
    };
    paths.iter().map(refused).chain(ours()).collect()
}

#[tokio::test]
async fn plan_and_drain_without_rights() {
    let bindings = "/apis/work.karmada.io/v1alpha2/resourcebindings";
    let plan = on(without_rights_on(&[bindings]), &["plan", "--drain", "member1"])
        .await
        .unwrap_err();
    assert_eq!(plan.status(), ExitStatus::Unreachable);
    assert_snapshot!(plan.to_string(), @r#"
    cannot list resourcebindings: the API server refuses: HTTP 403: /apis/work.karmada.io/v1alpha2/resourcebindings is forbidden: User "ada" cannot list resource
      next: use a kubeconfig whose user may get and list clusters, bindings and leases
    "#);
    let member1 = "/apis/cluster.karmada.io/v1alpha1/clusters/member1";
    let drain = on(without_rights_on(&[member1]), &["drain", "member1", "--yes"])
        .await
        .unwrap_err();
    assert_eq!(drain.status(), ExitStatus::Unreachable);
    assert!(
        drain
            .to_string()
            .starts_with("cannot read Cluster member1: the API server refuses: "),
        "{drain}"
    );
}

/// What may not be read is left out and said so, and missed by what needs it.
#[tokio::test]
async fn a_dump_without_rights() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dump.jsonl");
    let path = file.to_str().unwrap();
    let answers = without_rights_on(&["/apis/cluster.karmada.io/v1alpha1/clusters"]);
    let written = on(answers, &["dump", "-f", path, "-o", "json"]).await.unwrap();
    assert_eq!(written.status, ExitStatus::Problem);
    let written: Value = serde_json::from_str(&written.text).unwrap();
    let not_read = written["notRead"].as_array().unwrap();
    let clusters = not_read.iter().find(|not| not["what"] == "clusters").unwrap();
    assert!(clusters["why"].as_str().unwrap().contains("is forbidden"), "{clusters}");
    let args = cli(&["--from", path, "status"]);
    let missed = run(&args, &Surroundings::plain(Clock::simulated(now())))
        .await
        .unwrap_err();
    assert!(missed.to_string().contains("they are not in the dump: "), "{missed}");
}
