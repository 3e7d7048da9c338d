//! A store and a transport that are not askback's own, written with its public interface alone: to
//! begin yours with.

mod frames;
mod rows;

pub use frames::{Frames, serve};
pub use rows::Rows;
