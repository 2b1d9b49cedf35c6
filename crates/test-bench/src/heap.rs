//! What a process on the bench holds on the heap.
//!
//! The bench lies on the same heap, and what it keeps (objects, who wrote what, evidence for the rules) grows while time
//! passes. So what a process holds is what its end gives back; a memory leak in the narrow sense, which nothing gives
//! back, is not seen here.

use std::alloc::System;
use std::time::Duration;

use cap::Cap;
use controller_kit::Running;

/// A heap that is counted: the global allocator of a test program that asks for it. What is counted is all that the
/// program holds, so there should be one test in it.
pub type Heap = Cap<System>;

/// A heap without a limit.
#[must_use]
pub const fn heap() -> Heap {
    Cap::new(System, usize::MAX)
}

/// Ends the process, suddenly, and tells how many bytes it held.
pub async fn held_to_its_end(heap: &Heap, process: Running) -> usize {
    let before = heap.allocated();
    process.crash();
    process.ended().await;
    drop(process);
    // The server's end of its watches goes a moment later.
    tokio::time::sleep(Duration::from_millis(10)).await;
    before.saturating_sub(heap.allocated())
}

/// Fails when `later` is more than two per cent above `earlier`.
///
/// # Panics
/// That is what it is for.
pub fn assert_flat(what: &str, earlier: usize, later: usize) {
    assert!(
        later <= earlier + earlier / 50,
        "{what} held {earlier} bytes at first, and later {later}"
    );
}
