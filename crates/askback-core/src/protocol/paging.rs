//! Parameters without a feature of their own, lists in pages, and how long a result may be kept.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use super::{Meta, meta::has_meta};

/// The parameters of a request that asks for nothing in particular (`ping`, `roots/list`,
/// `server/discover`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RequestParams {
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The parameters of a notification that says everything by its name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NotificationParams {
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The parameters of a request for a list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PaginatedParams {
    /// Where the page before ended, as its `nextCursor` said; absent for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// A result that only says the request succeeded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EmptyResult {
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
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

has_meta! {
    RequestParams, NotificationParams, PaginatedParams, EmptyResult,
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
