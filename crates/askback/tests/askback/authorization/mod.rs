//! Authorization, on both sides.

#[cfg(feature = "oauth-client")]
mod client;
#[cfg(feature = "oauth-server")]
mod server;
