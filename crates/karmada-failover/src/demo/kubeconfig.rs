//! A kubeconfig whose current context is the control plane, with a context for each member beside it.

use serde_json::{Value, json};

/// `(name, url)` of each server, the current one first.
pub(super) fn kubeconfig(servers: &[(String, String)]) -> String {
    let named = |key: &str, content: fn(&(String, String)) -> Value| -> Vec<Value> {
        servers
            .iter()
            .map(|server| json!({"name": server.0, key: content(server)}))
            .collect()
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": servers.first().map(|server| &server.0),
        "clusters": named("cluster", |(_, url)| json!({"server": url})),
        "users": named("user", |_| json!({})),
        "contexts": named("context", |(name, _)| json!({"cluster": name, "user": name})),
    });
    // JSON is YAML, and kubectl reads it.
    format!("{config:#}\n")
}
