//! Servers in the configuration files of MCP clients.
//!
//! A [`Document`] has the entries of a file, converted to the keys of `mcp.json`, for every client.
//! Values may contain variables, which [`fill`] replaces.

mod client;
mod document;
mod entry;
mod entry_text;
mod expand;
mod name;
mod secrets;

pub use client::{ConfigFile, Folders, Source, read, read_at, write};
pub use document::{Document, Unreadable, unused};
pub use entry::{EntryShape, HOLD, NotWrapped};
pub use entry_text::{Format, at};
pub use expand::{Missing, Names, fill};
pub use name::{heading, unseen};
pub use secrets::{conceal_args, conceal_url};
