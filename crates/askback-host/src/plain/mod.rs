//! The plain front end: questions as lines of text.

pub mod catalog;
mod dialog;
mod leaf;
mod lines;
mod unseen;

pub(crate) use unseen::leave;

pub use dialog::Dialog;
pub use leaf::Plain;
pub use lines::forget_early;
