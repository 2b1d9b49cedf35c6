//! The webhook from its Pod: the API server is told of it by the chart, asks it, and does what it says.

use std::time::Duration;

use anyhow::ensure;
use e2e_harness::{ControlPlane, eventually};

use super::by_the_book::ByTheBook;
use crate::judged;
use crate::kubectl::Kubectl;

/// An API server may go on for a moment without a configuration that it has.
const ASKED_WITHIN: Duration = Duration::from_secs(30);

/// Tells the API server of it, as the page says, and sees that one policy is refused, and another warned of.
pub async fn is_asked(control_plane: &ControlPlane, book: &ByTheBook, port: u16) -> anyhow::Result<()> {
    book.call_webhook(&format!("https://127.0.0.1:{port}"))?;
    let kubectl = Kubectl::of(control_plane)?;
    let denied = format!("denied the request: {}: ", judged::SELECTOR_ELSEWHERE);
    let bad = judged::selects_elsewhere("elsewhere").to_string();
    eventually("the API server to ask the webhook", ASKED_WITHIN, async || {
        let refusal = kubectl.refusal(&bad).map_err(|error| error.to_string())?;
        match refusal {
            Some(why) if why.contains(&denied) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await?;
    let tried = kubectl.tried(&judged::tolerates_everything("everything").to_string())?;
    let warning = format!("Warning: {}: ", judged::TOLERATES_EVERYTHING);
    ensure!(
        tried.is_taken && tried.said.contains(&warning),
        "taken: {}, and it says: {}",
        tried.is_taken,
        tried.said
    );
    Ok(())
}
