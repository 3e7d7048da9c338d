//! The subcommands, each in a file of its own.

pub mod auth;
pub mod call;
pub mod demo;
pub mod inspect;
pub mod open;
pub mod prompt;
mod protect;
pub mod serve;

use crate::{error::Error, session::Answers, terminal::out};

/// Returns the front end of a command that is not a conversation: the named file, else a person if
/// there is one.
fn answers(file: Option<&std::path::Path>) -> Result<Answers, Error> {
    Ok(match file {
        Some(file) => Answers::Script(crate::script::Script::load(file)?),
        None if out::is_attended() => Answers::Person,
        None => Answers::Nobody,
    })
}

/// An error for whoever asked for a name that the server does not have, with those it has.
fn unknown<'a>(error: Error, names: impl Iterator<Item = &'a str>) -> Error {
    let names: Vec<_> = names.collect();
    match names.is_empty() {
        true => error.hint("The server has none."),
        false => error
            .quoting(names.join(", "))
            .hint("Those are what the server has."),
    }
}
