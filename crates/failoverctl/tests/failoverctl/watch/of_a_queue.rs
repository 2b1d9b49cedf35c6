//! A watch of a real queue in process.

use super::*;

async fn watching(world: &World, args: &[&str]) -> Result<Answer, Failure> {
    world.renew();
    let cli = Cli::try_parse_from([&["failoverctl", "queue", "watch"], args].concat()).unwrap();
    let control_plane = ControlPlane::new(world.sandbox.client_named("failoverctl"), "karmada-system");
    answer(&cli, &control_plane, &world.around).await
}

fn withdraw(entry: &v1::PublishedEntry) -> v1::PublishRequest {
    let withdrawal = v1::Withdrawal {
        key: entry.key.clone(),
        reason: v1::WithdrawReason::Tolerated.into(),
    };
    v1::PublishRequest {
        message: Some(v1::publish_request::Message::Withdrawals(v1::Withdrawals {
            withdrawals: vec![withdrawal],
        })),
    }
}

/// Standard output and error without the times, which the test does not choose.
fn words(text: &str) -> String {
    text.lines()
        .map(|line| {
            line.strip_prefix("2026-01-31T")
                .and_then(|line| line.get(11..))
                .unwrap_or(line)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_until_ctrl_c() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let entry = world.entry();
        let published = world.publish(vec![entry.clone()]).await;
        let script = async {
            world.console.wait_for("Ctrl-C ends").await;
            published.send(withdraw(&entry)).unwrap();
            world.console.wait_for("tolerates").await;
            world.console.interrupt();
        };
        let (ended, ()) = tokio::join!(watching(&world, &["--list-first"]), script);
        assert_eq!(ended.unwrap().status, ExitStatus::Fine);
        assert_snapshot!(words(&world.console.out()), @r"
        default/nginx-deployment  member1  present   due since 2026-01-31T11:59:00Z: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
        default/nginx-deployment  member1  left      the workload tolerates the cause now
        ");
        assert_snapshot!(world.console.notes(), @r"
        watching the eviction queue at memory:queue-1: 1 entry matches: 1 ready; Ctrl-C ends
        stopped watching; the queue goes on without a watcher
        ");
        queue.stop().await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_of_leader_is_survived() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let first = world.start_queue_as("queue-1").await;
        let kept = world.entry();
        let lost = v1::PublishedEntry {
            key: kept.key.clone().map(|key| v1::EntryKey {
                name: "lost".to_owned(),
                uid: "lost".to_owned(),
                ..key
            }),
            ..kept.clone()
        };
        let published = world.publish(vec![kept.clone(), lost]).await;
        let script = async {
            world.console.wait_for("Ctrl-C ends").await;
            drop(published);
            first.stop().await;
            world.console.wait_for("looking for its leader").await;
            let second = world.start_queue_as("queue-2").await;
            let published = world.publish(vec![kept.clone()]).await;
            world.console.wait_for("failoverctl history default/lost").await;
            published.send(withdraw(&kept)).unwrap();
            world.console.wait_for("tolerates").await;
            world.console.interrupt();
            second
        };
        let (ended, second) = tokio::join!(watching(&world, &["--timeout", "5m"]), script);
        assert_eq!(ended.unwrap().status, ExitStatus::Fine);
        let notes = world.console.notes();
        assert!(notes.contains("the eviction queue has a new leader at "), "{notes}");
        let told: Vec<String> = words(&world.console.out())
            .lines()
            .map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
            .collect();
        let both = ["default/lost member1 left", "default/nginx-deployment member1 left"];
        assert!(both.iter().all(|line| told.iter().any(|told| told == line)), "{told:?}");
        second.stop().await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_wait_after_a_change_of_leader_waits_for() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let first = world.start_queue_as("queue-1").await;
        let published = world.publish(vec![world.entry()]).await;
        let script = async {
            world.console.wait_for("Ctrl-C ends").await;
            drop(published);
            first.stop().await;
            world.console.wait_for("looking for its leader").await;
            let second = world.start_queue_as("queue-2").await;
            // The producer does not come back.
            world
                .console
                .wait_for("taintManager has not told the new leader yet")
                .await;
            world.console.interrupt();
            second
        };
        let (ended, second) = tokio::join!(watching(&world, &["--until-empty", "--timeout", "5m"]), script);
        assert_eq!(ended.unwrap_err().status(), ExitStatus::TimedOut);
        second.stop().await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_stays_away_is_given_up() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let failure = watching(&world, &[]).await.unwrap_err();
        assert_eq!(
            failure.status(),
            ExitStatus::Unreachable,
            "it was not there at the beginning: {failure}"
        );
        let queue = world.start_queue().await;
        let published = world.publish(vec![]).await;
        let script = async {
            world.console.wait_for("Ctrl-C ends").await;
            drop(published);
            queue.stop().await;
        };
        let (ended, ()) = tokio::join!(watching(&world, &["--timeout", "20s"]), script);
        let failure = ended.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Unreachable);
        let text = failure.to_string();
        assert!(
            text.starts_with("cannot go on watching the eviction queue: no leader of it was reached for 20s"),
            "{text}"
        );
        assert!(text.ends_with("to be more patient: --timeout"), "{text}");
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn until_it_is_empty() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let entry = world.entry();
        let published = world.publish(vec![entry.clone()]).await;
        let late = watching(&world, &["--until-empty", "--within", "1m"])
            .await
            .unwrap_err();
        assert_eq!(late.status(), ExitStatus::TimedOut);
        assert_snapshot!(late.to_string(), @r"
        the eviction queue did not become empty: entries that match were left after 1m
          next: see which and why: failoverctl queue list; or wait longer: --within
        ");
        // A script must not take an end by hand for an empty queue.
        world.console.interrupt();
        let stopped = watching(&world, &["--until-empty"]).await.unwrap_err();
        assert_eq!(stopped.status(), ExitStatus::TimedOut);
        assert_snapshot!(stopped.to_string(), @r"
        the eviction queue did not become empty: the watch was stopped before no entry matched any more
          next: see which and why: failoverctl queue list; or wait longer: --within
        ");
        let script = async {
            world
                .console
                .wait_for("nothing is released: 1 ready; no evictor is connected")
                .await;
            tokio::time::sleep(Duration::from_secs(30)).await;
            published.send(withdraw(&entry)).unwrap();
        };
        let (ended, ()) = tokio::join!(watching(&world, &["--until-empty"]), script);
        assert_eq!(ended.unwrap().status, ExitStatus::Fine);
        let notes = world.console.notes();
        assert!(
            notes.ends_with("no entry of the eviction queue matches any more\n"),
            "{notes}"
        );
        queue.stop().await;
    })
    .await
    .unwrap();
}

/// On a terminal of 40 columns how far it is stays in one line, which is written over again and again, and gone at the end.
#[tokio::test(start_paused = true)]
async fn progress_on_a_narrow_terminal() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let entry = world.entry();
        let mut another = entry.clone();
        another.key.as_mut().unwrap().uid = "uid-c".to_owned();
        another.key.as_mut().unwrap().name = "another-deployment".to_owned();
        let published = world.publish(vec![entry.clone(), another.clone()]).await;
        world.console.is_looked_at(40);
        let script = async {
            world.console.wait_for("2 entries left, ").await;
            let two = world.console.screen();
            published.send(withdraw(&another)).unwrap();
            world.console.wait_for("1 entry left, ").await;
            let one = world.console.screen();
            published.send(withdraw(&entry)).unwrap();
            (two, one)
        };
        let (ended, (two, one)) = tokio::join!(watching(&world, &["--until-empty"]), script);
        assert_eq!(ended.unwrap().status, ExitStatus::Fine);
        assert_eq!(two.last().unwrap(), "2 entries left, nothing is released:...");
        assert_eq!(one.last().unwrap(), "1 entry left, nothing is released: 1...");
        assert_eq!(one.len(), two.len(), "each update is a line of its own: {one:#?}");
        let stays = world.console.screen();
        let left: Vec<&String> = stays.iter().filter(|line| line.contains(" left, ")).collect();
        assert!(left.is_empty(), "{stays:#?}");
        queue.stop().await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn nobody_reads_any_more() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let _published = world.publish(vec![world.entry()]).await;
        world.console.reads_only(0);
        let ended = watching(&world, &["--list-first"]).await.unwrap();
        assert_eq!(ended.status, ExitStatus::Fine);
        assert_eq!(world.console.notes(), "", "it ends without a word");
        queue.stop().await;
    })
    .await
    .unwrap();
}

proptest::proptest! {
    /// Whatever a queue sends, what is known of one entry is what it said last, and nothing panics.
    #[test]
    fn any_steps_are_taken(order in proptest::collection::vec((0_u8..6, 0_u8..3), 0..60)) {
        let mut follow = Follow::new(&FilterArgs::default(), Beginning::WithWhatIsThere);
        for (revision, (what, which)) in order.into_iter().enumerate() {
            let revision = revision as u64;
            let name = format!("b{which}");
            match what {
                0 => { follow.step(changed(ready(&name), revision)); }
                1 => { follow.step(changed(waiting(&name), revision)); }
                2 => { follow.step(removed(ready(&name), v1::RemovedReason::Evicted, revision)); }
                3 => { follow.step(synced(&format!("t/{which}"), revision)); }
                4 => follow.broke(),
                _ => follow.begin_anew(),
            }
            proptest::prop_assert!(follow.matching().count() <= 3);
        }
    }
}
