//! How two sides come to know each other.

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
        /// The newest revision the client speaks.
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
        /// How to use the server, for the model.
        instructions?: String = "lenient::scalar";
        meta = "meta::lenient";
    }

    /// The result of `server/discover` (from 2026-07-28 on).
    #[derive(Default, Deserialize)]
    struct DiscoverResult {
        /// The revisions the server speaks without a handshake.
        supported_versions: Vec<String>;
        /// The server's capabilities.
        #[serde(default, deserialize_with = "lenient::or_default")]
        capabilities: ServerCapabilities;
        /// How to use the server, for the model.
        instructions?: String = "lenient::scalar";
        /// For how long this may be kept, in milliseconds.
        ttl_ms?: i64 = "lenient::scalar";
        /// The caches that may keep it.
        cache_scope?: CacheScope = "lenient::scalar";
        meta = "meta::lenient";
    }

    /// The data of [`UNSUPPORTED_VERSION`](super::codes::UNSUPPORTED_VERSION).
    #[derive(Eq, Default, Deserialize)]
    struct UnsupportedVersion {
        /// The revision the request spoke.
        requested: String;
        /// The revisions the server speaks.
        supported: Vec<String>;
    }

    /// The data of [`MISSING_CAPABILITY`](super::codes::MISSING_CAPABILITY).
    #[derive(Default, Deserialize)]
    struct MissingCapability {
        /// The capabilities that the client would have to declare.
        required_capabilities: ClientCapabilities;
    }
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
