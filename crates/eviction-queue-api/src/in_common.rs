//! What the entries of a queue have in common, kept once: a fleet that fails has a hundred thousand of them, for the same
//! cause, of the same few clusters, namespaces and kinds.

use std::sync::Arc;

use controller_kit::Commons;
use failover_core::eviction::Cause;
use failover_core::eviction::cause::NoCause;

/// Texts and causes that many entries have in common.
#[derive(Debug, Default)]
pub struct InCommon {
    texts: Commons<str>,
    causes: Commons<Cause>,
}

impl InCommon {
    /// This text.
    pub fn text(&mut self, text: &str) -> Arc<str> {
        self.texts.text(text)
    }

    /// The cause of this identity.
    ///
    /// # Errors
    /// [`NoCause`].
    pub fn cause(&mut self, identity: &str) -> Result<Arc<Cause>, NoCause> {
        self.causes.try_get(identity, || identity.parse().map(Arc::new))
    }
}
