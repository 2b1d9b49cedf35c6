#![allow(clippy::needless_pass_by_value, reason = "literals are given by value")]

use api_types::config::{
    CustomizationRules, CustomizationTarget, ResourceInterpreterCustomization, ResourceInterpreterCustomizationSpec,
};
use api_types::work::ResourceHealth;
use rstest::rstest;

use super::*;

fn scripted(api_version: &str, kind: &str, rules: Value) -> Scripted {
    let with_script = |source: &Value| json!({"luaScript": source});
    let fields = rules.as_object().unwrap().iter();
    let customizations: Value = fields
        .map(|(name, source)| (name.clone(), with_script(source)))
        .collect();
    let customization = ResourceInterpreterCustomization::new(
        "under-test",
        ResourceInterpreterCustomizationSpec {
            target: CustomizationTarget {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            },
            customizations: serde_json::from_value::<CustomizationRules>(customizations).unwrap(),
        },
    );
    let scripted = Scripted::new(Clock::system());
    let (rules, _) = Rules::of(&[Arc::new(customization)], &Rules::default());
    scripted.replace(rules);
    scripted
}

fn item(cluster: &str, status: Value) -> AggregatedStatusItem {
    AggregatedStatusItem {
        cluster_name: cluster.into(),
        status: Some(status),
        applied: true,
        health: Some(ResourceHealth::Healthy),
        ..AggregatedStatusItem::default()
    }
}

/// A kind such as OpenKruise's CloneSet: replicas, a pod template, a rollout.
mod clone_set {
    use super::*;

    const VERSION: &str = "apps.kruise.io/v1alpha1";
    const KIND: &str = "CloneSet";

    fn rules() -> Scripted {
        scripted(
            VERSION,
            KIND,
            json!({
                "replicaResource": r#"
                    local kube = require("kube")
                    function GetReplicas(obj)
                      local replica = obj.spec.replicas
                      local requirement = kube.accuratePodRequirements(obj.spec.template)
                      return replica, requirement
                    end"#,
                "replicaRevision": "function ReviseReplica(obj, desiredReplica) obj.spec.replicas = desiredReplica return obj end",
                "retention": r"
                    function Retain(desiredObj, observedObj)
                      if desiredObj.spec.paused ~= observedObj.spec.paused then desiredObj.spec.paused = observedObj.spec.paused end
                      return desiredObj
                    end",
                "statusReflection": r"
                    function ReflectStatus(observedObj)
                      local status = {}
                      if observedObj == nil or observedObj.status == nil then return status end
                      status.replicas = observedObj.status.replicas
                      status.availableReplicas = observedObj.status.availableReplicas
                      status.labelSelector = observedObj.status.labelSelector
                      status.generation = observedObj.metadata.generation
                      return status
                    end",
                "statusAggregation": r"
                    function AggregateStatus(desiredObj, statusItems)
                      if desiredObj.status == nil then desiredObj.status = {} end
                      local replicas, available = 0, 0
                      for i = 1, #statusItems do
                        local status = statusItems[i].status
                        if status ~= nil then
                          if status.replicas ~= nil then replicas = replicas + status.replicas end
                          if status.availableReplicas ~= nil then available = available + status.availableReplicas end
                        end
                      end
                      desiredObj.status.observedGeneration = desiredObj.metadata.generation
                      desiredObj.status.replicas = replicas
                      desiredObj.status.availableReplicas = available
                      return desiredObj
                    end",
                "healthInterpretation": r"
                    function InterpretHealth(observedObj)
                      if observedObj.status.observedGeneration ~= observedObj.metadata.generation then return false end
                      if observedObj.spec.replicas ~= nil and observedObj.status.updatedReplicas < observedObj.spec.replicas then return false end
                      return observedObj.status.availableReplicas >= observedObj.status.updatedReplicas
                    end",
                "dependencyInterpretation": r#"
                    local kube = require("kube")
                    function GetDependencies(desiredObj) return kube.getPodDependencies(desiredObj.spec.template, desiredObj.metadata.namespace) end"#,
            }),
        )
    }

    fn clone_set() -> Value {
        json!({"apiVersion": VERSION, "kind": KIND, "metadata": {"namespace": "shop", "name": "a", "generation": 2},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "updateStrategy": {}, "volumeClaimTemplates": [],
                "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
                    "serviceAccountName": "robot",
                    "nodeSelector": {"disk": "fast"},
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "250m"}},
                        "envFrom": [{"configMapRef": {"name": "settings"}}], "securityContext": {}}],
                    "volumes": [{"name": "v", "emptyDir": {}}]}}}})
    }

    #[test]
    fn replicas_and_what_one_needs() {
        let replicas = rules().replicas(&clone_set()).unwrap().unwrap();
        assert_eq!(replicas.count, 3);
        let requirements = serde_json::to_value(replicas.requirements).unwrap();
        let wanted = json!({"nodeClaim": {"nodeSelector": {"disk": "fast"}}, "resourceRequest": {"cpu": "250m"}});
        assert_eq!(requirements, wanted);
    }

    #[test]
    fn other_replicas_change_nothing_else() {
        let mut revised = clone_set();
        rules().revise(&mut revised, 7).unwrap();
        let mut wanted = clone_set();
        wanted["spec"]["replicas"] = json!(7);
        assert_eq!(revised, wanted, "what stood empty stands empty");
    }

    #[test]
    fn what_the_member_keeps() {
        let (mut desired, mut observed) = (clone_set(), clone_set());
        observed["spec"]["paused"] = json!(true);
        rules().retain(&mut desired, &observed).unwrap();
        assert_eq!(desired, observed);
    }

    #[rstest]
    #[case::rolled_out(json!({"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 3}), Health::Healthy)]
    #[case::not_seen_yet(json!({"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": 3}), Health::Unhealthy)]
    #[case::not_all_there(json!({"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 2}), Health::Unhealthy)]
    fn health(#[case] status: Value, #[case] wanted: Health) {
        let mut observed = clone_set();
        observed["status"] = status;
        assert_eq!(rules().health(&observed).unwrap(), wanted);
    }

    #[test]
    fn no_status_is_an_error_and_not_unhealthy() {
        let error = rules().health(&clone_set()).unwrap_err().to_string();
        let wanted = "cannot judge the health of CloneSet shop/a: ResourceInterpreterCustomization under-test, \
            healthInterpretation: line 3: attempt to index field 'status' (a nil value)";
        assert_eq!(error, wanted);
    }

    #[test]
    fn status_goes_up_and_adds_up() {
        let mut observed = clone_set();
        assert_eq!(rules().reflect(&observed).unwrap(), Some(json!({})));
        observed["status"] =
            json!({"replicas": 3, "availableReplicas": 2, "labelSelector": "app=a", "collisionCount": 4});
        let status = rules().reflect(&observed).unwrap().unwrap();
        assert_eq!(
            status,
            json!({"replicas": 3, "availableReplicas": 2, "labelSelector": "app=a", "generation": 2})
        );

        let items = [
            item("m1", status),
            item("m2", json!({"replicas": 1, "availableReplicas": 1})),
        ];
        let patch = rules().aggregate(&clone_set(), &items).unwrap();
        assert_eq!(
            patch,
            Some(json!({"replicas": 4, "availableReplicas": 3, "observedGeneration": 2}))
        );
        let mut template = clone_set();
        template["status"] = patch.unwrap();
        assert_eq!(
            rules().aggregate(&template, &items).unwrap(),
            None,
            "the same again is nothing to write"
        );
    }

    #[test]
    fn dependencies_of_the_pod_template() {
        let found = rules().dependencies(&clone_set()).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|o| (o.kind.as_str(), o.name.as_deref().unwrap(), o.namespace.as_str()))
            .collect();
        assert_eq!(
            names,
            [("ConfigMap", "settings", "shop"), ("ServiceAccount", "robot", "shop")]
        );
    }
}

/// A kind such as Flink's FlinkDeployment: no replicas in the spec, states in the status, parts with needs of their own.
mod flink_deployment {
    use super::*;

    const VERSION: &str = "flink.apache.org/v1beta1";
    const KIND: &str = "FlinkDeployment";

    fn rules() -> Scripted {
        scripted(
            VERSION,
            KIND,
            json!({
                "healthInterpretation": r"
                    function isEmpty(s) return s == nil or s == '' end
                    function InterpretHealth(observedObj)
                      if observedObj.status == nil or observedObj.status.jobStatus == nil then return false end
                      local state = observedObj.status.jobStatus.state
                      if isEmpty(state) or state == 'RECONCILING' then return observedObj.status.jobManagerDeploymentStatus == 'READY' end
                      if state == 'CREATED' or state == 'FAILED' then return false end
                      return true
                    end",
                "componentResource": "function GetComponents(obj) return {} end",
                "replicaResource": r#"
                    local kube = require("kube")
                    function GetReplicas(observedObj)
                      local requires = { resourceRequest = {}, nodeClaim = {} }
                      local jm, tm = observedObj.spec.jobManager, observedObj.spec.taskManager
                      local replicas = (jm.replicas or 1) + math.ceil(observedObj.spec.job.parallelism / tonumber(observedObj.spec.flinkConfiguration["taskmanager.numberOfTaskSlots"]))
                      requires.resourceRequest.cpu = tostring(math.max(jm.resource.cpu, tm.resource.cpu))
                      requires.resourceRequest.memory = kube.resourceAdd(jm.resource.memory, tm.resource.memory)
                      requires.nodeClaim.nodeSelector = observedObj.spec.podTemplate.spec.nodeSelector
                      return replicas, requires
                    end"#,
            }),
        )
    }

    fn flink(status: Value) -> Value {
        json!({"apiVersion": VERSION, "kind": KIND, "metadata": {"namespace": "shop", "name": "a"}, "status": status,
            "spec": {"flinkConfiguration": {"taskmanager.numberOfTaskSlots": "2"}, "job": {"parallelism": 5},
                "jobManager": {"resource": {"cpu": 1, "memory": "2048Mi"}}, "taskManager": {"resource": {"cpu": 2, "memory": "1Gi"}},
                "podTemplate": {"spec": {"nodeSelector": {"zone": "z"}}}}})
    }

    #[rstest]
    #[case::runs(json!({"jobStatus": {"state": "RUNNING"}}), Health::Healthy)]
    #[case::begins(json!({"jobStatus": {"state": "CREATED"}}), Health::Unhealthy)]
    #[case::fails(json!({"jobStatus": {"state": "FAILED"}}), Health::Unhealthy)]
    #[case::reconciles(json!({"jobStatus": {"state": "RECONCILING"}, "jobManagerDeploymentStatus": "READY"}), Health::Healthy)]
    #[case::nothing_yet(json!({}), Health::Unhealthy)]
    fn health(#[case] status: Value, #[case] wanted: Health) {
        assert_eq!(rules().health(&flink(status)).unwrap(), wanted);
    }

    #[test]
    fn replicas_are_worked_out() {
        let replicas = rules().replicas(&flink(json!({}))).unwrap().unwrap();
        assert_eq!(replicas.count, 4);
        let requirements = serde_json::to_value(replicas.requirements).unwrap();
        let wanted =
            json!({"nodeClaim": {"nodeSelector": {"zone": "z"}}, "resourceRequest": {"cpu": "2", "memory": "3Gi"}});
        assert_eq!(requirements, wanted);
    }

    /// As stock's script for this kind does: the larger of two numbers is what one replica asks for.
    #[test]
    fn amounts_may_be_numbers() {
        let rules = scripted(
            VERSION,
            KIND,
            json!({"replicaResource": r"
                function GetReplicas(o)
                  local request = { cpu = math.max(o.spec.jobManager.resource.cpu, o.spec.taskManager.resource.cpu) / 4, memory = o.spec.jobManager.resource.memory }
                  return 1, { resourceRequest = request, nodeClaim = {} }
                end"}),
        );
        let replicas = rules.replicas(&flink(json!({}))).unwrap().unwrap();
        let requirements = serde_json::to_value(replicas.requirements).unwrap();
        assert_eq!(
            requirements,
            json!({"resourceRequest": {"cpu": "500m", "memory": "2048Mi"}})
        );
    }

    #[test]
    fn without_a_script_the_native_rule_speaks() {
        let object = flink(json!({"x": 1}));
        assert_eq!(rules().reflect(&object).unwrap(), Some(json!({"x": 1})));
        assert_eq!(rules().dependencies(&object).unwrap(), []);
        let deployment =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 2}});
        assert_eq!(rules().replicas(&deployment).unwrap().unwrap().count, 2);
    }
}

#[test]
fn a_script_overrules_the_native_rule() {
    let rules = scripted(
        "apps/v1",
        "Deployment",
        json!({"healthInterpretation": "function InterpretHealth(o) return true end"}),
    );
    let object =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 2}});
    assert_eq!(rules.health(&object).unwrap(), Health::Healthy);
    assert_eq!(Native.health(&object).unwrap(), Health::Unhealthy);
}

fn widget() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"namespace": "shop", "name": "a"}})
}

fn message<T: std::fmt::Debug>(outcome: Result<T, InterpretError>) -> String {
    let error = outcome.unwrap_err().to_string();
    let (_, problem) = error
        .split_once("ResourceInterpreterCustomization under-test, ")
        .unwrap();
    problem.to_owned()
}

#[rstest]
#[case::nothing("return nil", "healthInterpretation: InterpretHealth returned a nil, not a boolean")]
#[case::text(
    "return 'yes'",
    "healthInterpretation: InterpretHealth returned a string, not a boolean"
)]
#[case::error("error('broken')", "healthInterpretation: line 1: broken")]
#[case::function("return print", "healthInterpretation: the result contains a function")]
fn a_health_that_is_none(#[case] body: &str, #[case] wanted: &str) {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"healthInterpretation": format!("function InterpretHealth(o) {body} end")}),
    );
    assert_eq!(message(rules.health(&widget())), wanted);
}

// The API server takes no status but an object: any other would keep it from what else is said of the Work.
#[rstest]
#[case::list(
    "return {{phase = 'a'}}",
    "statusReflection: ReflectStatus returned a list, not an object"
)]
#[case::empty_list("return o.status", "statusReflection: ReflectStatus returned a list, not an object")]
#[case::text("return 'a'", "statusReflection: ReflectStatus returned a string, not a table")]
#[case::nothing("return nil", "statusReflection: ReflectStatus returned a nil, not a table")]
#[case::too_deep(
    "local status = {} for i = 1, 100 do status = {a = status} end return status",
    "statusReflection: the result is deeper than 100; does a table contain itself?"
)]
fn a_status_that_is_none(#[case] body: &str, #[case] wanted: &str) {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"statusReflection": format!("function ReflectStatus(o) {body} end")}),
    );
    let mut object = widget();
    object["status"] = json!([]);
    assert_eq!(message(rules.reflect(&object)), wanted);
}

#[rstest]
#[case::text("return '3'", "GetReplicas returned a string, not a number")]
#[case::fraction("return 1.5", "GetReplicas returned 1.5, which is no count")]
#[case::negative("return -1", "GetReplicas returned -1, which is no count")]
#[case::huge("return 1e12", "GetReplicas returned 1000000000000, which is no count")]
#[case::not_a_number("return 0/0", "GetReplicas returned NaN, which is no count")]
#[case::requirements("return 1, 'much'", "GetReplicas returned a string, not a table")]
#[case::wrong_requirements("return 1, {nodeClaim = 'x'}", "GetReplicas returned no requirements: ")]
fn replicas_that_are_none(#[case] body: &str, #[case] wanted: &str) {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"replicaResource": format!("function GetReplicas(o) {body} end")}),
    );
    let problem = message(rules.replicas(&widget()));
    assert!(problem.starts_with(&format!("replicaResource: {wanted}")), "{problem}");
}

#[test]
fn an_object_stays_itself() {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"replicaRevision": "function ReviseReplica(o, n) o.metadata.name = 'b' return o end",
            "retention": "function Retain(d, o) return {} end",
            "statusAggregation": "function AggregateStatus(d, i) return {} end"}),
    );
    let (mut template, before) = (widget(), widget());
    assert_eq!(
        message(rules.revise(&mut template, 1)),
        "replicaRevision: ReviseReplica returned another object: /metadata/name is \"b\", not \"a\""
    );
    assert!(message(rules.retain(&mut template, &before)).contains("Retain returned another object: /apiVersion"));
    assert!(message(rules.aggregate(&template, &[])).contains("AggregateStatus returned another object"));
    assert_eq!(template, before, "a failure changes nothing");
}

#[rstest]
#[case::no_list("return {kind = 'x'}", "GetDependencies returned a table, not a list")]
#[case::no_reference(
    "return {{name = 'x'}}",
    "GetDependencies returned no reference: missing field `apiVersion`"
)]
#[case::of_nothing(
    "return {{apiVersion = 'v1', kind = 'Secret'}}",
    "GetDependencies returned a Secret with neither name nor labelSelector"
)]
#[case::nothing("return nil", "GetDependencies returned a nil, not a list")]
fn dependencies_that_are_none(#[case] body: &str, #[case] wanted: &str) {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"dependencyInterpretation": format!("function GetDependencies(o) {body} end")}),
    );
    assert_eq!(
        message(rules.dependencies(&widget())),
        format!("dependencyInterpretation: {wanted}")
    );
}

#[test]
fn no_dependencies_are_an_answer() {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"dependencyInterpretation": "function GetDependencies(o) return {} end"}),
    );
    assert_eq!(rules.dependencies(&widget()).unwrap(), []);
}

/// Most of stock's scripts (OpenKruise, Flux, Kyverno, Kubeflow, Spark) look for nil, where there is no copy, and leave or
/// reset the status then; those for RayCluster and SidecarSet count the items of a list.
#[rstest]
#[case::leaves_it("if items == nil then return d end d.status = {n = #items} return d", json!(null))]
#[case::resets_it("d.status = {n = items == nil and 7 or #items} return d", json!({"n": 7}))]
#[case::counts("d.status = {n = #items} return d", json!({"n": 0}))]
fn no_copy_is_nil_for_a_script_that_looks_for_it(#[case] body: &str, #[case] wanted: Value) {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"statusAggregation": format!("function AggregateStatus(d, items) {body} end")}),
    );
    let mut template = widget();
    template["status"] = json!({"n": 3});
    let patch = rules.aggregate(&template, &[]).unwrap().unwrap_or(Value::Null);
    assert_eq!(patch, wanted);
}

#[test]
fn what_goes_wrong_without_copies_is_told_once() {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"statusAggregation": "function AggregateStatus(d, items) error('no copies: ' .. type(items)) end"}),
    );
    assert_eq!(
        message(rules.aggregate(&widget(), &[])),
        "statusAggregation: line 1: no copies: nil"
    );
}

#[test]
fn a_script_that_never_ends_without_copies_is_not_asked_twice() {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"statusAggregation": "function AggregateStatus(d, items) if items == nil then while true do end end return d end"}),
    );
    let said = message(rules.aggregate(&widget(), &[]));
    assert!(said.contains("instructions"), "{said}");
}

#[test]
fn what_is_gone_from_the_status_is_taken_away() {
    let rules = scripted(
        "example.com/v1",
        "Widget",
        json!({"statusAggregation": "function AggregateStatus(d, items) d.status = {phase = items[1].status.phase, seen = {n = #items}} return d end"}),
    );
    let mut template = widget();
    template["status"] = json!({"phase": "Old", "message": "x", "seen": {"n": 1}});
    let patch = rules
        .aggregate(&template, &[item("m1", json!({"phase": "New"}))])
        .unwrap();
    assert_eq!(patch, Some(json!({"phase": "New", "message": null})));
}
