//! Callers that are known by bearer tokens, which the API server judges by the roles that the chart installs. Inside a
//! process, under paused time.

use std::time::Duration;

use controller_kit::{Clock, KitFlags, Metrics, Running, Tasks};
use eviction_queue::access::AccessFlags;
use eviction_queue::{Flags, Transport, controllers};
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::{ConnectionFlags, QueueClient};
use kube_sandbox::{Authorization, Effect, FaultId, Match, Verb};
use serde_json::{Value, json};
use test_bench::{Bench, paused};
use tonic::Code;
use tonic::transport::Channel;

use crate::calls::{Call, count, entries, publish, status, watch};

const RBAC: &str = include_str!("../../../../charts/control-plane/rbac/eviction-queue.yaml");
const MANAGER: &str = "system:serviceaccount:karmada-system:taint-manager";

/// A queue that knows its callers by tokens, and the API server that judges them.
pub struct World {
    pub bench: Bench,
    network: MemoryNetwork,
    folder: tempfile::TempDir,
}

impl World {
    /// With the chart's roles, and alice a reader by them.
    pub fn new() -> Self {
        let bench = Bench::new(&[]);
        let objects: Vec<Value> = serde_saphyr::from_multiple(RBAC).unwrap();
        for object in objects {
            bench.put(object);
        }
        bench
            .plane()
            .set_access(|access| access.authorization = Authorization::Rbac);
        let world = Self {
            bench,
            network: MemoryNetwork::default(),
            folder: tempfile::tempdir().unwrap(),
        };
        world.bind("alice", "reader");
        for (token, user) in [
            ("alice-token", "alice"),
            ("bob-token", "bob"),
            ("manager-token", MANAGER),
        ] {
            world.give(token, user);
        }
        world
    }

    fn bind(&self, user: &str, role: &str) {
        self.bench.put(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("{user}-{role}")},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                "name": format!("karmada-failover:eviction-queue-{role}"),
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }));
    }

    pub fn give(&self, token: &str, user: &str) {
        let (token, user) = (token.to_owned(), user.to_owned());
        self.bench.plane().set_access(|access| {
            access.tokens.insert(token, user);
        });
    }

    pub fn take(&self, token: &str) {
        self.bench.plane().set_access(|access| {
            access.tokens.remove(token);
        });
    }

    pub async fn queue(&self, identity: &str) -> Running {
        self.queue_with(identity, AccessFlags::default()).await
    }

    pub async fn queue_with(&self, identity: &str, access: AccessFlags) -> Running {
        let flags = Flags {
            transport: Transport::Memory(self.network.clone()),
            access: AccessFlags {
                queue_token_auth: true,
                ..access
            },
            ..Flags::default()
        };
        let running = self
            .bench
            .process("eviction-queue", identity, KitFlags::default())
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        running
    }

    pub fn client(&self, token: &str) -> QueueClient {
        let file = self.folder.path().join(token);
        std::fs::write(&file, token).unwrap();
        let flags = ConnectionFlags {
            queue_token_file: Some(file),
            ..ConnectionFlags::default()
        };
        self.anonymous().secured(flags.security(&Clock::system()))
    }

    pub fn anonymous(&self) -> QueueClient {
        QueueClient::by_lease(self.bench.client(), "karmada-system", "test").through(self.network.clone())
    }

    /// A connection of its own, as a probe of health has it.
    pub async fn channel(&self) -> Channel {
        let address = self.anonymous().address().await.unwrap();
        let network = self.network.clone();
        tonic::transport::Endpoint::from_static("http://memory")
            .connect_with_connector(tower::service_fn(move |_: tonic::transport::Uri| {
                let dialled = network.dial(&address).map(hyper_util::rt::TokioIo::new);
                async move { dialled }
            }))
            .await
            .unwrap()
    }

    fn reviews(&self) -> (u64, u64) {
        let count = |resource: &str| {
            let about = Match::any().verb(Verb::Create).resource(resource);
            self.bench.plane().faults().count(&about)
        };
        (count("tokenreviews"), count("subjectaccessreviews"))
    }

    pub fn no_reviews(&self, effect: Effect) -> FaultId {
        let about = Match::any().resource("tokenreviews");
        self.bench.plane().faults().inject(about, effect)
    }
}

#[test]
fn the_chart_s_roles_allow_what_they_say_and_nothing_else() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q").await;
        let looks = [Call::Status, Call::Entries, Call::Watch];
        for (user, role, more) in [
            ("r", "reader", &[][..]),
            ("p", "producer", &[Call::Publish][..]),
            ("c", "consumer", &[Call::Lease, Call::Complete][..]),
            ("a", "admin", &[Call::Drop][..]),
        ] {
            world.bind(user, role);
            let token = format!("token-of-{user}");
            world.give(&token, user);
            let client = world.client(&token);
            for call in Call::ALL {
                let made = call.make(&client).await;
                if looks.contains(&call) || more.contains(&call) {
                    made.unwrap_or_else(|status| panic!("{role} {call:?}: {status:?}"));
                } else {
                    assert_eq!(made.unwrap_err().code(), Code::PermissionDenied, "{role} {call:?}");
                }
            }
        }
        // The taint manager has both roles by the chart itself.
        let manager = world.client("manager-token");
        for call in [Call::Publish, Call::Lease, Call::Complete, Call::Watch] {
            call.make(&manager).await.unwrap();
        }
        assert_eq!(
            Call::Drop.make(&manager).await.unwrap_err().code(),
            Code::PermissionDenied
        );
    });
}

#[test]
fn a_refusal_says_who_was_seen_and_what_is_needed() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q").await;
        let refused = Call::Publish.make(&world.client("alice-token")).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert_eq!(
            refused.message(),
            "user \"alice\" may not publish evictionqueues.failover.karmada.io, as EvictionQueue/Publish needs: bind a \
             ClusterRole that allows it, such as karmada-failover:eviction-queue-producer, to the user on the control plane"
        );
        let nobody = status(&world.anonymous()).await.unwrap_err();
        assert_eq!(nobody.code(), Code::Unauthenticated);
        assert!(
            nobody.message().contains("the call names nobody: send a bearer token"),
            "{}",
            nobody.message()
        );
        let unknown = status(&world.client("no-such-token")).await.unwrap_err();
        assert_eq!(unknown.code(), Code::Unauthenticated);
        assert_eq!(
            unknown.message(),
            "the control plane's API server does not accept the bearer token of QueueInspection/GetStatus (invalid bearer \
             token): send one that it issued and that has not expired"
        );
        for (reason, expected) in [("UserWithoutRight", 1.0), ("NoCredentials", 1.0), ("InvalidToken", 1.0)] {
            let counted = queue
                .metrics()
                .value("failover_queue_calls_refused_total", &[("reason", reason)]);
            assert_eq!(counted, Some(expected), "{reason}");
        }
    });
}

#[test]
fn answers_are_kept_for_a_moment_only() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q").await;
        let (alice, bob) = (world.client("alice-token"), world.client("bob-token"));
        for _ in 0..50 {
            status(&alice).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(world.reviews(), (1, 1));
        world.take("alice-token");
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert_eq!(status(&alice).await.unwrap_err().code(), Code::Unauthenticated);
        assert_eq!(world.reviews(), (2, 1));

        for _ in 0..10 {
            assert_eq!(status(&bob).await.unwrap_err().code(), Code::PermissionDenied);
        }
        assert_eq!(world.reviews(), (3, 2));
        world.bind("bob", "reader");
        tokio::time::sleep(Duration::from_secs(5)).await;
        status(&bob).await.unwrap();
    });
}

// Nothing is granted while nobody can be asked, and it says so in a way that is tried again.
#[test]
fn without_the_api_server_nothing_new_is_let_in() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q").await;
        let away = [
            Effect::Disconnect,
            Effect::Hang,
            Effect::Error {
                code: 500,
                reason: "InternalError".into(),
                message: "etcd is away".into(),
            },
        ];
        for effect in away {
            let fault = world.no_reviews(effect);
            let refused = status(&world.client("alice-token")).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
            assert!(
                refused.message().contains("could not be asked about the bearer token"),
                "{}",
                refused.message()
            );
            world.bench.plane().faults().remove(fault);
        }
        status(&world.client("alice-token")).await.unwrap();

        let forbidden = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "no".into(),
        };
        let _fault = world.no_reviews(forbidden);
        let refused = status(&world.client("bob-token")).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable);
        assert!(
            refused
                .message()
                .contains("bind ClusterRole karmada-failover:eviction-queue to it"),
            "{}",
            refused.message()
        );
    });
}

// A producer whose token ends loses its stream and no entry; with a new token in the file it goes on.
#[test]
fn a_stream_ends_with_its_token_and_nothing_is_lost() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q").await;
        let (manager, alice) = (world.client("manager-token"), world.client("alice-token"));
        let mut publishing = publish(&manager, entries(7)).await.unwrap();
        let mut watching = watch(&alice).await.unwrap();
        tokio::time::sleep(Duration::from_secs(300)).await;
        publishing.upsert(entries(8));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(count(&alice).await, 8, "a good token lasts");

        world.take("manager-token");
        let before = tokio::time::Instant::now();
        let ended = publishing.ended().await.unwrap();
        assert_eq!(ended.code(), Code::Unauthenticated, "{ended:?}");
        assert!(
            ended
                .message()
                .contains("does not accept the bearer token of EvictionQueue/Publish"),
            "{}",
            ended.message()
        );
        assert!(before.elapsed() <= Duration::from_secs(61));
        publishing.upsert(entries(9));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(count(&alice).await, 8, "nothing more is taken, and nothing is lost");

        world.give("manager-token-2", MANAGER);
        std::fs::write(world.folder.path().join("manager-token"), "manager-token-2").unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let _publishing = publish(&manager, entries(9)).await.unwrap();
        assert_eq!(count(&alice).await, 9);

        world.take("alice-token");
        let ended = loop {
            match watching.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a stream that ends without a word"),
                Err(status) => break status,
            }
        };
        assert_eq!(ended.code(), Code::Unauthenticated);
    });
}

// The queue's own Lease is on the same API server: while it leads, its streams may go on.
#[test]
fn a_stream_goes_on_while_nobody_can_be_asked() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q").await;
        let manager = world.client("manager-token");
        let publishing = publish(&manager, entries(1)).await.unwrap();
        let fault = world.no_reviews(Effect::Disconnect);
        tokio::time::sleep(Duration::from_secs(200)).await;
        publishing.upsert(entries(2));
        world.bench.plane().faults().remove(fault);
        assert_eq!(count(&world.client("alice-token")).await, 2);
    });
}

// Whatever the queue asks for, a client sends its token over TLS or to its own machine only.
#[test]
fn a_token_crosses_no_network_in_the_clear() {
    paused(async {
        let world = World::new();
        let file = world.folder.path().join("token");
        std::fs::write(&file, "alice-token").unwrap();
        let flags = ConnectionFlags {
            queue_token_file: Some(file),
            ..ConnectionFlags::default()
        };
        for (address, is_safe) in [
            ("queue.example:9443", false),
            ("10.0.0.1:9443", false),
            ("127.0.0.1.example:9443", false),
            ("127.0.0.1:9443", true),
            ("[::1]:9443", true),
            ("localhost:9443", true),
        ] {
            let client = QueueClient::at(address).secured(flags.security(&Clock::system()));
            match client.inspection().await {
                Ok(_) => assert!(is_safe, "{address}"),
                Err(error) => assert!(
                    !is_safe && error.to_string().contains("in the clear"),
                    "{address}: {error}"
                ),
            }
        }
    });
}

// A token file that breaks is told while the stream that was opened with it goes on.
#[test]
fn a_client_looks_at_its_files_while_nobody_calls() {
    paused(async {
        let world = World::new();
        let file = world.folder.path().join("token");
        std::fs::write(&file, "alice-token").unwrap();
        let flags = ConnectionFlags {
            queue_token_file: Some(file.clone()),
            ..ConnectionFlags::default()
        };
        let (metrics, tasks) = (Metrics::new(), Tasks::new());
        let security = flags.security(&world.bench.clock);
        let _client = world
            .anonymous()
            .secured(security.shown_in(&metrics).watched_by(&tasks));
        let failures = || metrics.value("failover_tls_reload_failures_total", &[("use", "eviction queue token")]);
        assert_eq!(failures(), Some(0.0));
        std::fs::write(&file, "no token").unwrap();
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert_eq!(failures(), Some(1.0));
        tasks.shutdown().cancel();
        tasks.ended().await;
    });
}

// Health and reflection say nothing of what is queued, and probes have no credentials.
#[test]
fn health_needs_no_right() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q").await;
        let channel = world.channel().await;
        let request = tonic_health::pb::HealthCheckRequest {
            service: "karmada.failover.evictionqueue.v1.QueueInspection".into(),
        };
        let mut health = tonic_health::pb::health_client::HealthClient::new(channel);
        let answer = health.check(request).await.unwrap().into_inner();
        assert_eq!(
            answer.status(),
            tonic_health::pb::health_check_response::ServingStatus::Serving
        );
        assert_eq!(world.reviews(), (0, 0));
    });
}
