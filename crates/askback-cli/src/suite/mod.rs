//! Suites: how a server is tested from outside.
//!
//! [`mod@file`] is what an author writes, [`expect`] what a case asks of its outcome, [`run`] does the
//! cases one after the other, and [`report`] says what came of them. [`record`] writes
//! such a file from a session.

pub mod expect;
pub mod file;
pub mod observe;
mod player;
pub mod record;
pub mod report;
pub mod run;
pub mod server;
