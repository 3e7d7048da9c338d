//! The `askback` command: opens any MCP server, and puts what it asks before a person.
//!
//! How a person is asked is [`askback_host`]; `session` joins that to a server, and each module of `commands` to what was
//! typed.
//!
//! Numbers and lengths come from servers, so arithmetic says what becomes of the largest: it saturates.

#![warn(clippy::arithmetic_side_effects)]
// Only `main` leaves the crate: `pub` in a module means what the rest of the command may use.
#![allow(unreachable_pub)]

mod app;
mod args;
mod client_error;
mod commands;
mod credentials;
mod environment;
mod error;
mod failure;
mod files;
mod json_schema;
mod known_clients;
mod listed;
mod locate;
mod lookup;
mod misplaced;
mod missing;
mod models;
mod name;
mod older;
mod opener;
mod own_files;
mod parked;
mod permissions;
mod private_file;
mod probe_args;
mod receipts;
mod repl;
mod role;
mod seconds;
mod secret;
mod servers;
mod session;
mod sign_in;
mod size;
mod stderr;
mod suite;
mod target;
mod trust;
mod typed;
mod wire;

pub use app::main;
