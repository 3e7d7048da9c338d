//! Arguments of tools and prompts that are missing, for which a person is asked.

use std::collections::BTreeMap;

use askback::client::Client;
use askback_core::{
    forms::FormSchema,
    limits::Limits,
    protocol::{Prompt, PromptArgument, Reference, Tool},
};
use askback_host::{
    command::{self, Typed},
    host::{Host, Input, WantedLine},
    model::{Ask, Call, Question, Reply},
    page::Style,
    words,
};
use serde_json::{Map, Value};

use crate::{
    error::{Error, Kind},
    session::failed,
};

/// Has the person fill in the required arguments of a tool that are not given, and the optional ones
/// beside them; with `asks_all`, every argument, with the values given as presets. None if the person
/// cancels.
///
/// # Errors
///
/// A usage error that names what is missing, where the tool's schema is no form.
pub async fn for_tool(
    host: &mut Host,
    tool: &Tool,
    schema: &Value,
    given: Map<String, Value>,
    asks_all: bool,
) -> Result<Option<Map<String, Value>>, Error> {
    let limits = Limits::default();
    let required = schema["required"].as_array().into_iter().flatten();
    let missing: Vec<_> = required
        .filter_map(Value::as_str)
        .filter(|name| !given.contains_key(*name))
        .collect();
    match FormSchema::parse(tool.input_schema.as_str().as_bytes(), &limits.forms) {
        Ok(mut form) if !form.fields.is_empty() && (asks_all || !missing.is_empty()) => {
            // What was given is not asked again.
            form.fields
                .retain(|field| asks_all || !given.contains_key(&field.name));
            let mut arguments = match asks_all {
                true => Map::new(),
                false => given.clone(),
            };
            let question = Question {
                call: Some(Call::Tool(tool.name.clone())),
                key: None,
                ask: Ask::Arguments {
                    schema: form,
                    preset: given,
                },
            };
            let filled = host.fill(question).await;
            Ok(filled.and_then(|reply| match reply {
                Reply::Form(content) => {
                    arguments.extend(content);
                    Some(arguments)
                }
                _ => None,
            }))
        }
        Err(_) if !missing.is_empty() => {
            let missing: Vec<_> = missing.iter().map(|name| format!("{name}:=…")).collect();
            Err(Error::usage("the tool needs more arguments: add these").quoting(missing.join(" ")))
        }
        _ => Ok(Some(given)),
    }
}

/// Asks the person for the arguments of a prompt that are not given, one after the other. None if the
/// person cancels.
///
/// # Errors
///
/// Fails where the server does, which may be asked for suggestions.
pub async fn for_prompt(
    client: &Client,
    host: &mut Host,
    prompt: &Prompt,
    mut given: BTreeMap<String, String>,
) -> Result<Option<BTreeMap<String, String>>, Error> {
    for argument in prompt.arguments.iter().flatten() {
        if given.contains_key(&argument.name) {
            continue;
        }
        let asked = PromptQuestion { prompt, argument };
        match asked.ask(client, host, &given).await? {
            Some(value) if value.is_empty() => {}
            Some(value) => {
                given.insert(argument.name.clone(), value);
            }
            None => return Ok(None),
        }
    }
    Ok(Some(given))
}

/// The end of a run in which the person cancelled the question for arguments.
pub fn cancelled() -> Error {
    Error::new(
        Kind::Refused,
        "arguments are missing, and the question for them was cancelled",
    )
}

/// An argument of a prompt that is asked for.
struct PromptQuestion<'a> {
    prompt: &'a Prompt,
    argument: &'a PromptArgument,
}

impl PromptQuestion<'_> {
    /// Asks for the argument: empty if it is left out, none if the person goes away.
    async fn ask(
        &self,
        client: &Client,
        host: &mut Host,
        given: &BTreeMap<String, String>,
    ) -> Result<Option<String>, Error> {
        let argument = self.argument;
        let required = argument.required == Some(true);
        let page = host.page();
        page.blank();
        page.quote_line("", argument.title.as_ref().unwrap_or(&argument.name));
        if let Some(description) = &argument.description {
            page.quote(description);
        }
        loop {
            let leave = if required { "required" } else { "Enter skips" };
            let suggests = match client.capabilities().completions {
                Some(_) => " · /suggest ab lists what begins with ab",
                None => "",
            };
            let hint = words!("{}{} · /cancel", leave, suggests);
            host.page().say(Style::Dim, hint);
            let line = match host.read(&WantedLine::Text).await {
                Input::Line(line) => line,
                Input::End | Input::Interrupt => return Ok(None),
            };
            let issue = match command::typed(&line) {
                Typed::Command("cancel", _) => return Ok(None),
                Typed::Command("suggest", start) if !suggests.is_empty() => {
                    self.suggest(client, host, start, given).await?;
                    continue;
                }
                Typed::Command(..) => "there is no such command here; // begins a text with /",
                Typed::Text(text) if text.trim().is_empty() && required => "must be given",
                Typed::Text(text) => return Ok(Some(text.trim().to_owned())),
            };
            host.page().item("× ", Style::Warning, issue);
        }
    }

    /// Lists what the server suggests for the argument if it begins with `start`.
    async fn suggest(
        &self,
        client: &Client,
        host: &mut Host,
        start: &str,
        given: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let reference = Reference::prompt(self.prompt.name.clone());
        let asked = (self.argument.name.as_str(), start);
        let completing = client.complete(reference, asked, given.clone());
        let suggested = host.attend(completing).await?.map_err(failed)?;
        let page = host.page();
        for value in &suggested.values {
            page.quote_line("  ", value);
        }
        match (suggested.values.is_empty(), suggested.has_more) {
            (true, _) => page.note(Style::Dim, "the server suggests nothing"),
            (false, Some(true)) => page.note(Style::Dim, "and more"),
            _ => {}
        }
        Ok(())
    }
}
