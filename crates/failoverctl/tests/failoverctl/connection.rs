//! What is said when the queue is there and does not let us in, from a real queue on a socket with TLS.

use std::path::Path;
use std::time::Duration;

use eviction_queue::access::AccessFlags;
use eviction_queue::{Flags, Transport};
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::run::Answer;
use insta::assert_snapshot;
use test_bench::{Authority, Counts, Of};

use crate::live::World;

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
        let mut shown = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("127.0.0.1:") {
            shown.push_str(before);
            shown.push_str("QUEUE");
            rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        shown.push_str(rest);
        (failure.status(), shown)
    }
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
    leads(&world, &welcome, |asked| asked.is_ok()).await;

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

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_whose_certificate_has_expired() {
    let files = Files::new();
    let world = World::over_sockets(&[]);
    let queue = world
        .start_queue_with(on_a_socket(files.access("expired")), "queue-1")
        .await;
    let caller = files.caller("ca.crt", Some("alice"));
    let is_reached = |failure: &Failure| failure.to_string().contains("certificate");
    leads(&world, &caller, |asked| asked.as_ref().is_err_and(is_reached)).await;
    let (status, told) = files.told(&world, &caller, &LOOK).await;
    assert_eq!(status, ExitStatus::Unreachable);
    assert_snapshot!("connection_expired", told);
    queue.stop().await;
}
