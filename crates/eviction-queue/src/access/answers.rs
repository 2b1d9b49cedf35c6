//! What was answered about tokens a moment ago: bounded, and forgotten in time.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::caller::Caller;
use super::decision::Refusal;

/// How long a yes counts: the longest time for which a right that was taken away still works.
pub(super) const YES_COUNTS_FOR: Duration = Duration::from_secs(60);

/// How long a no counts: a right that was just given works after that.
pub(super) const NO_COUNTS_FOR: Duration = Duration::from_secs(5);

/// Answers kept at most.
const MOST: usize = 4_096;

/// A token, as a keyed hash, and the verb.
pub(super) type Question = ([u8; 32], &'static str);

/// A yes with who it is, or a no.
pub(super) type Answer = Result<Caller, Refusal>;

/// The answers that still count.
#[derive(Debug, Default)]
pub(super) struct Answers {
    known: BTreeMap<Question, (Answer, Instant)>,
}

impl Answers {
    /// The answer, if it still counts.
    pub fn get(&self, question: &Question, now: Instant) -> Option<Answer> {
        let (answer, until) = self.known.get(question)?;
        (now < *until).then(|| answer.clone())
    }

    /// Keeps an answer that was asked for at `asked`. What was not answered is not kept.
    pub fn put(&mut self, question: Question, answer: Answer, asked: Instant) {
        let counts_for = match &answer {
            Ok(_) => YES_COUNTS_FOR,
            Err(Refusal::CannotAsk { .. }) => return,
            Err(_) => NO_COUNTS_FOR,
        };
        if self.known.len() >= MOST && !self.known.contains_key(&question) {
            self.make_room(asked);
        }
        self.known.insert(question, (answer, asked + counts_for));
    }

    /// What ends first goes first, so that a flood of wrong tokens does not push out the right ones.
    fn make_room(&mut self, now: Instant) {
        self.known.retain(|_, (_, until)| now < *until);
        if self.known.len() < MOST {
            return;
        }
        let first = self.known.iter().min_by_key(|(_, (_, until))| *until);
        if let Some(question) = first.map(|(question, _)| *question) {
            self.known.remove(&question);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::caller::KnownBy;

    fn question(n: usize) -> Question {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&(n as u64).to_be_bytes());
        (hash, "get")
    }

    fn yes() -> Answer {
        Ok(Caller::new("u", KnownBy::Token))
    }

    fn no() -> Answer {
        Err(Refusal::InvalidToken { why: String::new() })
    }

    #[tokio::test(start_paused = true)]
    async fn answers_count_for_their_time() {
        let (mut answers, start) = (Answers::default(), Instant::now());
        answers.put(question(1), yes(), start);
        answers.put(question(2), no(), start);
        answers.put(question(3), Err(Refusal::CannotAsk { why: String::new() }), start);
        let just_before = |time: Duration| start + time - Duration::from_millis(1);
        assert_eq!(answers.get(&question(1), just_before(YES_COUNTS_FOR)), Some(yes()));
        assert_eq!(answers.get(&question(1), start + YES_COUNTS_FOR), None);
        assert_eq!(answers.get(&question(2), just_before(NO_COUNTS_FOR)), Some(no()));
        assert_eq!(answers.get(&question(2), start + NO_COUNTS_FOR), None);
        assert_eq!(answers.get(&question(3), start), None);
        assert_eq!(answers.get(&(question(1).0, "list"), start), None, "another verb");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_wrong_tokens_pushes_out_no_right_one() {
        let (mut answers, start) = (Answers::default(), Instant::now());
        answers.put(question(0), yes(), start);
        for n in 1..=MOST + 100 {
            answers.put(question(n), no(), start);
        }
        assert_eq!(answers.known.len(), MOST);
        assert_eq!(answers.get(&question(0), start), Some(yes()));
        assert_eq!(answers.get(&question(MOST + 100), start), Some(no()));
    }
}
