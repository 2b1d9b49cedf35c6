//! Serves a sandbox on loopback, prints its kubeconfig and runs until interrupted:
//! `cargo run -p kube-sandbox --example serve > kubeconfig`, then `kubectl --kubeconfig kubeconfig get ns`.
#![allow(clippy::print_stdout)]

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use kube_sandbox::{Sandbox, SandboxOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    #[allow(clippy::disallowed_methods)] // The one place where this server lives in real time.
    let now = Arc::new(jiff::Timestamp::now);
    let sandbox = Sandbox::new(SandboxOptions::new(now));
    let served = sandbox.serve_http(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    print!("{}", served.kubeconfig());
    std::io::stdout().flush()?;
    tokio::signal::ctrl_c().await
}
