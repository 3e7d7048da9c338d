//! Shows the questions of MCP servers to a user and returns the answers.
//!
//! [`model`] holds the state of the questions and does no I/O. [`host`] connects it to a client
//! (through [`relay`]) and to a front end. The front ends, such as [`full`], [`plain`] and
//! [`unattended`], are independent of each other. A peer's text is a [`text::PeerText`]. Only a
//! [`page`] or a row of the full screen can show it, behind a gutter.
//!
//! Numbers and lengths come from servers, so arithmetic must not overflow: it saturates.

#![warn(clippy::arithmetic_side_effects)]
#![expect(
    missing_docs,
    reason = "the items are for the command, and most names say what they are"
)]

mod arrivals;
#[cfg(unix)]
pub mod attach;
pub mod browser;
pub mod changed;
mod code;
pub mod command;
pub mod content;
pub mod diff;
pub mod ending;
pub mod folder;
pub mod full;
pub mod host;
pub mod leaf;
pub mod leaves;
pub mod model;
pub mod models;
pub mod page;
pub mod plain;
pub mod question;
mod question_link;
pub mod receipts;
pub mod relay;
pub mod remarks;
pub mod script;
mod server_id;
mod settling;
pub mod signals;
pub mod suggest;
pub mod tasks;
pub mod text;
pub mod text_file;
pub mod unattended;
pub mod view;
#[cfg(feature = "web")]
pub mod web;
pub mod wire;
pub mod yaml;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption;
