//! Free ports on loopback.
//!
//! Ports are taken below the range from which the system gives ports to outgoing connections: a server that is stopped
//! for a while finds its port free when it comes back. Nothing reserves a port between its choice and its use: who
//! starts a server on one tries another when the server ends at once.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::Error;

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;
/// How often a server is tried on another port when somebody was quicker.
pub(crate) const TRIES: usize = 5;
/// How many ports a test process may go through before it comes to the start of another process's.
const STRIDE: u32 = 97;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port of 127.0.0.1 on which nobody listens; each call in one process gives another one.
///
/// # Errors
/// [`Error::NoPort`] when none is free.
pub fn free() -> Result<u16, Error> {
    // Test processes that run side by side begin at different places.
    let start = process::id().wrapping_mul(STRIDE) % u32::from(COUNT);
    for _ in 0..COUNT {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let offset = u16::try_from((start + step) % u32::from(COUNT)).unwrap_or(0);
        let port = FIRST + offset;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::NoPort {
        first: FIRST,
        last: FIRST + COUNT - 1,
    })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    const SOON: Duration = Duration::from_secs(10);
    const PERIOD: Duration = Duration::from_millis(5);

    /// A process that another test starts just now holds the listener that [`free`] tried, until it becomes its program.
    async fn listener(port: u16) -> TcpListener {
        let mut waited = Duration::ZERO;
        loop {
            match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                Err(error) if error.kind() == ErrorKind::AddrInUse && waited < SOON => {
                    sleep(PERIOD).await;
                    waited += PERIOD;
                }
                bound => return bound.unwrap(),
            }
        }
    }

    #[tokio::test]
    async fn ports_differ_and_are_free() {
        let (one, other) = (free().unwrap(), free().unwrap());
        assert_ne!(one, other);
        for port in [one, other] {
            assert!((FIRST..FIRST + COUNT).contains(&port));
            listener(port).await;
        }
    }

    #[tokio::test]
    async fn a_port_in_use_is_passed_over() {
        let taken = free().unwrap();
        let _listener = listener(taken).await;
        let round: Vec<u16> = (0..50).map(|_| free().unwrap()).collect();
        assert!(!round.contains(&taken));
    }
}
