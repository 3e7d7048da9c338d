//! Authorization over HTTP: who asks, and what they may do
//! (2026-07-28, basic/authorization).

#[cfg(feature = "oauth-client")]
pub mod client;
#[cfg(feature = "oauth-server")]
pub mod server;

pub use askback_core::auth::{BadScopes, Scopes};
#[cfg(feature = "oauth-client")]
pub use askback_oauth::Secret;
