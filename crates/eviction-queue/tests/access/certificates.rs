//! Callers that are known by their certificates, over sockets.

use eviction_queue_api::{ConnectionFlags, QueueClient};
use test_bench::{Authority, Counts, Of};
use tonic::Code;

use crate::calls::{Call, count, entries, publish, status};
use crate::scene::Scene;

async fn said(client: &QueueClient) -> String {
    let status = status(client).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    status.message().to_owned()
}

#[tokio::test]
async fn each_role_may_what_it_may_and_nothing_else() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    scene.address().await;
    let looks = [Call::Status, Call::Entries, Call::Watch];
    let roles: [(&str, &[Call]); 5] = [
        ("producer", &[Call::Publish]),
        ("consumer", &[Call::Lease, Call::Complete]),
        ("taint-manager", &[Call::Publish, Call::Lease, Call::Complete]),
        ("reader", &[]),
        ("admin", &[Call::Drop]),
    ];
    for (name, more) in roles {
        let client = scene.client(name);
        for call in Call::ALL {
            let made = call.make(&client).await;
            if looks.contains(&call) || more.contains(&call) {
                made.unwrap_or_else(|status| panic!("{name} {call:?}: {status:?}"));
            } else {
                let status = made.unwrap_err();
                assert_eq!(status.code(), Code::PermissionDenied, "{name} {call:?}");
                let who = format!("the client certificate of \"{name}\" has the role ");
                assert!(status.message().starts_with(&who), "{}", status.message());
            }
        }
    }
    let stranger = scene.client("stranger");
    let refused = status(&stranger).await.unwrap_err();
    assert_eq!(
        refused.message(),
        "the client certificate of \"stranger\" has no role, and QueueInspection/GetStatus needs the role reader: add one of \
         its names to --queue-readers of the queue"
    );
    let by_uri = scene
        .authority
        .issue_for("x", Of::Client, Counts::Now, &["spiffe://fleet/evictor"]);
    Call::Lease.make(&scene.showing(&by_uri, "by-uri")).await.unwrap();
    let refusals = queue.metrics().value(
        "failover_queue_calls_refused_total",
        &[("reason", "CertificateWithoutRole")],
    );
    assert!(refusals.unwrap() >= 10.0);
    queue.stop().await;
}

// Every way in which the two ends do not fit says what is wrong, not that something is.
#[tokio::test]
async fn a_client_that_does_not_fit_is_told_why() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    let address = scene.address().await;

    let without = said(&scene.with(&scene.trusting())).await;
    assert!(
        without.contains("give --queue-client-cert-file and --queue-client-key-file"),
        "{without}"
    );

    let plain = said(&scene.with(&ConnectionFlags::default())).await;
    assert!(plain.ends_with("speaks TLS only: give --queue-ca-file"), "{plain}");

    let other = Authority::new("other");
    let foreign = said(&scene.showing(&other.issue("producer", Of::Client), "foreign")).await;
    assert!(foreign.contains("refuses our certificate"), "{foreign}");
    assert!(
        foreign.contains("an authority in --queue-client-ca-file of the queue"),
        "{foreign}"
    );

    let server = said(&scene.showing(&scene.authority.issue("producer", Of::Server), "server-cert")).await;
    assert!(
        server.contains("refuses our certificate"),
        "a server's certificate is no client's: {server}"
    );

    let mut flags = scene.trusting();
    flags.queue_ca_file = Some(scene.write("other.crt", &other.pem()));
    let unknown = said(&scene.with(&flags)).await;
    assert_eq!(
        unknown,
        format!(
            "no TLS with the eviction queue at {address}: the other side's certificate comes from an authority that is not \
             trusted here; --queue-ca-file must hold the authority of the queue's certificate"
        )
    );

    let mut flags = scene.trusting();
    flags.queue_server_name = Some("elsewhere.example".to_owned());
    let name = said(&scene.with(&flags)).await;
    assert!(
        name.contains("is for another name: wanted elsewhere.example, it has "),
        "{name}"
    );
    assert!(
        name.ends_with("; give a name that it has as --queue-server-name"),
        "{name}"
    );
    queue.stop().await;
}

// Files that were put where others belong: a certificate says what it is for, and a key which certificate it is of.
#[tokio::test]
async fn swapped_files_are_told() {
    let scene = Scene::new();
    let flags = scene.tls();
    let of_the_client = scene.authority.issue("taint-manager", Of::Client);
    of_the_client.write(scene.folder(), "server");
    let queue = scene.queue("q", flags).await;
    scene.address().await;
    let client = said(&scene.client("reader")).await;
    assert!(
        client.contains("is not made for this purpose: extended key usage serverAuth for a server"),
        "{client}"
    );
    queue.stop().await;

    let flags = eviction_queue::Flags {
        access: scene.tls(),
        ..eviction_queue::Flags::default()
    };
    scene.write("server.key", &of_the_client.key);
    let problems = flags.problems();
    let [problem] = problems.as_slice() else {
        panic!("{problems:#?}");
    };
    assert!(
        problem.starts_with("--queue-tls-key-file=") && problem.ends_with("write both files from the same issue"),
        "{problem}"
    );
}

#[tokio::test]
async fn certificates_out_of_their_time_are_refused_on_both_sides() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    scene.address().await;
    // A client sees by its own flags that it has nothing to show.
    for (counts, words) in [(Counts::NoLonger, "has expired"), (Counts::NotYet, "is not valid yet")] {
        let issued = scene.authority.issue_for("reader", Of::Client, counts, &[]);
        let error = scene
            .showing(&issued, "reader")
            .inspection()
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("--queue-client-cert-file=") && error.contains(words),
            "{error}"
        );
    }
    queue.stop().await;

    // So does a queue.
    for counts in [Counts::NoLonger, Counts::NotYet] {
        let flags = scene.tls();
        scene
            .authority
            .issue_for("queue", Of::Server, counts, &[])
            .write(scene.folder(), "server");
        let flags = eviction_queue::Flags {
            access: flags,
            ..eviction_queue::Flags::default()
        };
        let problems = flags.problems();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        assert!(problems[0].starts_with("--queue-tls-cert-file="), "{problems:#?}");
    }
}

#[tokio::test]
async fn a_client_finds_the_leader_through_a_follower_by_tls() {
    let scene = Scene::new();
    let first = scene.queue("q1", scene.tls()).await;
    let at_first = scene.address().await;
    let second = scene.queue("q2", scene.tls()).await;
    let client = scene.client("taint-manager");
    let publishing = publish(&client, entries(3)).await.unwrap();
    assert_eq!(count(&client).await, 3);
    first.stop().await;
    drop(publishing);

    // The producer goes after the leader and publishes again, as it does after any break.
    let again = async {
        loop {
            match publish(&client, entries(3)).await {
                Ok(publishing) => return publishing,
                Err(status) => {
                    client.learn(&status);
                    client.back_off().await;
                }
            }
        }
    };
    let _publishing = tokio::time::timeout(std::time::Duration::from_secs(60), again)
        .await
        .unwrap();
    assert_ne!(scene.address().await, at_first);
    assert_eq!(status(&client).await.unwrap().leader, "q2");
    assert_eq!(count(&client).await, 3);
    second.stop().await;
}
