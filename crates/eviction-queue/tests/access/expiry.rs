//! Connections that outlive the certificate that they were made with. Inside a process, under simulated time.

use std::time::Duration;

use controller_kit::KitFlags;
use eviction_queue::access::AccessFlags;
use eviction_queue::{Flags, Transport, controllers};
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::{ConnectionFlags, QueueClient};
use jiff::SignedDuration;
use test_bench::{Authority, Bench, Counts, Of, paused};
use tonic::{Code, Status};

use crate::calls::{count, entries, publish, status};

#[test]
fn a_connection_does_not_outlive_its_certificate() {
    paused(async {
        let bench = Bench::new(&[]);
        let network = MemoryNetwork::default();
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("authority");
        let ca = folder.path().join("ca.crt");
        std::fs::write(&ca, authority.pem()).unwrap();
        // Addresses of this network begin with this name.
        let server = authority.issue("memory", Of::Server).write(folder.path(), "server");
        let flags = Flags {
            transport: Transport::Memory(network.clone()),
            access: AccessFlags {
                queue_tls_cert_file: Some(server.0),
                queue_tls_key_file: Some(server.1),
                queue_client_ca_file: Some(ca.clone()),
                queue_producers: vec!["manager".into()],
                ..AccessFlags::default()
            },
            ..Flags::default()
        };
        let queue = bench
            .process("eviction-queue", "q", KitFlags::default())
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;

        let issue = |year| {
            let issued = authority.issue_for("manager", Of::Client, Counts::Until(year), &[]);
            issued.write(folder.path(), "manager")
        };
        let own = issue(2027);
        let connection = ConnectionFlags {
            queue_ca_file: Some(ca),
            queue_client_cert_file: Some(own.0),
            queue_client_key_file: Some(own.1),
            ..ConnectionFlags::default()
        };
        let client = QueueClient::by_lease(bench.client(), "karmada-system", "test")
            .through(network)
            .secured(connection.security(&bench.clock));
        let mut publishing = publish(&client, entries(3)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(count(&client).await, 3);

        let counted = |family: &str, reason: &str| queue.metrics().value(family, &[("reason", reason)]);
        let calls = || counted("failover_queue_calls_refused_total", "CertificateExpired");
        let handshakes = || counted("failover_queue_connections_refused_total", "HandshakeFailed");
        assert_eq!((calls(), handshakes()), (None, None));

        bench.step_clock(SignedDuration::from_hours(24 * 366));
        let refused = status(&client).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
        assert_eq!(
            refused.message(),
            "the client certificate of this connection has expired: it was valid until 2027-01-01T00:00:00Z; connect again \
             with a new one"
        );
        assert_eq!((calls(), handshakes()), (Some(1.0), None));
        let ended = publishing.ended().await.unwrap();
        assert_eq!(ended.message(), refused.message());

        // Its files still hold the old one: the handshake fails, and says so.
        client.learn(&refused);
        let refused = status(&client).await.unwrap_err();
        assert!(
            refused.message().contains("refuses our certificate: it is expired"),
            "{}",
            refused.message()
        );
        assert!(handshakes() >= Some(1.0), "{:?}", handshakes());
        let of_before = calls();
        issue(2030);
        tokio::time::sleep(Duration::from_secs(2)).await;
        client.learn(&Status::unavailable("connect again"));
        let _publishing = publish(&client, entries(3)).await.unwrap();
        assert_eq!(count(&client).await, 3);
        assert_eq!(calls(), of_before, "the new certificate is good");
    });
}
