//! Authorization.

#[cfg(feature = "authorization-server")]
mod server;
