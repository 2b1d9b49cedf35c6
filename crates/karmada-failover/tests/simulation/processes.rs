//! The processes of the system, and who starts them again when they end.

use controller_kit::{Ended, Running};

use crate::common::World;

/// One place where a process runs.
pub struct Seat {
    controllers: &'static str,
    number: usize,
    generation: u32,
    running: Option<Running>,
}

impl Seat {
    /// Nothing runs yet.
    pub fn new(number: usize, controllers: &'static str) -> Self {
        Self {
            controllers,
            number,
            generation: 0,
            running: None,
        }
    }

    /// Starts the process, unless it runs. Every start has another identity.
    pub async fn start(&mut self, world: &World, flags: &[String]) {
        if self.running.is_some() {
            return;
        }
        self.generation += 1;
        let identity = format!("process{}-{}", self.number, self.generation);
        let controllers = format!("--controllers={}", self.controllers);
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain([controllers.as_str()]).collect();
        self.running = Some(world.run(&identity, &flags).await);
    }

    /// Ends it in order; a frozen one is killed, as systemd would.
    pub async fn stop(&mut self) -> Option<Ended> {
        let running = self.running.take()?;
        Some(running.stop().await)
    }

    /// Ends it without any order.
    pub fn crash(&mut self) {
        self.running = None;
    }

    /// Stops it where it is.
    pub fn freeze(&self) {
        self.running.iter().for_each(Running::freeze);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.running.iter().for_each(Running::thaw);
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.has_ended().is_none())
    }

    /// How it ended, if it did so by itself; the seat is empty then.
    pub fn ended_by_itself(&mut self) -> Option<Ended> {
        let ended = self.running.as_ref()?.has_ended()?;
        self.running = None;
        Some(ended)
    }
}
