//! The `askback` command: connects to any MCP server, and shows its questions to the user.
//!
//! [`askback_host`] asks the user. `session` connects it to a server, and `commands` has a module for each command.
//!
//! Servers send numbers and lengths, so arithmetic must not overflow: it saturates.

#![warn(clippy::arithmetic_side_effects)]
// The crate exports only `main`. `pub` in a module means that other modules of the crate may use the item.
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
mod suite;
mod target;
mod trust;
mod typed;
mod wire;

pub use app::main;
