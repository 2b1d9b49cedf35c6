//! What a kubelet would run of a Pod, as processes on this machine: the arguments and the environment as they stand there,
//! the files of the Secrets and ConfigMaps that are mounted, and where it asks for it the token of its ServiceAccount. Only the
//! beginning of a mounted path is another one: each Pod's files are in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};
use e2e_harness::{Launch, Member, Programs};
use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVar, Pod, Secret, Volume};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::own_cluster::OwnCluster;

/// Where Pods' addresses are, as all of them are this machine.
const POD_IP: &str = "127.0.0.1";

/// A Pod as a process.
pub struct Rendered {
    /// Its name.
    pub pod: String,
    /// The component.
    pub component: String,
    /// How it is started.
    pub launch: Launch,
    /// How a kubelet asks how it is.
    pub probes: Vec<Probe>,
}

/// What a kubelet asks for over and over.
#[derive(Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its field in the container.
    pub field: &'static str,
    /// Where somebody has to listen.
    pub address: String,
    /// What is asked for there.
    pub path: String,
}

/// The Pods of our charts in this namespace, which their own controllers have made; files are written to `folder`.
pub async fn rendered(cluster: &Member, namespace: &str, folder: &Path) -> anyhow::Result<Vec<Rendered>> {
    let client = cluster.client().await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=karmada-failover");
    let mut all = Vec::new();
    for pod in pods.list(&ours).await?.items {
        if pod.metadata.deletion_timestamp.is_none() {
            all.push(as_process(cluster, &client, &pod, folder).await?);
        }
    }
    Ok(all)
}

async fn as_process(cluster: &Member, client: &Client, pod: &Pod, folder: &Path) -> anyhow::Result<Rendered> {
    let name = pod.name_any();
    let spec = pod.spec.as_ref().context("a Pod without a spec")?;
    let [container] = spec.containers.as_slice() else {
        bail!("Pod {name} has {} containers", spec.containers.len());
    };
    let root = folder.join(&name);
    let mounts = mount(client, pod, container, &root).await?;
    let environment = environment(pod, container)?;
    let mut arguments = Vec::new();
    for argument in container.args.iter().flatten() {
        arguments.push(placed(&expanded(argument, &environment)?, &mounts)?);
    }
    let probes = probes(container).with_context(|| format!("Pod {name}"))?;
    let program = Programs::find()?.path(&container.name)?;
    let launch = match OwnCluster::of(cluster, pod, &root).await? {
        Some(own) => own.launch(&name, &program, arguments),
        None => Launch::new(name.clone(), program).args(arguments),
    };
    let launch = environment
        .into_iter()
        .fold(launch, |launch, (name, value)| launch.env(name, value));
    Ok(Rendered {
        component: container.name.clone(),
        launch,
        probes,
        pod: name,
    })
}

/// As a kubelet reads them. Each container of ours has all three, over HTTP.
fn probes(container: &Container) -> anyhow::Result<Vec<Probe>> {
    let fields = [
        ("startupProbe", &container.startup_probe),
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
    ];
    let probes = fields.into_iter().map(|(field, probe)| {
        let probe = probe.as_ref().with_context(|| format!("no {field}"))?;
        let asked = probe
            .http_get
            .as_ref()
            .with_context(|| format!("{field} has no httpGet"))?;
        let is_plain = asked.scheme.as_deref().is_none_or(|scheme| scheme == "HTTP") && asked.host.is_none();
        ensure!(is_plain, "{field}: no kubelet here asks like that: {asked:?}");
        let port = match &asked.port {
            IntOrString::Int(port) => *port,
            IntOrString::String(name) => {
                let ports = container.ports.iter().flatten();
                let port = ports.into_iter().find(|port| port.name.as_ref() == Some(name));
                port.with_context(|| format!("{field}: the container has no port {name}"))?
                    .container_port
            }
        };
        Ok(Probe {
            field,
            address: format!("{POD_IP}:{port}"),
            path: asked.path.clone().unwrap_or_else(|| "/".to_owned()),
        })
    });
    probes.collect()
}

/// Writes what is mounted; the folder of each path in the container.
async fn mount(
    host: &Client,
    pod: &Pod,
    container: &Container,
    root: &Path,
) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let volumes: BTreeMap<&str, _> = volumes.map(|volume| (volume.name.as_str(), volume)).collect();
    let namespace = pod.namespace().unwrap_or_default();
    let mut mounts = BTreeMap::new();
    for mount in container.volume_mounts.iter().flatten() {
        ensure!(mount.read_only == Some(true), "{} is not mounted read only", mount.name);
        let volume = volumes
            .get(mount.name.as_str())
            .with_context(|| format!("no volume {}", mount.name))?;
        let folder = root.join(mount.mount_path.trim_start_matches('/'));
        fs::create_dir_all(&folder)?;
        for (key, bytes) in contents(host, &namespace, volume).await? {
            let file = folder.join(key);
            fs::write(&file, bytes)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o440))?;
        }
        mounts.insert(mount.mount_path.clone(), folder);
    }
    Ok(mounts)
}

/// What is in the files of a volume, by their names.
async fn contents(host: &Client, namespace: &str, volume: &Volume) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    if let Some(source) = &volume.config_map {
        let maps: Api<ConfigMap> = Api::namespaced(host.clone(), namespace);
        let map = maps
            .get(&source.name)
            .await
            .with_context(|| format!("ConfigMap {}", source.name))?;
        let texts = map.data.unwrap_or_default().into_iter();
        return Ok(texts.map(|(key, text)| (key, text.into_bytes())).collect());
    }
    let source = volume.secret.as_ref();
    let source = source.with_context(|| format!("volume {} is neither Secret nor ConfigMap", volume.name))?;
    let name = source.secret_name.as_deref().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(host.clone(), namespace);
    let secret = secrets.get(name).await.with_context(|| format!("Secret {name}"))?;
    let data = secret.data.unwrap_or_default().into_iter();
    Ok(data.map(|(key, bytes)| (key, bytes.0)).collect())
}

fn environment(pod: &Pod, container: &Container) -> anyhow::Result<BTreeMap<String, String>> {
    let value = |variable: &EnvVar| -> anyhow::Result<String> {
        if let Some(value) = &variable.value {
            return Ok(value.clone());
        }
        let source = variable
            .value_from
            .as_ref()
            .and_then(|source| source.field_ref.as_ref());
        match source.map(|source| source.field_path.as_str()) {
            Some("status.podIP") => Ok(POD_IP.to_owned()),
            Some("metadata.name") => Ok(pod.name_any()),
            Some("metadata.namespace") => Ok(pod.namespace().unwrap_or_default()),
            other => Err(anyhow!("{}: no kubelet here knows {other:?}", variable.name)),
        }
    };
    let variables = container.env.iter().flatten();
    variables
        .map(|variable| Ok((variable.name.clone(), value(variable)?)))
        .collect()
}

/// As a kubelet replaces `$(NAME)`.
fn expanded(text: &str, environment: &BTreeMap<String, String>) -> anyhow::Result<String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("$(") {
        let (name, after) = after.split_once(')').with_context(|| format!("{text}: no end of $("))?;
        let value = environment
            .get(name)
            .with_context(|| format!("{text}: there is no variable {name}"))?;
        done.push_str(before);
        done.push_str(value);
        rest = after;
    }
    done.push_str(rest);
    Ok(done)
}

/// With the place of its files on this machine. A file that is not mounted is a mistake of the chart.
fn placed(argument: &str, mounts: &BTreeMap<String, PathBuf>) -> anyhow::Result<String> {
    let Some((flag, path)) = argument.split_once('=').filter(|(_, value)| value.starts_with('/')) else {
        return Ok(argument.to_owned());
    };
    let found = mounts.iter().find_map(|(mounted, folder)| {
        let rest = path.strip_prefix(mounted.as_str())?.strip_prefix('/')?;
        Some(folder.join(rest))
    });
    let file = found.with_context(|| format!("{argument}: nothing is mounted there"))?;
    ensure!(file.is_file(), "{argument}: what is mounted there has no such file");
    Ok(format!("{flag}={}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn container(readiness: &serde_json::Value) -> Container {
        let get = |path: &str, port: serde_json::Value| json!({"httpGet": {"path": path, "port": port}});
        serde_json::from_value(json!({
            "name": "c",
            "ports": [{"name": "grpc", "containerPort": 1}, {"name": "admin", "containerPort": 2}],
            "startupProbe": get("/healthz", json!("admin")), "livenessProbe": get("/alive", json!(3)),
            "readinessProbe": readiness,
        }))
        .unwrap()
    }

    #[test]
    fn probes_are_those_of_the_container() {
        let found = probes(&container(&json!({"httpGet": {"path": "/readyz", "port": "admin"}}))).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|probe| (probe.field, probe.address.as_str(), probe.path.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("startupProbe", "127.0.0.1:2", "/healthz"),
                ("livenessProbe", "127.0.0.1:3", "/alive"),
                ("readinessProbe", "127.0.0.1:2", "/readyz"),
            ]
        );
        for (wrong, words) in [
            (json!(null), "no readinessProbe"),
            (json!({"grpc": {"port": 1}}), "no httpGet"),
            (json!({"httpGet": {"port": "https"}}), "no port https"),
            (json!({"httpGet": {"port": 1, "scheme": "HTTPS"}}), "no kubelet here"),
        ] {
            let said = probes(&container(&wrong)).unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}
