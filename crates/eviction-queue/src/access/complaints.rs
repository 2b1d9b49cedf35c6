//! Who has been complained about lately: a client that is refused again and again is one line a minute.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Others wait until there is room: a flood from many places does not fill the log either.
const MOST: usize = 64;

/// What was said when.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    said: Mutex<BTreeMap<(&'static str, String), Instant>>,
}

impl Complaints {
    /// Whether it is time to say this of them; if so, it counts as said.
    pub fn is_due(&self, what: &'static str, who: &str) -> bool {
        let now = Instant::now();
        let mut said = self.said.lock();
        said.retain(|_, at| now.duration_since(*at) < AGAIN_AFTER);
        let key = (what, who.to_owned());
        if said.contains_key(&key) || said.len() >= MOST {
            return false;
        }
        said.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_once_a_minute_and_not_too_many() {
        let complaints = Complaints::default();
        assert!(complaints.is_due("a", "x") && complaints.is_due("a", "y") && complaints.is_due("b", "x"));
        assert!(!complaints.is_due("a", "x"));
        tokio::time::sleep(AGAIN_AFTER).await;
        let said = (0..2 * MOST).filter(|n| complaints.is_due("a", &n.to_string())).count();
        assert_eq!(said, MOST);
    }
}
