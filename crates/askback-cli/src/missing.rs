//! Asks the user for missing arguments of tools and prompts.

use std::collections::{BTreeMap, BTreeSet};

use askback::{
    BoxFuture, Limits,
    client::Client,
    forms::{Content, Field, FieldKind, FormSchema, TextField},
    internal::uri_template::UriTemplate,
    protocol::{Prompt, PromptArgument, Reference, Tool},
};
use askback_host::{
    host::Host,
    model::{Ask, Call, Question, Reply},
    suggest::Suggest,
};
use serde_json::{Map, Value};

use crate::{
    args,
    error::{Error, Kind},
    secret,
};

/// Asks for a tool's missing required arguments, together with the optional ones. With `asks_all`, asks for every
/// argument, with the given values as presets. Returns `None` if the user cancels.
pub async fn for_tool(
    host: &mut Host,
    tool: &Tool,
    schema: &Value,
    given: Map<String, Value>,
    asks_all: bool,
) -> Result<Option<Map<String, Value>>, Error> {
    let limits = Limits::default();
    let missing: Vec<_> = missing(schema, &given).collect();
    match FormSchema::parse_arguments(tool.input_schema.as_str().as_bytes(), &limits.forms) {
        Ok(mut form) if !form.fields.is_empty() && (asks_all || !missing.is_empty()) => {
            // Do not ask for given arguments again.
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
                    about: tool.description.clone(),
                    schema: form,
                    given: match asks_all {
                        true => Map::new(),
                        false => without_secrets(&given),
                    },
                    preset: given,
                    suggests: false,
                    is_destructive: is_destructive(tool),
                },
            };
            let filled = host.fill(question, None).await;
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

/// The arguments as they are shown.
pub fn without_secrets(given: &Map<String, Value>) -> Map<String, Value> {
    let shown = given.iter().map(|(name, value)| {
        let value = match secret::is_argument(name, value) {
            true => "(not shown)".into(),
            false => value.clone(),
        };
        (name.clone(), value)
    });
    shown.collect()
}

/// Whether a tool says that it may change or delete something. The protocol's default is ignored: most tools say
/// nothing.
fn is_destructive(tool: &Tool) -> bool {
    let hints = tool.annotations.as_ref();
    hints.is_some_and(|hints| {
        hints.destructive_hint == Some(true) && hints.read_only_hint != Some(true)
    })
}

fn missing<'a>(schema: &'a Value, given: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
    let required = schema["required"].as_array().into_iter().flatten();
    required
        .filter_map(Value::as_str)
        .filter(|name| !given.contains_key(*name))
}

/// Reports arguments that the tool's schema does not know, and missing ones if no user can be asked. The call is sent
/// anyway, because the server decides.
pub fn tell_unfit(host: &mut Host, schema: &Value, given: &Map<String, Value>) {
    if !host.is_person() {
        for name in missing(schema, given) {
            let words = "sent without the required argument ";
            host.page().quote_line(words, name);
        }
    }
    for name in args::unknown(given, schema) {
        let words = "sent with an argument that the tool's schema does not have ";
        host.page().quote_line(words, name);
    }
}

/// Reports arguments that the prompt does not have. They are sent anyway, because the server decides.
pub fn tell_unknown(host: &mut Host, prompt: &Prompt, given: &BTreeMap<String, String>) {
    let knows = |name: &str| {
        let mut known = prompt.arguments.iter().flatten();
        known.any(|argument| argument.name == name)
    };
    for name in given.keys().filter(|name| !knows(name)) {
        let words = "sent, though the prompt has no argument ";
        host.page().quote_line(words, name);
    }
}

/// Asks for a prompt's missing arguments, with the server's suggestions, if a required one is missing. With
/// `asks_all`, asks for every argument, with the given values as presets. Returns `None` if the user cancels.
pub async fn for_prompt(
    client: &Client,
    host: &mut Host,
    prompt: &Prompt,
    given: BTreeMap<String, String>,
    asks_all: bool,
) -> Option<BTreeMap<String, String>> {
    let arguments = prompt.arguments.iter().flatten();
    let is_needed = |argument: &PromptArgument| {
        argument.required == Some(true) && !given.contains_key(&argument.name)
    };
    if !asks_all && !arguments.clone().any(is_needed) {
        return Some(given);
    }
    let arguments = prompt.arguments.iter().flatten();
    let fields = arguments.map(|argument| Field {
        title: argument.title.clone(),
        description: argument.description.clone(),
        ..text(&argument.name, argument.required == Some(true))
    });
    let asked = MissingArguments {
        call: Call::Prompt(prompt.name.clone()),
        about: prompt.description.clone(),
        reference: Reference::prompt(prompt.name.clone()),
        fields: fields.collect(),
        is_preset: asks_all,
    };
    asked.fill(client, host, given).await
}

/// Asks for the variables of a URI template, with the server's suggestions. Any other URI is returned unchanged.
/// Returns the URI and the values, or `None` if the user cancels.
pub async fn for_uri(
    client: &Client,
    host: &mut Host,
    uri: &str,
) -> Option<(String, BTreeMap<String, String>)> {
    let template = UriTemplate::parse(uri);
    let Some(template) = template.filter(|template| template.variables().next().is_some()) else {
        return Some((uri.to_owned(), BTreeMap::new()));
    };
    let asked = MissingArguments {
        call: Call::Resource(uri.to_owned()),
        about: None,
        reference: Reference::resource(uri),
        fields: template
            .variables()
            .map(|name| text(name, template.requires(name)))
            .collect(),
        is_preset: false,
    };
    let filled = asked.fill(client, host, BTreeMap::new()).await?;
    Some((template.expand(&filled), filled))
}

pub fn cancelled() -> Error {
    Error::new(
        Kind::Refused,
        "arguments are missing, and the question for them was cancelled",
    )
}

struct MissingArguments {
    call: Call,
    about: Option<String>,
    reference: Reference,
    fields: Vec<Field>,
    /// Whether the given values are shown in the form, too.
    is_preset: bool,
}

impl MissingArguments {
    async fn fill(
        mut self,
        client: &Client,
        host: &mut Host,
        mut given: BTreeMap<String, String>,
    ) -> Option<BTreeMap<String, String>> {
        let mut preset = Content::new();
        if self.is_preset {
            let shown = given.iter();
            preset.extend(shown.map(|(name, text)| (name.clone(), text.as_str().into())));
            let has_field = |name: &String| self.fields.iter().any(|field| field.name == *name);
            given.retain(|name, _| !has_field(name));
        } else {
            self.fields.retain(|field| !given.contains_key(&field.name));
        }
        // A server may use the same name twice.
        let mut names = BTreeSet::new();
        self.fields.retain(|field| names.insert(field.name.clone()));
        if self.fields.is_empty() {
            return Some(given);
        }
        let schema = FormSchema {
            fields: self.fields,
            annotations: Map::new(),
        };
        let question = Question {
            call: Some(self.call),
            key: None,
            ask: Ask::Arguments {
                about: self.about,
                schema,
                preset,
                suggests: client.capabilities().completions.is_some(),
                given: Content::new(),
                is_destructive: false,
            },
        };
        let suggest = ServerSuggestions {
            client,
            reference: self.reference,
            given: given.clone(),
        };
        match host.fill(question, Some(&suggest)).await? {
            Reply::Form(content) => given.extend(texts(content)),
            _ => return None,
        }
        Some(given)
    }
}

struct ServerSuggestions<'a> {
    client: &'a Client,
    reference: Reference,
    given: BTreeMap<String, String>,
}

impl Suggest for ServerSuggestions<'_> {
    fn suggest(
        &self,
        name: String,
        text: String,
        others: Content,
    ) -> BoxFuture<'_, Option<(Vec<String>, bool)>> {
        let mut others: BTreeMap<_, _> = texts(others).collect();
        others.extend(self.given.clone());
        Box::pin(async move {
            let asked = (name.as_str(), text.as_str());
            let completing = self.client.complete(self.reference.clone(), asked, others);
            let found = completing.await.ok()?;
            Some((found.values, found.has_more == Some(true)))
        })
    }
}

fn text(name: &str, required: bool) -> Field {
    Field {
        name: name.to_owned(),
        title: None,
        description: None,
        required,
        kind: FieldKind::Text(TextField::default()),
        not_secret: false,
    }
}

fn texts(content: Content) -> impl Iterator<Item = (String, String)> {
    content.into_iter().map(|(name, value)| match value {
        Value::String(text) => (name, text),
        value => (name, value.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_given_secret_is_not_shown() {
        let given = json!({"password": "hush", "user": "ada", "at": {"api_key": "hush"}});
        let given = given.as_object().expect("an object");
        let shown = json!({"password": "(not shown)", "user": "ada", "at": "(not shown)"});
        assert_eq!(Value::Object(without_secrets(given)), shown);
    }
}
