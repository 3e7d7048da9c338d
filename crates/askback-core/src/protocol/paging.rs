//! Common parameters, lists in pages, and cache hints.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::messages::messages;

messages! {
    /// The parameters of a request without specific parameters (`ping`, `roots/list`,
    /// `server/discover`).
    #[derive(Default, Deserialize)]
    struct RequestParams {
        meta;
    }

    /// The parameters of a notification without specific parameters.
    #[derive(Default, Deserialize)]
    struct NotificationParams {
        meta;
    }

    /// The parameters of a request for a list.
    #[derive(Default, Deserialize)]
    struct PaginatedParams {
        /// The `nextCursor` of the previous page; absent for the first page.
        cursor?: String;
        meta;
    }

    /// The result of a request that returns nothing.
    #[derive(Default, Deserialize)]
    struct EmptyResult {
        meta;
    }
}

/// The caches that may store a result (2026-07-28, server/utilities/caching).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Any intermediary, for any client.
    Public,
    /// Only the client, for the same principal.
    Private,
}

impl RequestParams {
    /// Whether the parameters are empty and may be left out.
    pub fn is_empty(&self) -> bool {
        self.meta.is_none()
    }
}

impl NotificationParams {
    /// Whether the parameters are empty and may be left out.
    pub fn is_empty(&self) -> bool {
        self.meta.is_none()
    }
}

impl PaginatedParams {
    /// Whether the parameters are empty and may be left out.
    pub fn is_empty(&self) -> bool {
        self.cursor.is_none() && self.meta.is_none()
    }
}
