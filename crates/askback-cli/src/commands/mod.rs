//! The subcommands, each in a file of its own.

pub mod auth;
pub mod call;
pub mod demo;
pub mod inspect;
pub mod open;
pub mod prompt;
mod protect;
pub mod serve;

use askback_host::page::out;

use crate::{error::Error, session::Answers};

/// Returns the front end of a command that is not a conversation: the named file, else a person if
/// there is one.
fn answers(file: Option<&std::path::Path>) -> Result<Answers, Error> {
    Ok(match file {
        Some(file) => {
            Answers::Script(askback_host::script::Script::load(file).map_err(Error::usage)?)
        }
        None if out::is_attended() => Answers::Person,
        None => Answers::Nobody,
    })
}
