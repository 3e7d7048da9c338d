//! The `askback` command: opens any MCP server, and puts what it asks before a person.
//!
//! How a person is asked is [`askback_host`]; a [`session`] joins that to a server, and each of the
//! [`commands`] to what was typed.
//!
//! Numbers and lengths come from servers, so arithmetic says what becomes of the largest: it
//! saturates.

#![warn(clippy::arithmetic_side_effects)]

pub mod app;
pub mod args;
pub mod commands;
pub mod credentials;
pub mod environment;
pub mod error;
mod failure;
pub mod files;
pub mod headers;
mod json_schema;
pub mod listed;
pub mod locate;
pub mod lookup;
pub mod misplaced;
pub mod missing;
pub mod models;
pub mod name;
pub mod older;
pub mod opener;
pub mod own_files;
pub mod parked;
pub mod permissions;
pub mod private_file;
pub mod probe_args;
pub mod repl;
pub mod role;
pub mod seconds;
pub mod secret;
pub mod servers;
pub mod session;
pub mod sign_in;
pub mod size;
pub mod stderr;
mod substitute;
pub mod suite;
pub mod target;
pub mod told;
pub mod trust;
pub mod unreached;
pub mod variables;
pub mod wire;
