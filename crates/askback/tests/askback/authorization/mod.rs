//! Authorization, on both sides.

#[cfg(feature = "authorization-client")]
mod client;
#[cfg(feature = "authorization-server")]
mod server;
