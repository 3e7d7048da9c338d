//! Completes a partial command line.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    time::Duration,
};

use askback::{
    BoxFuture,
    client::Client,
    protocol::{Reference, Tool},
};
use askback_host::{
    model::{Catalog, Conversation},
    relay::ServerId,
    suggest::{Complete, pause},
    text::acts_or_hides,
};
use clap::ArgAction;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    grammar,
    line::{self, quoted},
    servers::Addresses,
};
use crate::{role::Role, secret};

pub(super) struct Source {
    pub(super) addresses: Addresses,
    /// The connected servers, by name.
    pub(super) clients: BTreeMap<String, (ServerId, Client)>,
}

/// A partial command line, split into complete words and the word being typed.
struct LineStart<'a> {
    head: &'a str,
    words: Vec<String>,
    last: &'a str,
}

enum Continuation {
    Words(Vec<String>),
    Lines(Vec<String>),
    Values(Box<ValueRequest>),
}

struct ValueRequest {
    client: Client,
    reference: Reference,
    /// The name of the argument, and the start of its value.
    about: (String, String),
    others: BTreeMap<String, String>,
    /// Turns a value into the last word.
    word: Box<dyn Fn(String) -> String + Send + Sync>,
    /// Completions that do not come from the server.
    also: Vec<String>,
}

/// How long to wait for a server. After that, only the local completions are shown.
const PATIENCE: Duration = Duration::from_secs(3);

impl Complete for Source {
    fn complete(
        &self,
        talk: &Conversation,
        begun: &str,
    ) -> BoxFuture<'static, Option<(Vec<String>, bool)>> {
        let found = LineStart::read(begun)
            .and_then(|it| Some((it.head.to_owned(), self.look(talk, begun, &it)?)));
        Box::pin(async move {
            let (head, wanted) = found?;
            Some(match wanted {
                Continuation::Lines(lines) => (lines, false),
                Continuation::Words(words) => (lines(&head, words), false),
                Continuation::Values(asked) => {
                    pause().await;
                    let (mut words, has_more) = asked.ask().await;
                    words.extend(asked.also);
                    (lines(&head, words), has_more)
                }
            })
        })
    }
}

impl<'a> LineStart<'a> {
    /// Splits a partial line. Returns `None` if it is unclear which word is being typed.
    fn read(line: &'a str) -> Option<Self> {
        let (at, blank) = line.char_indices().rev().find(|(_, c)| c.is_whitespace())?;
        let (head, last) = line.split_at(at.saturating_add(blank.len_utf8()));
        let words = line::words(head);
        // The space may be inside a quote or JSON.
        let mut whole = words.clone();
        whole.extend((!last.is_empty()).then(|| last.to_owned()));
        (line::words(line) == whole).then_some(Self { head, words, last })
    }
}

impl Source {
    /// Finds how the last word may continue.
    fn look(&self, talk: &Conversation, line: &str, begun: &LineStart<'_>) -> Option<Continuation> {
        let (first, rest) = begun.words.split_first()?;
        let name = first.strip_prefix('/')?;
        let last = begun.last;
        let (mut command, mut given) = match grammar::find(name) {
            Some(command) => (command, rest.to_vec()),
            None => {
                let prompt = iter::once(name.to_owned());
                (
                    grammar::find("prompt")?,
                    prompt.chain(rest.iter().cloned()).collect(),
                )
            }
        };
        while let Some(action) = given.first().and_then(|word| command.find_subcommand(word)) {
            command = action;
            given.remove(0);
        }
        let actions = command.get_subcommands().filter(|_| given.is_empty());
        let mut found: Vec<_> = actions.map(|action| action.get_name().to_owned()).collect();
        let args: Vec<_> = command.get_positionals().collect();
        let many = args
            .last()
            .filter(|arg| matches!(arg.get_action(), ArgAction::Append));
        let arg = args.get(given.len()).or(many)?;
        let values = arg.get_possible_values().into_iter();
        found.extend(values.map(|value| value.get_name().to_owned()));
        match arg.get_id().as_str() {
            "tool" => return Some(offered(talk, line, first, "/call")),
            "uri" => return Some(offered(talk, line, first, "/read")),
            "arguments" => {
                let (of, given) = given.split_first()?;
                return match args.first()?.get_id().as_str() {
                    "prompt" => self.prompt(talk, of, given, last),
                    _ => self.argument(talk, of, given, last),
                };
            }
            "prompt" => found.extend(self.prompts(talk)),
            "server" => {
                found.extend(self.addresses.others.iter().cloned());
                found.push(self.addresses.home.clone());
            }
            "who" => found.extend(["me"].into_iter().chain(Role::words()).map(str::to_owned)),
            "command" => found.extend(grammar::names()),
            _ => {}
        }
        (!found.is_empty()).then(|| words(found, last))
    }

    fn prompts(&self, talk: &Conversation) -> Vec<String> {
        let servers = self.clients.iter();
        let catalogs =
            servers.filter_map(|(name, (id, _))| Some((name, talk.server(*id).catalog()?)));
        let prompts = catalogs.flat_map(|(server, catalog)| {
            let prompts = catalog.prompts.iter();
            prompts.filter_map(|prompt| self.addresses.write(server, &prompt.name))
        });
        prompts.collect()
    }

    /// The server of an address, its lists, and the name after the address.
    fn find<'t, 'n>(
        &self,
        talk: &'t Conversation,
        address: &'n str,
    ) -> Option<(&Client, &'t Catalog, &'n str)>
    where
        Self: 'n,
    {
        let (server, name) = self.addresses.read(address);
        let name = &address[address.len().saturating_sub(name.len())..];
        let (id, client) = self.clients.get(server)?;
        Some((client, talk.server(*id).catalog()?, name))
    }

    /// Completes a tool's arguments: their names, or the values of an argument that allows only a few.
    fn argument(
        &self,
        talk: &Conversation,
        tool: &str,
        given: &[String],
        last: &str,
    ) -> Option<Continuation> {
        let (_, catalog, name) = self.find(talk, tool)?;
        let tool = catalog.tools.iter().find(|tool| tool.name == name)?;
        let found = match last.split_once('=') {
            Some((name, _)) => values(tool, name)
                .into_iter()
                .map(|value| format!("{name}={value}"))
                .collect(),
            None => properties(tool)
                .into_iter()
                .filter(|name| !is_given(given, name))
                .map(|name| format!("{name}="))
                .collect::<Vec<_>>(),
        };
        Some(words(found, last))
    }

    /// Completes a prompt's arguments: their names, and the server's suggestions for the argument being typed or for
    /// the first one missing.
    fn prompt(
        &self,
        talk: &Conversation,
        prompt: &str,
        given: &[String],
        last: &str,
    ) -> Option<Continuation> {
        let (client, catalog, name) = self.find(talk, prompt)?;
        let prompt = catalog.prompts.iter().find(|prompt| prompt.name == name)?;
        let arguments = prompt.arguments.iter().flatten();
        let free: Vec<_> = arguments
            .map(|argument| argument.name.clone())
            .filter(|name| !is_given(given, name))
            .collect();
        let (argument, text) = match last.split_once('=') {
            Some((name, text)) => (name.to_owned(), text.to_owned()),
            None => (free.first()?.clone(), last.to_owned()),
        };
        let also: Vec<_> = match last.contains('=') {
            true => Vec::new(),
            false => {
                let names = free.iter().map(|name| format!("{name}="));
                names.filter(|name| name.starts_with(last)).collect()
            }
        };
        // Do not send a possible secret before the line is entered.
        if client.capabilities().completions.is_none() || secret::is_name(&argument) {
            return Some(Continuation::Words(also));
        }
        let others = given.iter().filter_map(|word| word.split_once('='));
        let others = others.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Some(Continuation::Values(Box::new(ValueRequest {
            client: client.clone(),
            reference: Reference::prompt(prompt.name.clone()),
            about: (argument.clone(), text),
            others: others.collect(),
            word: Box::new(move |value| format!("{argument}={value}")),
            also,
        })))
    }
}

impl ValueRequest {
    async fn ask(&self) -> (Vec<String>, bool) {
        let (name, text) = &self.about;
        let about = (name.as_str(), text.as_str());
        let completing = self
            .client
            .complete(self.reference.clone(), about, self.others.clone());
        // A failed request may succeed later.
        let Ok(Ok(found)) = timeout(PATIENCE, completing).await else {
            return (Vec::new(), false);
        };
        let words = found.values.into_iter().map(&self.word);
        (words.collect(), found.has_more == Some(true))
    }
}

/// The lines that can be typed for items of servers and start with this text. `first` is the command, and `known` is
/// the prefix under which they are offered.
fn offered(talk: &Conversation, line: &str, first: &str, known: &str) -> Continuation {
    let rest = line.strip_prefix(first).unwrap_or_default().trim_start();
    let fitting = talk.offers().fitting(&format!("{known} {rest}"));
    let lines = fitting.into_iter().filter_map(|offer| {
        let behind = offer.line.strip_prefix(known)?.strip_prefix(' ')?;
        let goes_on = if offer.goes_on { " " } else { "" };
        Some(format!("{first} {behind}{goes_on}"))
    });
    Continuation::Lines(lines.collect())
}

fn words(all: impl IntoIterator<Item = String>, last: &str) -> Continuation {
    let all = all.into_iter();
    Continuation::Words(all.filter(|word| word.starts_with(last)).collect())
}

/// The lines that end in these words, quoted so that each is read back as the same word.
fn lines(head: &str, words: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let words = words.into_iter().filter(|word| seen.insert(word.clone()));
    let line = |word: String| {
        let quoted = match word.split_once('=') {
            Some((name, value)) => format!("{name}={}", quoted(value)),
            None => quoted(&word),
        };
        let ways = [word.clone(), quoted];
        ways.into_iter()
            .map(|way| format!("{head}{way}"))
            .find(|line| {
                let is_last = line::words(line).pop().as_deref() == Some(word.as_str());
                is_last && !line.chars().any(acts_or_hides)
            })
    };
    words.filter_map(line).collect()
}

fn is_given(words: &[String], name: &str) -> bool {
    let mut words = words.iter();
    words.any(|word| {
        let given = word
            .split_once('=')
            .map(|(name, _)| name.trim_end_matches(':'));
        given == Some(name)
    })
}

fn properties(tool: &Tool) -> Vec<String> {
    let schema = tool.input_schema.decode().unwrap_or(Value::Null);
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<_> = required.filter_map(Value::as_str).collect();
    let all = schema["properties"].as_object().into_iter().flatten();
    let all: Vec<_> = all.map(|(name, _)| name.as_str()).collect();
    let (first, others): (Vec<&str>, Vec<&str>) =
        all.into_iter().partition(|name| required.contains(name));
    first.into_iter().chain(others).map(str::to_owned).collect()
}

/// The values of a tool's argument, if it allows only a few.
fn values(tool: &Tool, name: &str) -> Vec<String> {
    let schema = tool.input_schema.decode().unwrap_or(Value::Null);
    let property = &schema["properties"][name];
    let consts = ["oneOf", "anyOf"].into_iter().flat_map(|keyword| {
        let all = property[keyword].as_array().into_iter().flatten();
        all.filter_map(|one| one.get("const"))
    });
    let all = property["enum"].as_array().into_iter().flatten();
    let mut values: Vec<_> = all
        .chain(consts)
        .filter_map(|value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
        .collect();
    if property["type"] == "boolean" {
        values.extend(["true", "false"].map(str::to_owned));
    }
    values
}

#[cfg(test)]
mod tests {
    use askback::{
        Limits,
        protocol::{Prompt, PromptArgument, Schema},
        transport,
    };
    use askback_host::model::{Asker, Change, Desk, Origin, Server};
    use askback_travel::{Bookings, Itineraries};
    use serde_json::json;

    use super::*;

    /// A conversation with a server that supports completion and has these prompts.
    async fn source(prompts: &[(&str, &[&str])]) -> (Conversation, Source) {
        let server = askback_travel::builder(Bookings::default(), Itineraries::Nowhere).build();
        let (near, far) = transport::memory();
        tokio::spawn(async move { server.expect("it is one").serve(far).await });
        let client = Client::builder("clerk", "1").connect(near).await;
        let client = client.expect("it answers");
        let asker = Asker {
            name: "zoo".to_owned(),
            reached: Origin::Typed("zoo".to_owned()),
            claims: None,
        };
        let desk = Desk::new(asker, None, None, Limits::default());
        let mut talk = Conversation::new(Server::new(desk));
        let argument = |name: &&str| PromptArgument {
            name: (*name).to_owned(),
            ..PromptArgument::default()
        };
        let prompts = prompts.iter().map(|(name, arguments)| Prompt {
            name: (*name).to_owned(),
            arguments: Some(arguments.iter().map(argument).collect()),
            ..Prompt::default()
        });
        let schema = json!({"type": "object", "required": ["z"], "properties": {
            "a": {"type": "boolean"},
            "z": {"enum": ["p", "q"]},
        }});
        let catalog = Catalog {
            prompts: prompts.collect(),
            tools: vec![Tool {
                name: "t".to_owned(),
                input_schema: Schema::new(&schema).expect("it is a schema"),
                ..Tool::default()
            }],
            ..Catalog::default()
        };
        talk.update(Change::Listed(ServerId::FIRST, catalog));
        let source = Source {
            addresses: Addresses {
                home: "zoo".to_owned(),
                others: vec!["den".to_owned()],
            },
            clients: BTreeMap::from([("zoo".to_owned(), (ServerId::FIRST, client))]),
        };
        (talk, source)
    }

    #[tokio::test]
    async fn a_server_is_asked_for_its_own_prompts_alone_and_for_no_secret() {
        let (talk, source) = source(&[
            ("save", &["to"]),
            ("find", &["to"]),
            ("roots", &["to"]),
            ("p", &["to", "password"]),
        ])
        .await;
        let check = |line: &str, expected: Option<&str>| {
            let begun = LineStart::read(line).expect("a word is begun");
            let asked = match source.look(&talk, line, &begun) {
                Some(Continuation::Values(asked)) => Some(asked.about.1),
                _ => None,
            };
            assert_eq!(asked.as_deref(), expected, "{line}");
        };
        check("/p to=R", Some("R"));
        check("/prompt p to=R", Some("R"));
        check("/prompt save to=R", Some("R"));
        check("/save private.txt", None);
        check("/roots add private", None);
        check("/p password=private", None);
    }

    #[tokio::test]
    async fn each_word_goes_on_as_it_is_known() {
        let (talk, source) = source(&[("p", &["days", "to"]), ("plan", &[])]).await;
        let check = |line: &str, expected: &[&str]| {
            let begun = LineStart::read(line).expect("a word is begun");
            let words = match source.look(&talk, line, &begun) {
                Some(Continuation::Words(words) | Continuation::Lines(words)) => words,
                Some(Continuation::Values(asked)) => asked.also,
                None => Vec::new(),
            };
            assert_eq!(words, expected, "{line}");
        };
        check("/server ", &["den", "zoo"]);
        check("/restart d", &["den"]);
        check("/as code", &["codex"]);
        check("/as no-n", &["no-numbers"]);
        check("/as m", &["me"]);
        check("/log e", &["error", "emergency"]);
        check("/sampling a", &["ask", "always"]);
        check("/roots ", &["add", "remove", "none"]);
        check("/help unsub", &["unsubscribe"]);
        check("/tasks w", &["wait"]);
        check("/tasks wait ", &[]);
        check("/tools ", &[]);
        check("/wire a", &["all"]);
        check("/prompt p", &["p", "plan"]);
        check("/call t ", &["z=", "a="]);
        check("/begin t a=true ", &["z="]);
        check("/call t a:=true z=", &["z=p", "z=q"]);
        check("/call zoo/t a=t", &["a=true"]);
        check("/p ", &["days=", "to="]);
        check("/p days=3 ", &["to="]);
        check("/p days=3 t", &["to="]);
        let line = "/p days=3 to=R";
        let begun = LineStart::read(line).expect("a word is begun");
        let Some(Continuation::Values(asked)) = source.look(&talk, line, &begun) else {
            panic!("a value is asked for");
        };
        let others = BTreeMap::from([("days".to_owned(), "3".to_owned())]);
        assert_eq!(
            (asked.about, asked.others),
            (("to".to_owned(), "R".to_owned()), others)
        );
    }

    #[test]
    fn the_last_word_is_completed() {
        #[track_caller]
        fn check(line: &str, expected: Option<(&str, &[&str], &str)>) {
            let begun = LineStart::read(line);
            let words: Vec<_> = begun.iter().flat_map(|it| &it.words).collect();
            let found = begun.as_ref().map(|it| (it.head, it.last));
            assert_eq!(
                found,
                expected.map(|(head, _, last)| (head, last)),
                "{line}"
            );
            let expected = expected.map_or_else(Vec::new, |(_, words, _)| words.to_vec());
            assert_eq!(words, expected, "{line}");
        }
        check("/log", None);
        check("/log ", Some(("/log ", &["/log"], "")));
        check("/log de", Some(("/log ", &["/log"], "de")));
        let words = ["/plan", "to=New York"];
        check(
            "/plan to='New York' d",
            Some(("/plan to='New York' ", &words, "d")),
        );
        // The space is inside an open quote or open JSON.
        check("/plan to='New Y", None);
        check("/call a\\ b", None);
    }

    #[test]
    fn a_word_is_written_so_that_it_is_read_as_itself() {
        #[track_caller]
        fn check(head: &str, words: &[&str], expected: &[&str]) {
            let words = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(lines(head, words), expected);
        }
        check(
            "/log ",
            &["info", "info", "error"],
            &["/log info", "/log error"],
        );
        let written = ["/plan to=\"New York\"", "/plan to=\"it's\""];
        check("/plan ", &["to=New York", "to=it's"], &written);
        check("/read ", &["a://b c"], &["/read \"a://b c\""]);
        // A name that cannot be typed is not offered.
        check(
            "/plan ",
            &["to=\u{1b}[2J", "to=a\u{202e}b", "to="],
            &["/plan to="],
        );
    }

    #[test]
    fn arguments_of_a_tool_are_known_from_its_schema() {
        let schema = json!({"type": "object", "required": ["z"], "properties": {
            "a": {"type": "boolean"},
            "of": {"oneOf": [{"const": "x"}, {"const": 2}]},
            "z": {"enum": ["p", 1, null]},
        }});
        let tool = Tool {
            input_schema: Schema::new(&schema).expect("it is a schema"),
            ..Tool::default()
        };
        assert_eq!(properties(&tool), ["z", "a", "of"]);
        assert_eq!(values(&tool, "a"), ["true", "false"]);
        assert_eq!(values(&tool, "of"), ["x", "2"]);
        assert_eq!(values(&tool, "z"), ["p", "1"]);
        assert_eq!(values(&tool, "unknown"), [""; 0]);
        assert!(is_given(&["a=1".to_owned(), "of:=2".to_owned()], "of"));
        assert!(!is_given(&["a=of".to_owned()], "of"));
    }
}
