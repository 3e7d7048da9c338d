//! Finds a server's tools and prompts by name.

use askback::protocol::{Prompt, Tool};
use askback_host::{text::given, words};

use crate::error::Error;

pub fn tool<'a>(tools: &'a [Tool], name: &str) -> Result<&'a Tool, Error> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names = tools.iter().map(|tool| tool.name.as_str());
        no_tool(name, names)
    })
}

pub fn no_tool<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Error {
    let error = Error::usage(words!("there is no tool `{}`", given(name)));
    unknown(error, names)
}

pub fn prompt<'a>(prompts: &'a [Prompt], name: &str) -> Result<&'a Prompt, Error> {
    prompts
        .iter()
        .find(|prompt| prompt.name == name)
        .ok_or_else(|| {
            let names = prompts.iter().map(|prompt| prompt.name.as_str());
            unknown(
                Error::usage(words!("there is no prompt `{}`", given(name))),
                names,
            )
        })
}

fn unknown<'a>(error: Error, names: impl Iterator<Item = &'a str>) -> Error {
    let names: Vec<_> = names.collect();
    match names.is_empty() {
        true => error.hint("The server lists none that can be used."),
        false => error
            .quoting(names.join(", "))
            .hint("The server has these."),
    }
}
