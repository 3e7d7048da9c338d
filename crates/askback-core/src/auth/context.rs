//! As whom requests are sent, for what is kept of their results.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

/// The authorization context in which requests are sent, as a number that grows with each sign-in,
/// sign-out and other set of credentials, and stays where a token is only renewed. Clones share it.
///
/// A client reads it before it looks into its cache, and again when the response is there: numbers
/// never come back, so if both are equal, that is what the request was sent in.
#[derive(Debug, Clone, Default)]
pub struct AuthorizationContext(Arc<AtomicU64>);

impl AuthorizationContext {
    /// The number of the current context.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Begins the next context. To be called while nobody can read the credentials, neither the old
    /// nor the new ones.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
