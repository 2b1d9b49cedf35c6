//! What is said when the queue is there and does not let us in, from a real queue on a socket with TLS.

use std::path::Path;
use std::time::Duration;

use clap::Parser;
use controller_kit::Clock;
use eviction_queue::access::AccessFlags;
use eviction_queue::{Flags, Transport};
use failoverctl::Cli;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::run::{Answer, Surroundings, run};
use insta::assert_snapshot;
use test_bench::{Authority, Counts, Of};
use tonic::transport::Identity;

use crate::live::World;
use crate::server::FixedQueue;

/// Files of a queue and its callers.
struct Files {
    folder: tempfile::TempDir,
    ours: Authority,
}

impl Files {
    fn new() -> Self {
        let files = Self {
            folder: tempfile::tempdir().unwrap(),
            ours: Authority::new("ours"),
        };
        let other = Authority::new("somebody else's");
        std::fs::write(files.path("ca.crt"), files.ours.pem()).unwrap();
        std::fs::write(files.path("other-ca.crt"), other.pem()).unwrap();
        let folder = files.folder.path();
        files.ours.issue("eviction-queue", Of::Server).write(folder, "queue");
        let expired = files
            .ours
            .issue_for("eviction-queue", Of::Server, Counts::NoLonger, &[]);
        expired.write(folder, "expired");
        files.ours.issue("alice", Of::Client).write(folder, "alice");
        files.ours.issue("bob", Of::Client).write(folder, "bob");
        other.issue("alice", Of::Client).write(folder, "stranger");
        files
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A queue that alice may look into, and nobody may change.
    fn access(&self, certificate: &str) -> AccessFlags {
        let file = |name: &str| Some(Path::new(&self.path(name)).to_owned());
        AccessFlags {
            queue_tls_cert_file: file(&format!("{certificate}.crt")),
            queue_tls_key_file: file(&format!("{certificate}.key")),
            queue_client_ca_file: file("ca.crt"),
            queue_readers: vec!["alice".to_owned()],
            queue_admins: vec!["carol".to_owned()],
            ..AccessFlags::default()
        }
    }

    /// Flags of a caller with this certificate, or with none.
    fn caller(&self, authorities: &str, certificate: Option<&str>) -> Vec<String> {
        let mut args = vec!["--queue-ca-file".to_owned(), self.path(authorities)];
        if let Some(name) = certificate {
            args.extend(["--queue-client-cert-file".to_owned(), self.path(&format!("{name}.crt"))]);
            args.extend(["--queue-client-key-file".to_owned(), self.path(&format!("{name}.key"))]);
        }
        args
    }

    /// What a caller is told, without what differs from run to run.
    async fn told(&self, world: &World, flags: &[String], args: &[&str]) -> (ExitStatus, String) {
        let flags = flags.iter().map(String::as_str);
        let args: Vec<&str> = flags.chain(args.iter().copied()).collect();
        let failure = world.try_ask(&args).await.unwrap_err();
        let folder = self.folder.path().display().to_string();
        let text = failure.to_string().replace(&folder, "DIR");
        (failure.status(), without_ports(&text))
    }
}

/// Ports differ from run to run.
fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        shown.push_str(if rest == part { "127.0.0.1:" } else { "QUEUE" });
        shown.push_str(rest);
    }
    shown
}

fn on_a_socket(access: AccessFlags) -> Flags {
    Flags {
        leader_grace: Duration::ZERO,
        queue_bind_address: "127.0.0.1:0".parse().unwrap(),
        transport: Transport::default(),
        access,
        ..Flags::default()
    }
}

const LOOK: [&str; 2] = ["queue", "list"];

/// Waits until the queue leads, which is seen from what somebody is told who asks it.
async fn leads(world: &World, flags: &[String], is_told: impl Fn(&Result<Answer, Failure>) -> bool) {
    let args: Vec<&str> = flags.iter().map(String::as_str).chain(LOOK).collect();
    let leading = async {
        while !is_told(&world.try_ask(&args).await) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), leading).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_knows_its_callers() {
    let files = Files::new();
    let world = World::over_sockets(&[]);
    let queue = world
        .start_queue_with(on_a_socket(files.access("queue")), "queue-1")
        .await;
    let welcome = files.caller("ca.crt", Some("alice"));
    leads(&world, &welcome, Result::is_ok).await;

    let (status, told) = files.told(&world, &[], &LOOK).await;
    assert_eq!(status, ExitStatus::Unreachable);
    assert_snapshot!("connection_no_authority", told);
    let (_, told) = files
        .told(&world, &files.caller("other-ca.crt", Some("alice")), &LOOK)
        .await;
    assert_snapshot!("connection_wrong_authority", told);
    let (status, told) = files.told(&world, &files.caller("ca.crt", None), &LOOK).await;
    assert_eq!(status, ExitStatus::Unreachable);
    assert_snapshot!("connection_nobody", told);
    let (status, told) = files.told(&world, &files.caller("ca.crt", Some("bob")), &LOOK).await;
    assert_eq!(status, ExitStatus::Unreachable);
    assert_snapshot!("connection_no_role", told);
    let (_, told) = files.told(&world, &files.caller("nothing.crt", None), &LOOK).await;
    assert_snapshot!("connection_no_file", told);
    queue.stop().await;
}

/// Ours refuses to start so: another server, which is not so careful.
#[tokio::test]
async fn a_queue_whose_certificate_has_expired() {
    let files = Files::new();
    let identity = Identity::from_pem(
        std::fs::read(files.path("expired.crt")).unwrap(),
        std::fs::read(files.path("expired.key")).unwrap(),
    );
    let mut tasks = tokio::task::JoinSet::new();
    let address = FixedQueue::default()
        .serve_by_tls(identity, &mut tasks)
        .await
        .to_string();
    let flags = [
        files.caller("ca.crt", None),
        vec!["--queue-address".to_owned(), address],
    ]
    .concat();
    let args = ["failoverctl"]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .chain(LOOK);
    let around = Surroundings::plain(Clock::system());
    let failure = run(&Cli::try_parse_from(args).unwrap(), &around).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    let told = without_ports(&failure.to_string());
    let (before, after) = told.split_once("and now it is ").unwrap();
    let (_, next) = after.split_once('\n').unwrap();
    assert_snapshot!(format!("{before}and now it is NOW\n{next}"), @r"
    cannot reach the eviction queue at QUEUE: no TLS: the other side's certificate has expired: it was valid until 2002-01-01T00:00:00Z, and now it is NOW
      next: renew the queue's certificate (--queue-tls-cert-file), and compare the clocks
    ");
}
