//! The `askback` command.

pub mod args;
pub mod content;
pub mod error;
pub mod folder;
pub mod model;
pub mod relay;
pub mod script;
pub mod target;
pub mod terminal;
pub mod text;
pub mod unattended;
