//! The server and the client for the official conformance suite.
//!
//! Both use only askback's public API. Names and texts are the suite's.

pub mod client;
pub mod server;
