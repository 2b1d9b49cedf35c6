//! One etcd for all API servers of a test: each keeps its objects under a prefix of its own.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use e2e_control_plane::{Binaries, Tool};
use tokio::net::TcpStream;

use crate::error::Error;
use crate::ports;
use crate::process::{Launch, Process};
use crate::run_folder::RunFolder;
use crate::wait::while_it_runs;

const READY_WITHIN: Duration = Duration::from_secs(60);

/// A running etcd.
#[derive(Debug)]
pub(crate) struct Etcd {
    endpoint: String,
    _process: Process,
}

impl Etcd {
    pub(crate) async fn start(folder: &Arc<RunFolder>, binaries: &Binaries) -> Result<Self, Error> {
        let mut tries_left = ports::TRIES;
        loop {
            tries_left -= 1;
            match Self::start_on(ports::free()?, ports::free()?, folder, binaries).await {
                Err(error) if error.is_port_taken() && tries_left > 0 => {}
                done => return done,
            }
        }
    }

    async fn start_on(port: u16, peer_port: u16, folder: &Arc<RunFolder>, binaries: &Binaries) -> Result<Self, Error> {
        let endpoint = format!("http://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{peer_port}");
        let launch = Launch::new("etcd", binaries.path(Tool::Etcd))
            .arg("--data-dir")
            .arg(folder.make("etcd")?)
            .args([
                "--name=default".to_owned(),
                // A test's data need not survive a power cut.
                "--unsafe-no-fsync".to_owned(),
                "--log-level=warn".to_owned(),
                format!("--listen-client-urls={endpoint}"),
                format!("--advertise-client-urls={endpoint}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
            ]);
        let mut process = Process::start(folder, launch)?;
        while_it_runs(&mut process, "etcd listens", READY_WITHIN, async || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .map(drop)
                .map_err(|error| error.to_string())
        })
        .await?;
        Ok(Self {
            endpoint,
            _process: process,
        })
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }
}
