//! How a person is asked what a server asks: the questions, the front ends, and what joins them.
//!
//! [`model`] is pure: questions, and how far the person is with them. [`host`] is the pump: it joins
//! the model to a client, by way of [`relay`], and to a front end. [`full`], [`plain`] and [`unattended`]
//! are such, and know nothing of each other. What a peer writes is [`text::PeerText`], which a
//! [`page`] or a row of the full screen shows behind a gutter, and nothing else shows at all.
//!
//! Numbers and lengths come from servers, so arithmetic says what becomes of the largest: it
//! saturates.

#![warn(clippy::arithmetic_side_effects)]

mod arrivals;
#[cfg(unix)]
pub mod attach;
pub mod browser;
pub mod changed;
mod code;
pub mod command;
pub mod content;
pub mod diff;
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

/// The person stopped what was going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption;
