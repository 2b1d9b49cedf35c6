//! Who is at the other end: where words go, and whether somebody can be asked.

use std::fmt::Debug;
use std::io::{BufRead, IsTerminal, Write};
use std::os::fd::AsFd;
use std::pin::Pin;

use crate::invoked::{NAME, as_typed};

/// The reader of standard output left, as in `failoverctl queue watch | head`: it has seen enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderGone;

/// Whether a person sits at a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    /// It is a terminal.
    There,
    /// It is a file, a pipe or nothing.
    Absent,
}

impl Person {
    fn at(stream: &impl IsTerminal) -> Self {
        if stream.is_terminal() {
            Self::There
        } else {
            Self::Absent
        }
    }
}

/// Columns of the terminal at a stream; nothing where it is none, or does not say.
pub fn columns_of(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Where words go that cannot wait until a command has ended, and where answers come from.
pub trait Console: Debug + Send + Sync {
    /// To standard output: what was asked for.
    ///
    /// # Errors
    /// Nobody reads it any more.
    fn print(&self, text: &str) -> Result<(), ReaderGone>;

    /// To standard error: what is said beside the answer. Who does not read it misses it.
    fn note(&self, text: &str);

    /// Whether notes are read as they come.
    fn reads_notes(&self) -> Person;

    /// Columns of the terminal on which notes are read; nothing where it is none, or does not say.
    fn columns(&self) -> Option<usize>;

    /// Whether somebody can be asked.
    fn can_be_asked(&self) -> Person;

    /// A line of standard input; empty when there is none.
    fn read_line(&self) -> String;

    /// Ends when the person wants to stop (Ctrl-C).
    fn interrupted(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The standard streams of the process.
#[derive(Clone, Copy, Debug)]
pub struct Standard {
    /// How the program is typed: what is said names it so.
    pub typed: &'static str,
}

impl Default for Standard {
    fn default() -> Self {
        Self { typed: NAME }
    }
}

impl Console for Standard {
    fn print(&self, text: &str) -> Result<(), ReaderGone> {
        let text = as_typed(text, self.typed);
        let mut out = std::io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(|_| ReaderGone)
    }

    fn note(&self, text: &str) {
        let text = as_typed(text, self.typed);
        let mut err = std::io::stderr().lock();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }

    fn reads_notes(&self) -> Person {
        Person::at(&std::io::stderr())
    }

    fn columns(&self) -> Option<usize> {
        columns_of(&std::io::stderr())
    }

    fn can_be_asked(&self) -> Person {
        match Person::at(&std::io::stdin()) {
            Person::There => self.reads_notes(),
            Person::Absent => Person::Absent,
        }
    }

    fn read_line(&self) -> String {
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(_) => line,
            Err(_) => String::new(),
        }
    }

    fn interrupted(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async {
            // Without a handler Ctrl-C ends the process by itself.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
