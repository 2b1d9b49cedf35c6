//! Time that passes only when nothing else is to be done.

use std::future::Future;
use std::time::Duration;

/// Runs a test on a runtime of one thread whose time is paused. Its log can be recorded
/// ([`controller_kit::telemetry::Recording`]).
///
/// # Panics
/// When the test is not done after ten simulated days: something waits for what never comes.
pub fn paused<T>(test: impl Future<Output = T>) -> T {
    controller_kit::telemetry::ask_every_time();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(864_000), test)
            .await
            .expect("the test is still not done after ten simulated days")
    })
}
