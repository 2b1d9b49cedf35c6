//! Live reads that several workers share.
//!
//! Guarantee: the answer was read after the question was asked. Whoever asks while a read of the same object is under
//! way shares the next one with all others that do.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Reads of one kind of object, shared by key.
#[derive(Debug)]
pub(crate) struct SharedReads<V> {
    turns: Mutex<BTreeMap<String, Arc<Turn<V>>>>,
}

#[derive(Debug)]
struct Turn<V> {
    asked: Mutex<u64>,
    last: tokio::sync::Mutex<Last<V>>,
}

#[derive(Debug)]
struct Last<V> {
    /// Questions up to this one were asked before the read began.
    answers: u64,
    value: Option<V>,
}

impl<V> Default for SharedReads<V> {
    fn default() -> Self {
        Self {
            turns: Mutex::default(),
        }
    }
}

impl<V: Clone> SharedReads<V> {
    /// The object of this key, read by `read` after this call began. Errors are not shared.
    pub async fn get<E, F>(&self, key: &str, read: impl FnOnce() -> F) -> Result<V, E>
    where
        F: Future<Output = Result<V, E>>,
    {
        let turn = self.turn(key);
        let mine = {
            let mut asked = turn.asked.lock();
            *asked += 1;
            *asked
        };
        let answer = Self::answer(&turn, mine, read).await;
        self.forget(key, &turn);
        answer
    }

    async fn answer<E, F>(turn: &Turn<V>, mine: u64, read: impl FnOnce() -> F) -> Result<V, E>
    where
        F: Future<Output = Result<V, E>>,
    {
        let mut last = turn.last.lock().await;
        if let Some(value) = last.value.as_ref().filter(|_| last.answers >= mine) {
            return Ok(value.clone());
        }
        let answers = *turn.asked.lock();
        let value = read().await?;
        *last = Last {
            answers,
            value: Some(value.clone()),
        };
        Ok(value)
    }

    fn turn(&self, key: &str) -> Arc<Turn<V>> {
        let fresh = || {
            Arc::new(Turn {
                asked: Mutex::new(0),
                last: tokio::sync::Mutex::new(Last {
                    answers: 0,
                    value: None,
                }),
            })
        };
        self.turns.lock().entry(key.to_owned()).or_insert_with(fresh).clone()
    }

    /// Keeps nothing of what nobody waits for.
    fn forget(&self, key: &str, turn: &Arc<Turn<V>>) {
        let mut turns = self.turns.lock();
        // The map's and the caller's.
        if Arc::strong_count(turn) <= 2 {
            turns.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn questions_during_a_read_share_the_next_one() {
        let reads = SharedReads::default();
        let count = Cell::new(0);
        let read = || async {
            count.set(count.get() + 1);
            let number = count.get();
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<u32, ()>(number)
        };
        let later = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            tokio::join!(reads.get("m1", read), reads.get("m1", read), reads.get("m2", read))
        };
        let (first, (second, third, other)) = tokio::join!(reads.get("m1", read), later);
        assert_eq!((first, second, third, other), (Ok(1), Ok(3), Ok(3), Ok(2)));
        assert_eq!(reads.get("m1", read).await, Ok(4), "an old answer is none");
        assert!(reads.turns.lock().is_empty(), "nothing is kept");
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_is_the_asker_s_own() {
        let reads = SharedReads::<u32>::default();
        let failing = reads.get("m1", || async { Err::<u32, &str>("broken") });
        let working = reads.get("m1", || async { Ok::<u32, &str>(1) });
        assert_eq!(tokio::join!(failing, working), (Err("broken"), Ok(1)));
    }
}
