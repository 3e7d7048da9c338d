//! Looks at an MCP server from outside: why it cannot be used, and what it does wrong.
//!
//! Numbers and lengths come from servers, so arithmetic names what happens to the largest: it saturates.

#![warn(clippy::arithmetic_side_effects)]

pub mod check;
pub mod doctor;
mod json_schema;
pub mod probe;
mod program;

pub use program::{Program, ShownProgram};
