//! Parameters without a feature of their own, lists in pages, and how long a result may be kept.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::messages::messages;

messages! {
    /// The parameters of a request that asks for nothing in particular (`ping`, `roots/list`,
    /// `server/discover`).
    #[derive(Default, Deserialize)]
    struct RequestParams {
        meta;
    }

    /// The parameters of a notification that says everything by its name.
    #[derive(Default, Deserialize)]
    struct NotificationParams {
        meta;
    }

    /// The parameters of a request for a list.
    #[derive(Default, Deserialize)]
    struct PaginatedParams {
        /// Where the page before ended, as its `nextCursor` said; absent for the first page.
        cursor?: String;
        meta;
    }

    /// A result that only says the request succeeded.
    #[derive(Default, Deserialize)]
    struct EmptyResult {
        meta;
    }
}

/// The caches that may keep a result (2026-07-28, server/utilities/caching).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anyone on the way, for anyone.
    Public,
    /// Only the client, for the principal it asked for.
    Private,
}

impl RequestParams {
    /// Whether nothing is said, so that the parameters may be left out.
    pub fn is_empty(&self) -> bool {
        self.meta.is_none()
    }
}

impl NotificationParams {
    /// Whether nothing is said, so that the parameters may be left out.
    pub fn is_empty(&self) -> bool {
        self.meta.is_none()
    }
}

impl PaginatedParams {
    /// Whether nothing is said, so that the parameters may be left out.
    pub fn is_empty(&self) -> bool {
        self.cursor.is_none() && self.meta.is_none()
    }
}
