//! The programs that the official conformance suite of the protocol is run against: a server that
//! has what the suite looks for, and a client that does what it asks.
//!
//! Both use nothing but what askback offers everybody. The names and the words are the suite's.

pub mod client;
pub mod server;
