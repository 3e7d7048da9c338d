//! Questions over a socket: a program without a terminal asks through its user's front ends.
//!
//! A [`Board`] is the asking side. It listens on a socket that only its user can open, and
//! [answers](askback::bridge::Answers) with the first reply of any front end. [`join`] is the side
//! of a front end: each board becomes a server of its [`Host`](crate::host::Host). The reasons are
//! in `docs/design/attach.md`.

mod board;
mod connection;
mod folder;
mod front_end;
mod line;
mod listener;
mod printing;

pub use crate::ending::FrontEndKind;
pub use board::Notice;
pub use folder::PageLock;
pub use front_end::{JoinOptions, join};
pub use listener::{Board, BoardOptions};
