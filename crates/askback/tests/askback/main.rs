//! The tests of `askback`, in one binary.

mod asking;
mod authorization;
#[cfg(debug_assertions)]
mod blocking;
mod bridge;
mod changing;
mod claims;
mod client;
mod commits;
#[cfg(all(feature = "http-server", feature = "macros", feature = "sqlite"))]
mod deaths;
mod errors;
mod extension;
mod extensions;
#[cfg(all(feature = "http-server", feature = "macros", feature = "sqlite"))]
mod fleet;
#[cfg(all(feature = "http-server", feature = "macros", feature = "sqlite"))]
mod fleet_attacks;
#[cfg(feature = "http-server")]
mod http;
#[cfg(all(feature = "http-server", feature = "macros", feature = "sqlite"))]
mod journal;
#[cfg(feature = "http-server")]
mod keeping;
mod keys;
mod lifecycle;
mod lines;
mod log;
#[cfg(feature = "macros")]
mod macros;
mod middleware;
#[cfg(feature = "http-server")]
mod mirrored;
mod mounted;
mod nested;
mod observability;
mod offered;
#[cfg(all(feature = "http-server", unix))]
mod once;
#[cfg(feature = "http-server")]
mod principal;
mod proof;
mod resources;
#[cfg(all(feature = "http-client", feature = "http-server"))]
mod returned;
mod running;
#[cfg(feature = "schemars")]
mod schemas;
#[cfg(feature = "skills")]
mod skills;
mod stopping;
mod store;
mod tasks;
mod testing;
#[cfg(all(feature = "sqlite", unix))]
mod transaction;
mod transport;
#[cfg(feature = "witness")]
mod witness;
#[cfg(feature = "http-server")]
mod wrapped;
