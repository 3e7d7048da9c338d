//! The caching hints of a server.

use std::time::Duration;

use askback_core::protocol::CacheScope;

/// The caching hints for clients (2026-07-28, server/utilities/caching).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cache {
    pub(super) ttl: Duration,
    pub(super) scope: CacheScope,
}
