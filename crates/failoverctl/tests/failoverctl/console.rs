//! A console that remembers what it was told, and answers as the test wants.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use failoverctl::console::{Console, Person, ReaderGone};
use tokio::sync::Notify;

/// What was said, and who is there.
#[derive(Debug, Default)]
pub struct Recorded {
    out: Mutex<String>,
    notes: Mutex<String>,
    /// What the person types; nothing: nobody is there.
    answer: Mutex<Option<String>>,
    /// Notes are read on a terminal of so many columns; nothing: nobody is there.
    columns: Mutex<Option<usize>>,
    /// After so many lines nobody reads any more.
    reads: Mutex<Option<usize>>,
    /// Something was said.
    said: Notify,
    stop: Arc<Notify>,
}

impl Recorded {
    /// What went to standard output.
    pub fn out(&self) -> String {
        self.out.lock().unwrap().clone()
    }

    /// What went to standard error.
    pub fn notes(&self) -> String {
        self.notes.lock().unwrap().clone()
    }

    /// Somebody sits there and answers questions so.
    pub fn will_answer(&self, answer: &str) {
        *self.answer.lock().unwrap() = Some(answer.to_owned());
    }

    /// Somebody reads the notes on a terminal of so many columns.
    pub fn is_looked_at(&self, columns: usize) {
        *self.columns.lock().unwrap() = Some(columns);
    }

    /// The lines that stand on that terminal, those that it has broken as they are.
    pub fn screen(&self) -> Vec<String> {
        let columns = self.columns.lock().unwrap().unwrap();
        let mut lines = vec![String::new()];
        let mut at = 0;
        const CLEAR_LINE: char = '\u{7f}';
        for letter in self.notes().replace("\x1b[K", &CLEAR_LINE.to_string()).chars() {
            let is_full = at == columns && !letter.is_control();
            if is_full || letter == '\n' {
                lines.push(String::new());
                at = 0;
            }
            let line = lines.last_mut().unwrap();
            match letter {
                '\n' => {}
                '\r' => at = 0,
                CLEAR_LINE => line.truncate(at),
                letter => {
                    line.truncate(at);
                    line.push(letter);
                    at += 1;
                }
            }
        }
        lines
    }

    /// The reader leaves after so many lines.
    pub fn reads_only(&self, lines: usize) {
        *self.reads.lock().unwrap() = Some(lines);
    }

    /// Presses Ctrl-C.
    pub fn interrupt(&self) {
        self.stop.notify_one();
    }

    /// Waits until this was said, to whichever stream.
    pub async fn wait_for(&self, words: &str) {
        loop {
            let said = self.said.notified();
            if self.out().contains(words) || self.notes().contains(words) {
                return;
            }
            said.await;
        }
    }
}

impl Console for Recorded {
    fn print(&self, text: &str) -> Result<(), ReaderGone> {
        let mut out = self.out.lock().unwrap();
        let reads = *self.reads.lock().unwrap();
        if reads.is_some_and(|lines| out.lines().count() >= lines) {
            return Err(ReaderGone);
        }
        out.push_str(text);
        self.said.notify_one();
        Ok(())
    }

    fn note(&self, text: &str) {
        self.notes.lock().unwrap().push_str(text);
        self.said.notify_one();
    }

    fn reads_notes(&self) -> Person {
        match self.columns() {
            Some(_) => Person::There,
            None => Person::Absent,
        }
    }

    fn columns(&self) -> Option<usize> {
        *self.columns.lock().unwrap()
    }

    fn can_be_asked(&self) -> Person {
        if self.answer.lock().unwrap().is_some() {
            Person::There
        } else {
            Person::Absent
        }
    }

    fn read_line(&self) -> String {
        self.answer.lock().unwrap().clone().unwrap_or_default()
    }

    fn interrupted(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let stop = Arc::clone(&self.stop);
        Box::pin(async move { stop.notified().await })
    }
}
