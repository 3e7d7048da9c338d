//! The plain front end: questions as lines of text.

pub mod catalog;
mod dialog;
mod leaf;
mod lines;
#[cfg(unix)]
mod unseen;
/// No other system turns the echo off.
#[cfg(not(unix))]
mod unseen {
    pub(super) fn hide() {}

    pub(super) fn show() {}

    pub(crate) fn leave() {}
}

pub(crate) use unseen::leave;

pub use dialog::Dialog;
pub use leaf::Plain;
pub use lines::forget_early;
