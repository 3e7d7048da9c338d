//! The full terminal: shows a whole form at once, below the scrollback.
//!
//! [`Screen`] holds the state and handles keys, without a terminal. [`Full`] connects it to one.

mod choices;
mod editor;
mod form;
mod frame;
mod heading;
mod home;
mod key;
mod leaf;
mod question;
mod reading;
mod region;
mod screen;
mod suggested;
mod under_way;

pub use frame::{Cell, Frame, Row};
pub use key::Key;
pub use leaf::Full;
pub(crate) use leaf::leave;
pub use screen::{Screen, Size};
