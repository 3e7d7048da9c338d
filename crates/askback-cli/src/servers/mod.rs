//! The servers of configuration files, as the clients of the field write them.
//!
//! A [`Document`] is what a file says of its servers, in the members of an `mcp.json`, whichever
//! client the file is of. Texts in it name variables; [`Values`] puts values in their place.

mod document;
mod expand;
mod input;
mod terminal;

pub use document::{Document, Layout, Unreadable, unused};
pub use expand::{Missing, Names, Values};
pub use input::Input;
