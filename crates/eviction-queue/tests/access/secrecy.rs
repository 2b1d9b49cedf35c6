//! Tokens of callers are told nowhere, whether they are good, bad or torn.

use controller_kit::Clock;
use controller_kit::telemetry::{Recording, ask_every_time};
use eviction_queue_api::ConnectionFlags;
use test_bench::paused;

use crate::calls::Call;
use crate::tokens::World;

const PLANTED: [&str; 3] = ["planted-good", "planted-unknown", "planted-torn"];

#[test]
fn no_token_of_a_caller_is_told() {
    ask_every_time();
    paused(async {
        let world = World::new();
        world.give("planted-good", "alice");
        let log = Recording::start("trace", &world.bench.clock).unwrap();
        let queue = world.queue("q").await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        for token in [PLANTED[0], PLANTED[1], "planted-torn\u{1}in two"] {
            // The file's name may be told, so it is not the token.
            std::fs::write(&file, token).unwrap();
            let flags = ConnectionFlags {
                queue_token_file: Some(file.clone()),
                ..ConnectionFlags::default()
            };
            let client = world.anonymous().secured(flags.security(&Clock::system()));
            for call in Call::ALL {
                // Let in or refused: here only what is said of it counts.
                if let Err(status) = call.make(&client).await {
                    for planted in PLANTED {
                        assert!(!format!("{status:?}").contains(planted), "{status:?}");
                    }
                }
            }
        }
        let events = world.bench.plane().list("v1", "Event").into_iter();
        let leases = world.bench.plane().list("coordination.k8s.io/v1", "Lease").into_iter();
        let mut told = log.lines();
        assert!(told.iter().any(|line| line.contains("a call is refused")), "{told:#?}");
        told.push(queue.metrics().render());
        told.extend(events.chain(leases).map(|object| object.to_string()));
        for line in told {
            for planted in PLANTED {
                assert!(!line.contains(planted), "{line}");
            }
        }
    });
}
