//! Suites test a server from outside. The author writes the format in [`mod@file`] with the expectations in
//! [`expect`]. [`run`] runs the cases in order, [`report`] prints the results, and [`record`] writes a suite from a
//! session. [`clients`] says what known clients do with the questions.

pub mod clients;
pub mod expect;
pub mod file;
pub mod observe;
mod player;
pub mod record;
pub mod report;
pub mod run;
pub mod server;
