//! Handshakes that go on: when there are too many, the oldest gives way, so that callers that never finish theirs do not
//! keep out those that do.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Handshakes that go on.
#[derive(Debug)]
pub(super) struct Handshakes {
    most: usize,
    begun: Mutex<Begun>,
}

#[derive(Debug, Default)]
struct Begun {
    next: u64,
    going_on: BTreeMap<u64, CancellationToken>,
}

/// One of them. It is over when this is dropped.
#[derive(Debug)]
pub(super) struct Handshake {
    id: u64,
    gives_way: CancellationToken,
    all: Arc<Handshakes>,
}

impl Handshakes {
    pub fn new(most: usize) -> Arc<Self> {
        let begun = Mutex::default();
        Arc::new(Self { most, begun })
    }

    /// Begins one; the oldest gives way if there are as many as may be.
    pub fn begin(self: &Arc<Self>) -> Handshake {
        let mut begun = self.begun.lock();
        while begun.going_on.len() >= self.most {
            let Some((_, oldest)) = begun.going_on.pop_first() else {
                break;
            };
            oldest.cancel();
        }
        let (id, gives_way) = (begun.next, CancellationToken::new());
        begun.next += 1;
        begun.going_on.insert(id, gives_way.clone());
        let all = self.clone();
        Handshake { id, gives_way, all }
    }
}

impl Handshake {
    /// Returns when this one has to give way to a newer one.
    pub async fn gives_way(&self) {
        self.gives_way.cancelled().await;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.all.begun.lock().going_on.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_gives_way() {
        let all = Handshakes::new(2);
        let (first, second) = (all.begin(), all.begin());
        drop(all.begin());
        assert!(first.gives_way.is_cancelled() && !second.gives_way.is_cancelled());
        let third = all.begin();
        assert!(!second.gives_way.is_cancelled(), "one had ended by itself");
        drop((first, second, third));
        assert!(all.begun.lock().going_on.is_empty());
    }
}
