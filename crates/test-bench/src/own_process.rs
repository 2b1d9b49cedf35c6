//! A program that runs as a process of its own, on a sandbox that another process serves on loopback: to see what it
//! takes of the machine.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube_sandbox::Served;
use tokio::time::Instant;

use crate::usage::{self, Resident};
use crate::{Program, statistics};

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(300);

/// A running program of ours. It ends when this is dropped.
#[derive(Debug)]
pub struct OwnProcess {
    child: Child,
    admin: SocketAddr,
    kubeconfig: PathBuf,
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

/// A port of loopback that nobody listens at.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

impl OwnProcess {
    /// Starts it. What it logs is not shown.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(program: Program<'_>, plane: &Served, flags: &[&str]) -> Self {
        let admin = free_address();
        let name = program.file.rsplit('/').next().unwrap();
        let kubeconfig = std::env::temp_dir().join(format!("{name}-{}-{}", std::process::id(), admin.port()));
        std::fs::write(&kubeconfig, plane.kubeconfig()).unwrap();
        let child = Command::new(program.file)
            .args(program.command)
            .arg(format!("--admin-bind-address={admin}"))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            child,
            admin,
            kubeconfig,
        }
    }

    /// What it has in memory.
    ///
    /// # Panics
    /// When it has ended.
    #[must_use]
    pub fn resident(&self) -> Resident {
        usage::resident(self.child.id())
    }

    /// Waits until it says that it is ready.
    ///
    /// # Panics
    /// When it does not within five minutes.
    pub async fn ready(&self) {
        self.until("ready", || {
            self.get("/readyz")
                .is_some_and(|answer| answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.0 200"))
        })
        .await;
    }

    /// The sum of all series of a metric, 0 when there is none.
    #[must_use]
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").unwrap_or_default();
        let series = text.lines().filter_map(|line| line.rsplit_once(' '));
        let named = series.filter(|(series, _)| series.split('{').next() == Some(name));
        // An empty sum of floats is -0.
        named
            .filter_map(|(_, value)| value.parse::<f64>().ok())
            .fold(0.0, |sum, value| sum + value)
    }

    /// How long a scrape takes, in milliseconds, the median of several; and how many series it has.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a count of series")]
    pub fn scrape(&self) -> (f64, f64) {
        let mut times = Vec::new();
        let mut series = 0;
        for _ in 0..9 {
            let began = Instant::now();
            let text = self.get("/metrics").unwrap();
            times.push(began.elapsed().as_secs_f64() * 1e3);
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            series = body.lines().filter(|line| !line.starts_with('#')).count();
        }
        (statistics::median(times), series as f64)
    }

    /// Waits until a metric has this value.
    ///
    /// # Panics
    /// When it does not within five minutes.
    pub async fn until_metric(&self, name: &str, value: f64) {
        self.until(name, || (self.metric(name) - value).abs() < 1e-9).await;
    }

    async fn until(&self, what: &str, look: impl Fn() -> bool) {
        let began = Instant::now();
        while !look() {
            assert!(began.elapsed() < PATIENCE, "not {what} within five minutes");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.admin).ok()?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.admin
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}
