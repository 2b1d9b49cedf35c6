//! Tables, metadata only, discovery, OpenAPI, health, version.

use e2e_conformance::{Scenario, get, merge, post};
use serde_json::json;

use super::widget::{GROUP_VERSION, widget, widgets};
use super::{config_map, config_maps};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

pub fn scenario() -> Scenario {
    let table = |name, path: &str| get(name, path).accept(TABLE);
    let mut operations = vec![
        post("a config map", config_maps(""), &config_map("a")),
        post(
            "a widget",
            widgets(""),
            &widget("w", &json!({"color": "red", "code": "ab"})),
        ),
        merge(
            "its status",
            widgets("/w/status"),
            &json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        ),
        get("metadata of one", config_maps("/a")).accept(METADATA),
        get("metadata of all", config_maps("")).accept(METADATA_LIST),
        get("metadata of widgets", widgets("")).accept(METADATA_LIST),
        get("metadata of one widget", widgets("/w")).accept(METADATA),
        merge(
            "metadata of a patched one",
            config_maps("/a"),
            &json!({"data": {"x": "y"}}),
        )
        .accept(METADATA),
        table("table of widgets", &widgets("")),
        table("table of one widget", &widgets("/w")),
        table("table with objects", &widgets("?includeObject=Object")),
        table("table without objects", &widgets("?includeObject=None")),
        table("table of none", &widgets("?labelSelector=none")),
        table("table in pages", &widgets("?limit=1")),
        table("table of an error", &widgets("/none")),
        get("table of another version", widgets("")).accept("application/json;as=Table;v=v7;g=meta.k8s.io"),
        table("table of config maps", &config_maps("")),
    ];
    for (name, path) in [
        ("table of a namespace", "/api/v1/namespaces/%{ns}"),
        ("table of secrets", "/api/v1/namespaces/%{ns}/secrets"),
        ("table of events", "/api/v1/namespaces/%{ns}/events"),
        (
            "table of leases",
            "/apis/coordination.k8s.io/v1/namespaces/%{ns}/leases",
        ),
        ("table of deployments", "/apis/apps/v1/namespaces/%{ns}/deployments"),
        ("table of stateful sets", "/apis/apps/v1/namespaces/%{ns}/statefulsets"),
        ("table of jobs", "/apis/batch/v1/namespaces/%{ns}/jobs"),
        ("table of pods", "/api/v1/namespaces/%{ns}/pods"),
        ("table of services", "/api/v1/namespaces/%{ns}/services"),
        (
            "table of a definition",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.conformance.example.com",
        ),
    ] {
        operations.push(table(name, path));
    }
    operations.extend([
        get("core resources", "/api/v1"),
        get("core versions", "/api"),
        get("resources of apps", "/apis/apps/v1"),
        get("resources of batch", "/apis/batch/v1"),
        get("resources of leases", "/apis/coordination.k8s.io/v1"),
        get("resources of definitions", "/apis/apiextensions.k8s.io/v1"),
        get("resources of widgets", GROUP_VERSION),
        get("group of widgets", "/apis/conformance.example.com"),
        get("group of apps", "/apis/apps"),
        get("an unknown group", "/apis/unknown.example.com"),
        get("groups", "/apis"),
        get("aggregated core", "/api").accept("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        get(
            "definition of widgets",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.conformance.example.com",
        ),
        get("openapi of widgets", format!("/openapi/v3{GROUP_VERSION}")),
        get("openapi, the old form", "/openapi/v2").accept("application/json"),
        get("version", "/version"),
        get("health", "/healthz"),
        get("readiness", "/readyz"),
        get("liveness", "/livez"),
        get("protobuf", config_maps("/a")).accept("application/vnd.kubernetes.protobuf"),
        get("cbor", config_maps("/a")).accept("application/cbor"),
        get("yaml", config_maps("/a")).accept("application/yaml"),
    ]);
    Scenario::new("shapes", operations)
}
