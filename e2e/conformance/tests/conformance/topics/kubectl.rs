//! What people type.

use e2e_conformance::{Operation, Scenario, kubectl};

const WIDGET: &str = "apiVersion: conformance.example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {color: red}\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: main, image: 'nginx:1'}\n";

fn run(name: &'static str, line: &str) -> Operation {
    kubectl(name, format!("{line} -n %{{ns}}"), "")
}

fn with(name: &'static str, line: &str, input: &str) -> Operation {
    kubectl(name, format!("{line} -n %{{ns}}"), input)
}

pub fn scenario() -> Scenario {
    Scenario::new(
        "kubectl",
        vec![
            with("apply", "apply -f -", WIDGET),
            with("apply again", "apply -f -", WIDGET),
            with("apply a change", "apply -f -", &WIDGET.replace("red", "green")),
            with(
                "apply by the server",
                "apply --server-side --force-conflicts -f -",
                WIDGET,
            ),
            with("apply in a dry run", "apply --dry-run=server -f -", WIDGET),
            with("apply what is wrong", "apply -f -", &WIDGET.replace("red", "pink")),
            with(
                "apply an unknown field",
                "apply -f -",
                &WIDGET.replace("color: red", "color: red, size: 3"),
            ),
            with("diff", "diff -f -", WIDGET),
            with("create again", "create -f -", WIDGET),
            run("get", "get wd"),
            run("get wide", "get widgets -o wide"),
            run("get by name", "get wd none"),
            run("get by category", "get toys"),
            run("get by label", "get wd -l nothing=here"),
            run("get as yaml", "get wd w -o yaml"),
            run("get with labels", "get wd --show-labels"),
            run("get a path", "get wd w -o jsonpath={.spec.color}"),
            run("get what is unknown", "get unknowns"),
            run("label", "label wd w tier=gold"),
            run("label again", "label wd w tier=silver"),
            run("label over", "label wd w tier=silver --overwrite"),
            run("no label", "label wd w tier-"),
            run("annotate", "annotate wd w note=this"),
            run("edit", "edit wd w"),
            run("what was edited", "get wd w -o jsonpath={.spec}"),
            run("scale", "scale wd w --replicas=4"),
            run(
                "scale from another number",
                "scale wd w --current-replicas=9 --replicas=5",
            ),
            run("patch", "patch wd w --type=merge -p {\"spec\":{\"code\":\"abc\"}}"),
            run("patch strategically", "patch wd w -p {\"spec\":{\"code\":\"abc\"}}"),
            run(
                "patch the status",
                "patch wd w --subresource=status --type=merge -p {\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
            ),
            run("wait", "wait --for=condition=Ready wd/w --timeout=10s"),
            run("wait for nothing", "wait --for=condition=Never wd/w --timeout=1s"),
            run(
                "wait for a value",
                "wait --for=jsonpath={.spec.replicas}=4 wd/w --timeout=10s",
            ),
            run("describe", "describe wd w"),
            run("explain a field", "explain widget.spec.color"),
            run("explain a kind", "explain widget"),
            run("explain a built-in field", "explain deployment.spec.replicas"),
            run("api resources", "api-resources --api-group=conformance.example.com"),
            with("apply a deployment", "apply -f -", DEPLOYMENT),
            with("apply a deployment again", "apply -f -", DEPLOYMENT),
            with(
                "apply more replicas",
                "apply -f -",
                &DEPLOYMENT.replace("replicas: 1", "replicas: 2"),
            ),
            run("get deployments", "get deploy -o wide"),
            run("set an image", "set image deployment/web main=nginx:2"),
            run("scale a deployment", "scale deployment web --replicas=3"),
            run(
                "what became of it",
                "get deploy web -o jsonpath={.spec.replicas}/{..image}/{.metadata.generation}",
            ),
            run("describe a deployment", "describe deployment web"),
            run(
                "restart a deployment",
                "rollout restart deployment/web --field-manager=me",
            ),
            kubectl(
                "create a node",
                "create -f -",
                "apiVersion: v1\nkind: Node\nmetadata: {name: kubectl}\n",
            ),
            kubectl("taint", "taint node kubectl example.com/bad=yes:NoExecute", ""),
            kubectl("taint again", "taint node kubectl example.com/bad=no:NoExecute", ""),
            kubectl("untaint", "taint node kubectl example.com/bad-", ""),
            kubectl("cordon", "cordon kubectl", ""),
            kubectl("get nodes", "get nodes kubectl", ""),
            kubectl("delete a node", "delete node kubectl", ""),
            kubectl("create a namespace", "create namespace kubectl-extra", ""),
            kubectl(
                "create a config map",
                "create configmap c --from-literal=a=b -n kubectl-extra",
                "",
            ),
            kubectl(
                "create a secret",
                "create secret generic s --from-literal=a=b -n kubectl-extra",
                "",
            ),
            kubectl("get several kinds", "get cm,secret -n kubectl-extra", ""),
            kubectl("delete a namespace", "delete namespace kubectl-extra --timeout=30s", ""),
            kubectl("a namespace that is gone", "get ns kubectl-extra", ""),
            run("delete", "delete wd w"),
            run("delete what is gone", "delete wd w"),
            run("delete what may be gone", "delete wd w --ignore-not-found"),
            run("delete all", "delete deploy --all"),
            run("events", "events"),
            run("may I", "auth can-i create deployments"),
        ],
    )
}
