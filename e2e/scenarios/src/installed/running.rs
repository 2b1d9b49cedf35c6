//! From Pods to processes that are ready.

use std::time::Duration;

use anyhow::ensure;
use e2e_harness::{ControlPlane, Member, Process, eventually};
use tokio::time::Instant;

use super::charts::NAMESPACE;
use super::host_name;
use super::pods::{Probe, Rendered, rendered};

/// From the start of the processes until each answers all that a kubelet asks it.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Processes that are ready.
pub struct Ready {
    pub processes: Vec<Process>,
    /// How long after their start the last one was.
    pub after: Duration,
}

/// Starts what the Pods of this cluster would run, which have to be of these components, and waits until all are ready.
pub async fn start(control_plane: &ControlPlane, cluster: &Member, components: &[&str]) -> anyhow::Result<Ready> {
    let pods = rendered(cluster, NAMESPACE, control_plane.folder().path()).await?;
    let mut found: Vec<&str> = pods.iter().map(|pod| pod.component.as_str()).collect();
    found.sort_unstable();
    ensure!(found == components, "the charts run {found:?} on {}", cluster.name());
    let started = Instant::now();
    let mut processes = Vec::new();
    let mut probes = Vec::new();
    for Rendered {
        pod,
        launch,
        probes: of_pod,
        ..
    } in pods
    {
        let launch = host_name::on_host(launch, &pod);
        processes.push(Process::start(control_plane.folder(), launch)?);
        probes.extend(of_pod.into_iter().map(|probe| (pod.clone(), probe)));
    }
    // The end of one is told once, with its log.
    let mut ended = None;
    eventually("all processes to be ready", READY_WITHIN, async || {
        if ended.is_none() {
            let first = processes.iter_mut().find_map(|process| process.must_run().err());
            ended = first.map(|error| error.to_string());
        }
        if let Some(ended) = &ended {
            return Err(String::clone(ended));
        }
        for (pod, probe) in &probes {
            passes(probe)
                .await
                .map_err(|why| format!("{pod}: {} of {}: {why}", probe.field, probe.path))?;
        }
        Ok(())
    })
    .await?;
    let after = started.elapsed();
    Ok(Ready { processes, after })
}

/// As a kubelet asks, and takes the answer.
async fn passes(Probe { address, path, .. }: &Probe) -> Result<(), String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let asked = async {
        let mut stream = tokio::net::TcpStream::connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = asked.await.map_err(|error| error.to_string())?;
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    match status.and_then(|status| status.parse().ok()) {
        Some(200..400_u16) => Ok(()),
        _ => Err(answer),
    }
}
