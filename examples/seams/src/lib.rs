//! A store and a transport outside askback that only use its public API. Start your own with them.

mod frames;
mod rows;

pub use frames::{Frames, serve};
pub use rows::Rows;
