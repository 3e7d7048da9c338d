//! Authorization over HTTP (2026-07-28, basic/authorization).

#[cfg(feature = "oauth-client")]
pub mod client;
#[cfg(feature = "oauth-server")]
pub mod server;

pub use askback_core::auth::{BadScopes, Scopes};
#[cfg(feature = "oauth-client")]
pub use askback_oauth::Secret;
