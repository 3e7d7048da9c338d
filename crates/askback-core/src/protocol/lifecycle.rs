//! How two sides come to know each other.

use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CacheScope, ClientCapabilities, Implementation, Meta, ServerCapabilities, codes, lenient,
    meta::{self, has_meta},
};
use crate::jsonrpc::ErrorObject;

/// The parameters of `initialize` (handshake revisions).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The newest revision the client speaks.
    pub protocol_version: String,
    /// The client's capabilities.
    pub capabilities: ClientCapabilities,
    /// The client.
    pub client_info: Implementation,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The result of `initialize` (handshake revisions).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The revision of the session.
    pub protocol_version: String,
    /// The server's capabilities.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub capabilities: ServerCapabilities,
    /// The server.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub server_info: Implementation,
    /// How to use the server, for the model.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub instructions: Option<String>,
    /// The `_meta`.
    #[serde(
        default,
        rename = "_meta",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "meta::lenient"
    )]
    pub meta: Option<Box<Meta>>,
}

/// The result of `server/discover` (from 2026-07-28 on).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// The revisions the server speaks without a handshake.
    pub supported_versions: Vec<String>,
    /// The server's capabilities.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub capabilities: ServerCapabilities,
    /// How to use the server, for the model.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub instructions: Option<String>,
    /// For how long this may be kept, in milliseconds.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub ttl_ms: Option<i64>,
    /// The caches that may keep it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta`; it names the server.
    #[serde(
        default,
        rename = "_meta",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "meta::lenient"
    )]
    pub meta: Option<Box<Meta>>,
}

/// The data of [`UNSUPPORTED_VERSION`](super::codes::UNSUPPORTED_VERSION).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnsupportedVersion {
    /// The revision the request spoke.
    pub requested: String,
    /// The revisions the server speaks.
    pub supported: Vec<String>,
}

/// The data of [`MISSING_CAPABILITY`](super::codes::MISSING_CAPABILITY).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingCapability {
    /// The capabilities that the client would have to declare.
    pub required_capabilities: ClientCapabilities,
}

impl UnsupportedVersion {
    /// The error of a request in a revision that is not spoken.
    #[must_use]
    pub fn into_error(self) -> ErrorObject {
        let why = "Unsupported protocol version";
        ErrorObject::new(codes::UNSUPPORTED_VERSION, why).with_data(data(&self))
    }
}

impl MissingCapability {
    /// The error of a request that needs more of the client than it declared, with the reason.
    #[must_use]
    pub fn into_error(self, why: impl Into<String>) -> ErrorObject {
        ErrorObject::new(codes::MISSING_CAPABILITY, why).with_data(data(&self))
    }
}

fn data<T: Serialize>(data: &T) -> Value {
    // Writing fails only for maps whose keys are not strings, and neither has one.
    serde_json::to_value(data).unwrap_or_default()
}

has_meta! {
    InitializeParams, InitializeResult, DiscoverResult,
}
