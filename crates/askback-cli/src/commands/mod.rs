//! The subcommands, one per file.

pub mod answer;
pub mod call;
pub mod check;
pub mod demo;
pub mod get;
pub mod hook;
pub mod list;
pub mod new;
pub mod open;
pub mod receipts;
mod retry;
pub mod serve;
pub mod servers;
mod sign_ins;
pub mod test;
pub mod watch;
pub mod wrap;

use std::path::Path;

use askback_host::{
    page::out,
    script::Script,
    text::{Words, given},
    words,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{error::Error, session::Answers};

/// Returns the front end of a command without a conversation: the answers file, or else the user at the terminal, if
/// any.
fn answers(file: Option<&Path>) -> Result<Answers, Error> {
    Ok(match file {
        Some(file) => Answers::Script(script(file)?),
        None if out::is_attended() => Answers::Person,
        None => Answers::Nobody,
    })
}

fn script(file: &Path) -> Result<Script, Error> {
    Script::load(file)
        .map_err(|why| Error::usage(why).hint("`askback help answers` shows such a file."))
}

fn print_as_json(result: &impl Serialize) -> Result<(), Error> {
    Ok(out::print_json(&as_json(result)?)?)
}

fn as_json(result: &impl Serialize) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(result).map_err(|error| {
        // The result was read from JSON.
        Error::usage(given(error))
    })
}

fn note(words: impl Into<Words>) {
    let mut page = out::stderr_page();
    page.line(words!("askback: {}", words.into()));
    out::tell(&mut page);
}
