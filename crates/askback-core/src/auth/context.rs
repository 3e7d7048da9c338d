//! Identifies the credentials with which requests are sent, for caching.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

/// The authorization context of requests: a number that grows with each sign-in, sign-out and
/// change of credentials. Renewing a token does not change it. Clones share it.
///
/// A client reads the number before it looks into its cache, and again when the response arrives.
/// Numbers are never reused, so if both are equal, the request was sent in that context.
#[derive(Debug, Clone, Default)]
pub struct AuthorizationContext(Arc<AtomicU64>);

impl AuthorizationContext {
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Begins the next context. Call it while neither the old nor the new credentials can be read.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
