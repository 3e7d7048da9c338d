//! The subcommands, each in a file of its own.

pub mod auth;
pub mod call;
pub mod demo;
pub mod inspect;
pub mod open;
pub mod prompt;
mod protect;
pub mod serve;

use std::io::{self, IsTerminal, Write};

use serde_json::value::RawValue;

use crate::{error::Error, session::Answers, text};

/// Who answers in a command that is not a conversation: the file that was named, else a person if
/// there is one.
fn answers(file: Option<&std::path::Path>) -> Result<Answers, Error> {
    Ok(match file {
        Some(file) => Answers::Script(crate::script::Script::load(file)?),
        None if io::stdin().is_terminal() && io::stderr().is_terminal() => Answers::Person,
        None => Answers::Nobody,
    })
}

/// Writes a result to the standard output, which holds nothing else.
pub(crate) fn print(words: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(words.as_bytes())
        .and_then(|()| stdout.write_all(b"\n"));
    match written.and_then(|()| stdout.flush()) {
        // Whoever read it has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::usage(format!(
            "the result cannot be written: {error}"
        ))),
        Ok(()) => Ok(()),
    }
}

/// Writes text of a server to the standard output: what would act on a terminal is made visible.
pub(crate) fn print_text(words: &str) -> Result<(), Error> {
    print(&text::lines(words).join("\n"))
}

/// Writes a result as it was received. On a terminal, what would act on it is escaped, which JSON
/// reads as the same.
fn print_json(json: &RawValue) -> Result<(), Error> {
    match io::stdout().is_terminal() {
        true => print(&text::json(json.get())),
        false => print(json.get()),
    }
}

/// The names there are of some kind, for whoever asked for another.
fn known<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(text::line).collect();
    match names.is_empty() {
        true => format!("The server has no {what}."),
        false => format!("The {what} are {}.", names.join(", ")),
    }
}
