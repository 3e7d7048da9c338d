//! The servers of configuration files, as the clients of the field write them.
//!
//! A [`Document`] is what a file says of its servers, in the members of an `mcp.json`, whichever
//! client the file is of. Texts in it name variables; [`Values`] puts values in their place.
//! [`add_to_json`] adds servers to a file that is there.

mod client;
mod document;
mod edit;
mod entry;
mod entry_text;
mod expand;
mod input;
mod name;
mod secrets;
mod terminal;

pub use client::{ConfigFile, Folders, Source, read, read_at};
pub use document::{Document, Layout, Unreadable, unused};
pub use edit::{add_to_json, anchor, write};
pub use entry::{EntryShape, HOLD, NotWrapped};
pub use entry_text::{Format, Malformed, at};
pub use expand::{Missing, Names, Values};
pub use name::{heading, unseen};
pub use secrets::{conceal, conceal_args, without_inputs};
