//! The work queue in a running process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use controller_kit::process::{Controller, Running};
use controller_kit::{Context, Ended, Next, ObjectKey, Scope, WorkQueue};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::world::{World, seconds_and_a_bit, settle, within_hours};

type Queue = WorkQueue<String>;

/// Runs a process whose one controller is a queue with that handler, and hands the queue out.
async fn with_queue<H, F>(world: &World, concurrency: usize, handler: H) -> (Running, Queue)
where
    H: Fn(String) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Next, String>> + Send + 'static,
{
    let (give, take) = tokio::sync::oneshot::channel();
    let controller = Controller::new("worker", move |ctx: Context| async move {
        let queue = Queue::new("test", &ctx);
        let _ = give.send(queue.clone());
        queue.run(&ctx, concurrency, handler).await;
        Ok(())
    });
    let running = world.start_alone("q", controller).await;
    (running, take.await.unwrap())
}

/// Notes key and time of each call.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<(String, Instant)>>>);

impl Calls {
    fn note(&self, key: &str) -> usize {
        let mut calls = self.0.lock();
        calls.push((key.to_owned(), Instant::now()));
        calls.iter().filter(|(seen, _)| seen == key).count()
    }

    fn times(&self, key: &str, since: Instant) -> Vec<Duration> {
        self.0
            .lock()
            .iter()
            .filter(|(seen, _)| seen == key)
            .map(|(_, at)| *at - since)
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_with_one_worker_and_not_forgotten_meanwhile() {
    within_hours(1, async {
        let world = World::new();
        let at_work: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let (calls, busy) = (Calls::default(), at_work.clone());
        let noted = calls.clone();
        let (running, queue) = with_queue(&world, 8, move |key| {
            let (calls, busy) = (noted.clone(), busy.clone());
            async move {
                calls.note(&key);
                *busy.lock().entry(key.clone()).or_default() += 1;
                assert_eq!(busy.lock()[&key], 1, "two workers on {key}");
                tokio::time::sleep(Duration::from_secs(2)).await;
                *busy.lock().get_mut(&key).unwrap() -= 1;
                Ok(Next::Done)
            }
        })
        .await;
        let start = Instant::now();
        for _ in 0..5 {
            queue.add("a".into());
            queue.add("b".into());
        }
        settle().await;
        // Added while a worker has them: once more after it.
        for _ in 0..5 {
            queue.add("a".into());
        }
        seconds_and_a_bit(60).await;
        let seconds = |key| {
            calls
                .times(key, start)
                .iter()
                .map(Duration::as_secs)
                .collect::<Vec<_>>()
        };
        assert_eq!((seconds("a"), seconds("b")), (vec![0, 2], vec![0]));
        assert_eq!((queue.len(), queue.delayed()), (0, 0));
        assert_eq!(running.has_ended(), None);
    })
    .await;
}

// Each member has its queue: the labels are bounded, and gauges go with the queue.
#[tokio::test(start_paused = true)]
async fn the_series_of_a_member_go_with_its_queue() {
    within_hours(1, async {
        let world = World::new();
        let tasks = controller_kit::Tasks::new();
        let ctx = Context::detached("test", world.sandbox.client(), world.clock.clone(), "a", &tasks);
        let queue = |member: &str| WorkQueue::<String>::for_member("execution", member, &ctx);
        let (one, two) = (queue("member1"), queue("member2"));
        one.add("key".to_owned());
        let depth = |member| {
            let labels = [("queue", "execution"), ("member", member)];
            ctx.metrics.value("failover_workqueue_depth", &labels)
        };
        assert_eq!((depth("member1"), depth("member2")), (Some(1.0), Some(0.0)));
        // It comes back before what was there before has quite gone.
        let again = queue("member1");
        drop(one);
        assert_eq!(depth("member1"), Some(0.0));
        drop((again, two));
        let text = ctx.metrics.render();
        assert!(!text.contains("member1") && !text.contains("member2"), "{text}");
        assert_eq!(controller_kit::metrics::complaints(&text), [""; 0]);
        tasks.abort();
    })
    .await;
}

// kube-rs/kube#1248, #1473: concurrency has a bound, and all of it is used.
#[tokio::test(start_paused = true)]
async fn five_thousand_keys_use_exactly_the_workers_there_are() {
    within_hours(1, async {
        let world = World::new();
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, highest) = (now.clone(), most.clone());
        let (running, queue) = with_queue(&world, 10, move |_| {
            let (now, most) = (counted.clone(), highest.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(Next::Done)
            }
        })
        .await;
        let start = Instant::now();
        for number in 0..5_000 {
            queue.add(format!("key{number}"));
        }
        while running
            .metrics()
            .value("failover_workqueue_tries_total", &[("result", "ok")])
            != Some(5_000.0)
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(most.load(Ordering::SeqCst), 10);
        let took = start.elapsed();
        assert!(took < Duration::from_millis(50_300), "{took:?}: workers stood idle");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn keys_that_become_due_together_use_all_workers() {
    within_hours(1, async {
        let world = World::new();
        let calls = Calls::default();
        let noted = calls.clone();
        let (_running, queue) = with_queue(&world, 5, move |key| {
            noted.note(&key);
            async {
                tokio::time::sleep(Duration::from_secs(10)).await;
                Ok(Next::Done)
            }
        })
        .await;
        settle().await;
        let start = Instant::now();
        for number in 0..10 {
            queue.add_at(
                format!("key{number}"),
                world.clock.now() + SignedDuration::from_secs(60),
            );
        }
        seconds_and_a_bit(100).await;
        let mut begun: Vec<u64> = (0..10)
            .flat_map(|number| calls.times(&format!("key{number}"), start))
            .map(|at| at.as_secs())
            .collect();
        begun.sort_unstable();
        assert_eq!(begun, [60, 60, 60, 60, 60, 70, 70, 70, 70, 70]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn delayed_adds_are_on_time_and_the_earliest_counts() {
    within_hours(3, async {
        let world = World::new();
        let calls = Calls::default();
        let noted = calls.clone();
        let (_running, queue) = with_queue(&world, 2, move |key| {
            noted.note(&key);
            async { Ok(Next::Done) }
        })
        .await;
        settle().await;
        let (start, now) = (Instant::now(), world.clock.now());
        queue.add_after("after".into(), Duration::from_secs(90));
        queue.add_after("after".into(), Duration::from_secs(30));
        queue.add_after("after".into(), Duration::from_secs(60));
        queue.add_at("at".into(), now + SignedDuration::from_secs(50));
        queue.add_at("at".into(), now + SignedDuration::from_secs(20));
        queue.add_at("past".into(), now - SignedDuration::from_secs(20));
        queue.add_after("dropped".into(), Duration::from_secs(5));
        queue.forget(&"dropped".into());
        queue.add_after("both".into(), Duration::from_secs(40));
        queue.add("both".into());
        seconds_and_a_bit(7_000).await;
        let seconds = |key| {
            calls
                .times(key, start)
                .iter()
                .map(Duration::as_secs)
                .collect::<Vec<_>>()
        };
        assert_eq!(seconds("after"), [30]);
        assert_eq!(seconds("at"), [20]);
        assert_eq!(seconds("past"), [0]);
        assert_eq!(seconds("dropped"), [] as [u64; 0]);
        assert_eq!(seconds("both"), [0, 40], "an add now leaves the later one in place");
    })
    .await;
}

// kubernetes#6193, #108844, #113081: what is due by the clock follows its jumps, what is due after a while does not.
#[tokio::test(start_paused = true)]
async fn jumps_of_the_clock_move_what_is_due_by_the_clock_only() {
    within_hours(30, async {
        let world = World::new();
        let calls = Calls::default();
        let noted = calls.clone();
        let (_running, queue) = with_queue(&world, 2, move |key| {
            noted.note(&key);
            async { Ok(Next::Done) }
        })
        .await;
        settle().await;
        let (start, now) = (Instant::now(), world.clock.now());
        queue.add_at("forward".into(), now + SignedDuration::from_hours(2));
        queue.add_at("back".into(), now + SignedDuration::from_hours(4));
        queue.add_after("elapsed".into(), Duration::from_secs(3 * 3_600));
        seconds_and_a_bit(60).await;
        world.clock.jump(SignedDuration::from_hours(3));
        seconds_and_a_bit(60).await;
        world.clock.jump(SignedDuration::from_hours(-10));
        seconds_and_a_bit(20 * 3_600).await;
        let minutes = |key| {
            calls
                .times(key, start)
                .iter()
                .map(|at| at.as_secs() / 60)
                .collect::<Vec<_>>()
        };
        assert_eq!(minutes("forward"), [1], "at once when the clock jumps over it");
        assert_eq!(minutes("back"), [(4 - 3 + 10) * 60], "later when the clock is set back");
        assert_eq!(minutes("elapsed"), [180]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_wants_next_happens() {
    within_hours(3, async {
        let world = World::new();
        let (calls, clock) = (Calls::default(), world.clock.clone());
        let noted = calls.clone();
        let (_running, queue) = with_queue(&world, 1, move |key| {
            let (count, clock) = (noted.note(&key), clock.clone());
            async move {
                Ok(match count {
                    1 => Next::After(Duration::from_secs(10)),
                    2 => Next::At(clock.now() + SignedDuration::from_secs(20)),
                    3 => Next::At(Timestamp::UNIX_EPOCH),
                    _ => Next::Done,
                })
            }
        })
        .await;
        settle().await;
        let start = Instant::now();
        queue.add("a".into());
        seconds_and_a_bit(1_000).await;
        let seconds: Vec<u64> = calls.times("a", start).iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [0, 10, 30, 30]);
    })
    .await;
}

// karmada#7487, #7493: waits double from a small start to a bound, and a success forgets them.
#[tokio::test(start_paused = true)]
async fn failures_wait_longer_each_time_up_to_a_bound() {
    within_hours(3, async {
        let world = World::new();
        let calls = Calls::default();
        let noted = calls.clone();
        let (running, queue) = with_queue(&world, 4, move |key| {
            let count = noted.note(&key);
            async move {
                if count == 20 {
                    Ok(Next::After(Duration::from_secs(3_000)))
                } else {
                    Err("no".to_owned())
                }
            }
        })
        .await;
        settle().await;
        let start = Instant::now();
        queue.add("a".into());
        seconds_and_a_bit(2 * 3_600).await;
        let times = calls.times("a", start);
        let waits: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
        assert!(waits.len() >= 21, "{waits:?}");
        for (failures, wait) in waits.iter().take(19).enumerate() {
            let plain = 0.1 * f64::from(1 << failures.min(20));
            let (low, high) = ((plain * 0.74).min(300.0 * 0.74), (plain * 1.27).min(300.1));
            assert!(
                (low..=high).contains(wait),
                "wait {failures}: {wait} not in {low}..{high}"
            );
        }
        assert!(
            (waits[20] - 0.1).abs() < 0.03,
            "after a success from the start: {}",
            waits[20]
        );
        let errors = running
            .metrics()
            .value("failover_workqueue_tries_total", &[("result", "error")])
            .unwrap();
        assert!(errors >= 21.0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_that_is_added_again_need_not_wait() {
    within_hours(1, async {
        let world = World::new();
        let calls = Calls::default();
        let noted = calls.clone();
        let (_running, queue) = with_queue(&world, 1, move |key| {
            let count = noted.note(&key);
            async move {
                if count < 12 {
                    Err("no".to_owned())
                } else {
                    Ok(Next::Done)
                }
            }
        })
        .await;
        settle().await;
        let start = Instant::now();
        queue.add("a".into());
        seconds_and_a_bit(60).await;
        let before = calls.times("a", start).len();
        queue.add("a".into());
        settle().await;
        assert_eq!(calls.times("a", start).len(), before + 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn stopping_finishes_what_has_begun_and_begins_nothing() {
    within_hours(1, async {
        let world = World::new();
        let (begun, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (began, ended) = (begun.clone(), done.clone());
        let (running, queue) = with_queue(&world, 2, move |_| {
            let (begun, done) = (began.clone(), ended.clone());
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(3)).await;
                done.fetch_add(1, Ordering::SeqCst);
                Ok(Next::Done)
            }
        })
        .await;
        for key in ["a", "b", "c", "d"] {
            queue.add(key.into());
        }
        seconds_and_a_bit(1).await;
        let asked = Instant::now();
        assert_eq!(running.stop().await, Ended::Stopped);
        assert!(asked.elapsed() < Duration::from_millis(2_100), "{:?}", asked.elapsed());
        assert_eq!((begun.load(Ordering::SeqCst), done.load(Ordering::SeqCst)), (2, 2));
        assert_eq!(queue.len(), 2);
    })
    .await;
}

// kube-rs/kube#318, #1247, #1265: three watches that name one object at start cost at most two looks at it, and the
// last event is never the one that is left out.
#[tokio::test(start_paused = true)]
async fn many_watches_on_one_object_cost_few_looks() {
    within_hours(1, async {
        let world = World::new();
        for name in ["a", "b", "c"] {
            world.put(name, "1");
        }
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = seen.clone();
        let controller = Controller::new("looker", move |ctx: Context| async move {
            let queue: WorkQueue<String> = WorkQueue::new("looks", &ctx);
            let informer = ctx.informers.of::<ConfigMap>();
            let store = informer.synced().await?;
            for scope in [Scope::all(), Scope::namespace("default"), Scope::all().labels("!none")] {
                let informer = ctx.informers.get::<ConfigMap>(scope, &());
                informer.synced().await?;
                // All of them are about one owner.
                queue.follow(&ctx, informer.changes(), |_| ["owner".to_owned()]);
            }
            queue
                .run(&ctx, 2, move |_| {
                    let value = store
                        .get(&ObjectKey::namespaced("default", "a"))
                        .map(|a| crate::world::value_of(&a));
                    noted.lock().push(value.unwrap_or_default());
                    async { Ok::<_, String>(Next::Done) }
                })
                .await;
            Ok(())
        });
        let _running = world.start_alone("l", controller).await;
        settle().await;
        assert!((1..=2).contains(&seen.lock().len()), "{:?}", seen.lock());
        seen.lock().clear();
        for value in ["2", "3", "4"] {
            world.put("a", value);
        }
        settle().await;
        assert!(seen.lock().len() <= 6, "{:?}", seen.lock());
        assert_eq!(seen.lock().last().map(String::as_str), Some("4"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_waits_and_another_identity_others() {
    async fn waits(identity: &'static str) -> Vec<Duration> {
        let world = World::new();
        let calls = Calls::default();
        let noted = calls.clone();
        let controller = Controller::new("worker", move |ctx: Context| async move {
            let queue = Queue::new("test", &ctx);
            queue.add("a".into());
            queue
                .run(&ctx, 1, move |key| {
                    noted.note(&key);
                    async { Err::<Next, _>("no") }
                })
                .await;
            Ok(())
        });
        let start = Instant::now();
        let _running = world.start_alone(identity, controller).await;
        seconds_and_a_bit(600).await;
        calls.times("a", start)
    }
    within_hours(1, async {
        let (one, again, other) = (waits("one").await, waits("one").await, waits("other").await);
        assert_eq!(one, again);
        assert_ne!(one, other);
    })
    .await;
}

/// The same promises with real threads, which paused time never has.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_real_threads_no_key_is_shared_and_none_is_lost() {
    let client = kube::Client::new(
        tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("not needed"))
        }),
        "default",
    );
    let tasks = controller_kit::Tasks::new();
    let ctx = Context::detached("worker", client, controller_kit::Clock::system(), "q", &tasks);
    let queue: WorkQueue<u64> = WorkQueue::new("threads", &ctx);
    let owed: Arc<Mutex<BTreeMap<u64, u64>>> = Arc::default();
    let at_work: Arc<Mutex<std::collections::BTreeSet<u64>>> = Arc::default();
    let (promised, busy) = (owed.clone(), at_work.clone());
    let (worked, runner) = (queue.clone(), ctx.clone());
    tasks.spawn("run", async move {
        worked
            .run(&runner, 8, move |key| {
                let (promised, busy) = (promised.clone(), busy.clone());
                async move {
                    assert!(busy.lock().insert(key), "two workers on {key}");
                    promised.lock().remove(&key);
                    tokio::task::yield_now().await;
                    busy.lock().remove(&key);
                    Ok::<_, String>(if key % 3 == 0 {
                        Next::After(Duration::from_millis(1))
                    } else {
                        Next::Done
                    })
                }
            })
            .await;
    });
    for adder in 0..4_u64 {
        let (queue, owed) = (queue.clone(), owed.clone());
        tasks.spawn(format!("adder {adder}"), async move {
            for number in 0..5_000_u64 {
                let key = (number * 7 + adder) % 50;
                owed.lock().insert(key, number);
                queue.add(key);
                if number % 16 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    let all_done = async {
        while tasks.running().iter().any(|name| name.starts_with("adder")) || !owed.lock().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        failure = tasks.failed() => panic!("{failure}"),
        done = tokio::time::timeout(Duration::from_secs(60), all_done) => done.expect("a key was lost"),
    }
    tasks.shutdown().cancel();
    tasks.abort();
}
