//! The messages that open a connection.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CacheScope, ClientCapabilities, Implementation, ServerCapabilities, codes, lenient,
    messages::messages, meta,
};
use crate::jsonrpc::ErrorObject;

messages! {
    /// The parameters of `initialize` (handshake revisions).
    #[derive(Default, Deserialize)]
    struct InitializeParams {
        /// The newest revision that the client supports.
        protocol_version: String;
        /// The client's capabilities.
        capabilities: ClientCapabilities;
        /// The client.
        client_info: Implementation;
        meta;
    }

    /// The result of `initialize` (handshake revisions).
    #[derive(Default, Deserialize)]
    struct InitializeResult {
        /// The revision of the session.
        protocol_version: String;
        /// The server's capabilities.
        #[serde(default, deserialize_with = "lenient::or_default")]
        capabilities: ServerCapabilities;
        /// The server.
        #[serde(default, deserialize_with = "lenient::or_default")]
        server_info: Implementation;
        /// Instructions for a model.
        instructions?: String = "lenient::scalar";
        meta = "meta::lenient";
    }

    /// The result of `server/discover` (from 2026-07-28 on).
    #[derive(Default, Deserialize)]
    struct DiscoverResult {
        /// The supported revisions without a handshake.
        supported_versions: Vec<String>;
        /// The server's capabilities.
        #[serde(default, deserialize_with = "lenient::or_default")]
        capabilities: ServerCapabilities;
        /// Instructions for a model.
        instructions?: String = "lenient::scalar";
        /// How long this may be cached, in milliseconds.
        ttl_ms?: i64 = "lenient::scalar";
        /// The caches that may store it.
        cache_scope?: CacheScope = "lenient::scalar";
        meta = "meta::lenient";
    }

    /// The data of [`UNSUPPORTED_VERSION`](super::codes::UNSUPPORTED_VERSION).
    #[derive(Eq, Default, Deserialize)]
    struct UnsupportedVersion {
        /// The revision of the request.
        requested: String;
        /// The revisions that the server supports.
        supported: Vec<String>;
    }

    /// The data of [`MISSING_CAPABILITY`](super::codes::MISSING_CAPABILITY).
    #[derive(Default, Deserialize)]
    struct MissingCapability {
        /// The capabilities that the client must declare.
        required_capabilities: ClientCapabilities;
    }
}

impl UnsupportedVersion {
    /// Makes the error for a request in an unsupported revision.
    #[must_use]
    pub fn into_error(self) -> ErrorObject {
        let why = "Unsupported protocol version";
        ErrorObject::new(codes::UNSUPPORTED_VERSION, why).with_data(data(&self))
    }
}

impl MissingCapability {
    /// Makes the error for a request that needs more capabilities than declared, with this reason.
    #[must_use]
    pub fn into_error(self, why: impl Into<String>) -> ErrorObject {
        ErrorObject::new(codes::MISSING_CAPABILITY, why).with_data(data(&self))
    }
}

fn data<T: Serialize>(data: &T) -> Value {
    // Serializing fails only for maps whose keys are not strings; there are none.
    serde_json::to_value(data).unwrap_or_default()
}
