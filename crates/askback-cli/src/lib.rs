//! The `askback` command: opens any MCP server, and puts what it asks before a person.
//!
//! [`model`] is pure: questions, and how far the person is with them. [`terminal`] and [`script`]
//! are leaves over it that know nothing of each other. [`relay`] joins the model to the client,
//! [`session`] all of them to a server.
//!
//! Numbers and lengths come from servers, so arithmetic says what becomes of the largest: it
//! saturates.

#![warn(clippy::arithmetic_side_effects)]

pub mod app;
pub mod args;
pub mod commands;
pub mod content;
pub mod credentials;
pub mod environment;
pub mod error;
pub mod folder;
pub mod locate;
pub mod lookup;
pub mod model;
pub mod private_file;
pub mod relay;
pub mod repl;
pub mod script;
pub mod session;
pub mod settings_file;
pub mod sign_in;
pub mod target;
pub mod terminal;
pub mod text;
pub mod trust;
pub mod unattended;
