//! A line of a conversation, read as a command.

use askback_core::protocol::LoggingLevel;
use askback_host::{model::Permission, wire::Shown};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::roots::{Change, ROOTS};
use crate::secret;

/// A line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// Nothing.
    Nothing,
    /// Show the commands.
    Help,
    /// Leave.
    Quit,
    /// List the tools.
    Tools,
    /// List the prompts.
    Prompts,
    /// List the resources.
    Resources,
    /// Look for this in what the servers have.
    Find(String),
    /// Call a tool.
    Call(String, Vec<String>),
    /// Begin a call of a tool, and go on meanwhile.
    Begin(String, Vec<String>),
    /// Show the calls that were begun, wait for one, or cancel one.
    Tasks(Tasks),
    /// Get a prompt.
    Prompt(String, Vec<String>),
    /// Read a resource.
    Read(String),
    /// Show the folders the server may work in, or choose others.
    Roots(Change),
    /// Write the last result to a file; of several files in it, the one of this number.
    Save(String, Option<usize>),
    /// Tell of changes of a resource.
    Subscribe(String),
    /// Tell no longer of changes of a resource, or of any.
    Unsubscribe(Option<String>),
    /// Show the rest of the last result.
    More,
    /// Ask for log lines from this level on; without one, say which were asked for.
    Log(Option<LoggingLevel>),
    /// Make the last call again.
    Again,
    /// Check the server, with tools that may be called.
    Check(Vec<String>),
    /// Start the server again, or the one of this name.
    Restart(Option<String>),
    /// List the servers.
    Servers,
    /// Talk to the server of this name.
    Server(String),
    /// Have every question answered so, or play another client; without a word, say what holds.
    As(Option<String>),
    /// Show the messages that travelled, or write them to a file.
    Wire(Wire),
    /// Show what differs between the messages of these numbers.
    Diff(u64, u64),
    /// Edit the request of this number, and send it again.
    Resend(u64),
    /// Send a message with this method and these parameters, which are JSON.
    Send(String, Option<String>),
    /// Measure how long the server takes to answer a ping.
    Ping,
    /// Change how far the server may have a model reply, or say what holds.
    Sampling(Option<Permission>),
    /// Show the instructions that the server has for models.
    Instructions,
    /// Show what the server wrote to its standard error.
    Stderr,
    /// A command that lacks a word or has one too many, and how it is written.
    Lacks(&'static str),
    /// A line that is no command.
    Unknown,
}

/// The use of the messages that travelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wire {
    /// Show them.
    Show(Shown),
    /// Write them to this file.
    Save(String),
}

/// The use of the calls that were begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tasks {
    /// List them.
    All,
    /// Show how the one of this number stands, or its result.
    One(u32),
    /// Wait until the one of this number has ended.
    Wait(u32),
    /// Cancel the one of this number.
    Cancel(u32),
}

/// How `/tasks` is written.
const TASKS: &str = "/tasks, /tasks NUMBER, /tasks wait NUMBER or /tasks cancel NUMBER";

/// How `/wire` is written.
const WIRE: &str =
    "/wire, /wire all, /wire NUMBER, /wire TEXT, /wire edit NUMBER or /wire save FILE";

/// How `/diff` is written.
const DIFF: &str = "/diff NUMBER NUMBER, as /wire numbers the messages";

/// How `/send` is written.
const SEND: &str = "/send METHOD, or /send METHOD {\"name\": \"value\"}";

/// How `/log` is written.
const LOG: &str = "/log debug, info, notice, warning, error, critical, alert or emergency";

/// How `/sampling` is written.
const SAMPLING: &str = "/sampling ask, session, always or never";

/// How `/save` is written.
const SAVE: &str = "/save FILE, or /save FILE NUMBER";

/// The commands behind which there are few words: how many at most, and how they are written.
const BRIEF: [(&str, usize, &str); 18] = [
    ("again", 0, "/again"),
    ("as", 1, "/as decline, cancel, timeout, me or CLIENT"),
    ("instructions", 0, "/instructions"),
    ("log", 1, LOG),
    ("more", 0, "/more"),
    ("ping", 0, "/ping"),
    ("prompts", 0, "/prompts, or /find TEXT"),
    (
        "read",
        1,
        "/read URI, with quotes around a URI that has blanks",
    ),
    ("resources", 0, "/resources, or /find TEXT"),
    (
        "restart",
        1,
        "/restart, or /restart SERVER with quotes around a name that has blanks",
    ),
    ("sampling", 1, SAMPLING),
    ("save", 2, SAVE),
    (
        "server",
        1,
        "/server NAME, with quotes around a name that has blanks",
    ),
    ("servers", 0, "/servers, or /server NAME"),
    ("stderr", 0, "/stderr"),
    (
        "subscribe",
        1,
        "/subscribe URI, with quotes around a URI that has blanks",
    ),
    ("tools", 0, "/tools, or /find TEXT"),
    (
        "unsubscribe",
        1,
        "/unsubscribe, or /unsubscribe URI with quotes around a URI that has blanks",
    ),
];

/// The commands, what follows them, and what they do.
pub(super) const HELP: [(&str, &str); 29] = [
    ("/find TEXT", "list what has it in its name or its words"),
    ("/tools", "list the tools"),
    (
        "/call TOOL [KEY=VALUE]…",
        "call one; what is missing is asked",
    ),
    ("/begin TOOL [KEY=VALUE]…", "call one, and go on meanwhile"),
    (
        "/tasks [N | wait N | cancel N]",
        "show what was begun, or the result of one",
    ),
    ("/prompts", "list the prompts"),
    ("/PROMPT [VALUE]…", "get one; what is missing is asked"),
    ("/resources", "list the resources"),
    ("/read URI", "read one"),
    (
        "/roots [[add|remove] DIR… | none]",
        "show or choose the folders it may work in",
    ),
    (
        "/sampling ask|session|always|never",
        "choose whether it may have a model reply",
    ),
    (
        "/subscribe URI",
        "tell of its changes; /unsubscribe [URI] ends that",
    ),
    ("/more", "show the last result whole"),
    ("/save FILE [N]", "write the last result, or a file in it"),
    ("/log LEVEL", "ask for log lines: debug, info, … emergency"),
    (
        "/again",
        "make the last call again, with the same answers (F5)",
    ),
    (
        "/check [TOOL KEY=VALUE…]",
        "find what the server does wrong",
    ),
    (
        "/restart [SERVER]",
        "start the server again; says what is new",
    ),
    ("/servers", "list the servers, and which are there"),
    ("/server NAME", "talk to another server"),
    (
        "/as decline | cancel | timeout | me | CLIENT",
        "answer every question so, or play another client",
    ),
    ("/instructions", "show what the server tells models"),
    (
        "/stderr",
        "show what the server wrote to its standard error",
    ),
    (
        "/wire [N | all | TEXT | edit N | save FILE]",
        "show the messages that travelled (F2), or those with a method or word",
    ),
    ("/diff N M", "show what differs between two messages"),
    (
        "/send METHOD [JSON]",
        "send any request with these parameters, and show what comes back",
    ),
    ("/ping", "measure how long the server takes to answer"),
    ("/help", "this list"),
    ("/quit", "leave; so does Ctrl-D"),
];

impl Command {
    /// Whether one of its words may be a secret, which at most the names that the server gives its arguments tell.
    pub(super) fn may_hold_secret(&self) -> bool {
        match self {
            Self::Call(_, words) | Self::Begin(_, words) => {
                words.iter().any(|word| !word.contains('='))
            }
            Self::Prompt(_, words) => !words.is_empty(),
            Self::Read(_) | Self::Subscribe(_) | Self::Unsubscribe(Some(_)) => true,
            Self::Send(_, params) => params.as_ref().is_some_and(|params| {
                let read = serde_json::from_str(params);
                read.map_or(true, |params: Value| secret::holds(&params))
            }),
            // It was meant for something else.
            Self::Lacks(_) | Self::Unknown => true,
            _ => false,
        }
    }

    /// Whether it is for the server.
    pub(super) fn needs_server(&self) -> bool {
        match self {
            Self::Tools
            | Self::Prompts
            | Self::Resources
            | Self::Find(_)
            | Self::Call(..)
            | Self::Begin(..)
            | Self::Prompt(..)
            | Self::Read(_)
            | Self::Resend(_)
            | Self::Send(..)
            | Self::Ping
            | Self::Subscribe(_)
            | Self::Log(Some(_))
            | Self::Check(_)
            | Self::Again => true,
            Self::Nothing
            | Self::Help
            | Self::Quit
            | Self::Roots(_)
            | Self::Log(None)
            | Self::Sampling(_)
            | Self::Restart(_)
            | Self::Servers
            | Self::Server(_)
            | Self::Save(..)
            | Self::More
            | Self::Unsubscribe(_)
            | Self::Tasks(_)
            | Self::As(_)
            | Self::Wire(_)
            | Self::Diff(..)
            | Self::Instructions
            | Self::Stderr
            | Self::Lacks(_)
            | Self::Unknown => false,
        }
    }

    /// The name of what a server has, which may stand behind that of the server.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Call(name, _)
            | Self::Begin(name, _)
            | Self::Prompt(name, _)
            | Self::Read(name)
            | Self::Subscribe(name)
            | Self::Unsubscribe(Some(name)) => Some(name),
            _ => None,
        }
    }

    /// The same command, of this name.
    pub(super) fn of(mut self, other: &str) -> Self {
        if let Self::Call(name, _)
        | Self::Begin(name, _)
        | Self::Prompt(name, _)
        | Self::Read(name)
        | Self::Subscribe(name)
        | Self::Unsubscribe(Some(name)) = &mut self
        {
            other.clone_into(name);
        }
        self
    }

    /// Whether it is about the last call, of whichever server that was.
    pub(super) fn is_of_last_call(&self) -> bool {
        matches!(
            self,
            Self::Again
                | Self::More
                | Self::Save(..)
                | Self::Wire(_)
                | Self::Diff(..)
                | Self::Resend(_)
        )
    }
}

/// Reads a line.
pub(super) fn parse(line: &str) -> Command {
    let mut words = words(line).into_iter();
    let Some(first) = words.next() else {
        return Command::Nothing;
    };
    let Some(name) = first.strip_prefix('/') else {
        return Command::Unknown;
    };
    let is_longer =
        |(command, most, _): &&(&str, usize, _)| *command == name && words.len() > *most;
    if let Some((_, _, written)) = BRIEF.iter().find(is_longer) {
        return Command::Lacks(written);
    }
    let mut one = |what| words.next().ok_or(Command::Lacks(what));
    match name {
        "" => Command::Unknown,
        "help" | "?" => Command::Help,
        "quit" | "exit" => Command::Quit,
        "instructions" => Command::Instructions,
        "again" => Command::Again,
        "stderr" => Command::Stderr,
        "diff" => diff(&words.collect::<Vec<_>>()),
        "send" => send(line),
        "ping" => Command::Ping,
        "more" => Command::More,
        "as" => Command::As(words.next()),
        "restart" => Command::Restart(words.next()),
        "servers" => Command::Servers,
        "server" => one("/server NAME").map_or_else(|lacks| lacks, Command::Server),
        "check" => Command::Check(words.collect()),
        "tools" => Command::Tools,
        "prompts" => Command::Prompts,
        "resources" | "templates" => Command::Resources,
        "find" => match words.collect::<Vec<_>>().join(" ") {
            text if text.is_empty() => Command::Lacks("/find TEXT"),
            text => Command::Find(text),
        },
        "call" => match one("/call TOOL") {
            Ok(tool) => Command::Call(tool, words.collect()),
            Err(lacks) => lacks,
        },
        "begin" => match one("/begin TOOL") {
            Ok(tool) => Command::Begin(tool, words.collect()),
            Err(lacks) => lacks,
        },
        "tasks" => match tasks(&words.collect::<Vec<_>>()) {
            Some(wanted) => Command::Tasks(wanted),
            None => Command::Lacks(TASKS),
        },
        // For a prompt that is named like a command.
        "prompt" => match one("/prompt NAME") {
            Ok(prompt) => Command::Prompt(prompt, words.collect()),
            Err(lacks) => lacks,
        },
        "read" => one("/read URI").map_or_else(|lacks| lacks, Command::Read),
        "sampling" => match words.next().as_deref() {
            None => Command::Sampling(None),
            Some("ask") => Command::Sampling(Some(Permission::Ask)),
            Some("session") => Command::Sampling(Some(Permission::Session)),
            Some("always") => Command::Sampling(Some(Permission::Always)),
            Some("never") => Command::Sampling(Some(Permission::Never)),
            Some(_) => Command::Lacks(SAMPLING),
        },
        "save" => match (words.next(), words.next().map(|number| number.parse())) {
            (Some(file), None) => Command::Save(file, None),
            (Some(file), Some(Ok(number))) => Command::Save(file, Some(number)),
            _ => Command::Lacks(SAVE),
        },
        "subscribe" => one("/subscribe URI").map_or_else(|lacks| lacks, Command::Subscribe),
        "unsubscribe" => Command::Unsubscribe(words.next()),
        "log" => match words
            .next()
            .map(|level| serde_json::from_value(level.into()))
        {
            None => Command::Log(None),
            Some(Ok(level)) => Command::Log(Some(level)),
            Some(Err(_)) => Command::Lacks(LOG),
        },
        "roots" => match Change::of(words.collect()) {
            Some(change) => Command::Roots(change),
            None => Command::Lacks(ROOTS),
        },
        "wire" => wire(&words.collect::<Vec<_>>()),
        prompt => Command::Prompt(prompt.to_owned(), words.collect()),
    }
}

/// Reads what stands behind `/tasks`.
fn tasks(words: &[String]) -> Option<Tasks> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => Some(Tasks::All),
        [number] => number.parse().ok().map(Tasks::One),
        ["wait", number] => number.parse().ok().map(Tasks::Wait),
        ["cancel", number] => number.parse().ok().map(Tasks::Cancel),
        _ => None,
    }
}

/// Reads what stands behind `/diff`.
fn diff(words: &[String]) -> Command {
    let numbers = words.iter().map(|word| word.parse());
    match numbers.collect::<Vec<_>>()[..] {
        [Ok(before), Ok(after)] => Command::Diff(before, after),
        _ => Command::Lacks(DIFF),
    }
}

/// Reads a line that begins with `/send`: JSON is taken as it is written.
fn send(line: &str) -> Command {
    let rest = line.trim().split_once(char::is_whitespace);
    let rest = rest.map(|(_, rest)| rest.trim_start()).unwrap_or_default();
    let (method, params) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let params = Some(params.trim()).filter(|params| !params.is_empty());
    match method {
        "" => Command::Lacks(SEND),
        method => Command::Send(method.to_owned(), params.map(str::to_owned)),
    }
}

/// Reads what stands behind `/wire`.
fn wire(words: &[String]) -> Command {
    let text = words.join(" ");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let read = match words[..] {
        ["save", file] => Some(Command::Wire(Wire::Save(file.to_owned()))),
        ["edit", number] => number.parse().ok().map(Command::Resend),
        _ => Shown::read(&text).map(|shown| Command::Wire(Wire::Show(shown))),
    };
    read.unwrap_or(Command::Lacks(WIRE))
}

/// The words of a line: quotes hold one together, as in a shell, and a backslash takes the next
/// character as it is. A list, an object or a string of JSON behind `:=` is one word with whatever is in it.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let (None, '{' | '[' | '"', Some(before)) = (quote, c, &mut word)
            && before.ends_with(":=")
            && let Some(json) = json(rest)
        {
            before.push_str(json);
            rest = &rest[json.len()..];
            continue;
        }
        let mut after = rest.chars();
        after.next();
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(after.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
        rest = after.as_str();
    }
    words.extend(word);
    words
}

/// The JSON with which a text begins.
fn json(text: &str) -> Option<&str> {
    let mut read = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    read.next()?.ok()?;
    text.get(..read.byte_offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        #[track_caller]
        fn check(line: &str, command: Command) {
            assert_eq!(parse(line), command);
        }
        let owned = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        check("", Command::Nothing);
        check("   ", Command::Nothing);
        check("hello", Command::Unknown);
        check("/", Command::Unknown);
        check("/help", Command::Help);
        check(" /tools ", Command::Tools);
        check("/again", Command::Again);
        check("/more", Command::More);
        check("/restart", Command::Restart(None));
        check("/restart b", Command::Restart(Some("b".to_owned())));
        check("/servers", Command::Servers);
        check("/server b", Command::Server("b".to_owned()));
        check("/server", Command::Lacks("/server NAME"));
        check("/as no-url", Command::As(Some("no-url".to_owned())));
        check("/find", Command::Lacks("/find TEXT"));
        check("/find a  b", Command::Find("a b".to_owned()));
        check("/call", Command::Lacks("/call TOOL"));
        check("/b/plan", Command::Prompt("b/plan".to_owned(), Vec::new()));
        check("/call book", Command::Call("book".to_owned(), Vec::new()));
        check(
            "/call book to='New York' n:=2",
            Command::Call("book".to_owned(), owned(&["to=New York", "n:=2"])),
        );
        check("/begin", Command::Lacks("/begin TOOL"));
        check(
            "/begin dig n:=2",
            Command::Begin("dig".to_owned(), owned(&["n:=2"])),
        );
        check("/tasks", Command::Tasks(Tasks::All));
        check("/tasks 2", Command::Tasks(Tasks::One(2)));
        check("/tasks wait 2", Command::Tasks(Tasks::Wait(2)));
        check("/tasks cancel 2", Command::Tasks(Tasks::Cancel(2)));
        for line in ["cancel", "two", "-1", "2 3", "wait 2 3", "stop 2"] {
            check(&format!("/tasks {line}"), Command::Lacks(TASKS));
        }
        check(
            "/plan_vacation",
            Command::Prompt("plan_vacation".to_owned(), Vec::new()),
        );
        check(
            "/prompt help a=b",
            Command::Prompt("help".to_owned(), owned(&["a=b"])),
        );
        check("/read a://b", Command::Read("a://b".to_owned()));
        check("/save a.png", Command::Save("a.png".to_owned(), None));
        check("/save a.png 2", Command::Save("a.png".to_owned(), Some(2)));
        check("/save a.png two", Command::Lacks(SAVE));
        check("/subscribe a://b", Command::Subscribe("a://b".to_owned()));
        check("/unsubscribe", Command::Unsubscribe(None));
        check("/log warning", Command::Log(Some(LoggingLevel::Warning)));
        check("/roots", Command::Roots(Change::Show));
        check("/check", Command::Check(Vec::new()));
        let words = ["t", "a=b c"].map(str::to_owned);
        check("/check t 'a=b c'", Command::Check(words.into()));
        check("/diff 4 12", Command::Diff(4, 12));
        for line in ["/diff", "/diff 4", "/diff 4 a", "/diff 4 5 6"] {
            check(line, Command::Lacks(DIFF));
        }
        check("/ping", Command::Ping);
        check("/send", Command::Lacks(SEND));
        let send = |method: &str, params: Option<&str>| {
            Command::Send(method.to_owned(), params.map(str::to_owned))
        };
        check(" /send tools/list ", send("tools/list", None));
        let written = r#"{"a": "b  'c'", "n": 1.50}"#;
        check(&format!("/send x  {written} "), send("x", Some(written)));
        check("/wire", Command::Wire(Wire::Show(Shown::Last)));
        check("/wire edit 7", Command::Resend(7));
        check("/wire edit", Command::Lacks(WIRE));
        check("/wire all", Command::Wire(Wire::Show(Shown::All)));
        check("/wire 12", Command::Wire(Wire::Show(Shown::One(12))));
        check(
            "/wire save 'a b'",
            Command::Wire(Wire::Save("a b".to_owned())),
        );
        check("/wire save", Command::Lacks(WIRE));
        check("/wire save a b", Command::Lacks(WIRE));
        let with = |text: &str| Command::Wire(Wire::Show(Shown::With(text.to_owned())));
        check("/wire tools/call", with("tools/call"));
        check("/wire error  -32602", with("error -32602"));
        check("/wire -32602", with("-32602"));
        for line in ["1 2", "all 1", "edit a", "edit 1 2"] {
            check(&format!("/wire {line}"), Command::Lacks(WIRE));
        }
        check(
            "/roots ../a \"b c\"",
            Command::Roots(Change::Set(owned(&["../a", "b c"]))),
        );
    }

    #[test]
    fn parameters_of_any_request_may_hold_a_secret() {
        #[track_caller]
        fn check(line: &str, may: bool) {
            assert_eq!(parse(line).may_hold_secret(), may, "{line}");
        }
        check("/send x", false);
        check(r#"/send x {"to": "Rome"}"#, false);
        check(r#"/send x {"a": [{"password": "hush"}]}"#, true);
        check(r#"/send x {"a": ["Bearer X1"]}"#, true);
        check("/send x {hush", true);
    }

    #[test]
    fn a_word_too_many_is_not_passed_over() {
        for (command, most, written) in BRIEF {
            let enough = vec!["'a b'"; most].join(" ");
            let line = format!("/{command} {enough}");
            let is_read =
                parse(&line) != Command::Lacks(written) || [LOG, SAMPLING, SAVE].contains(&written);
            assert!(is_read, "{line}");
            assert_eq!(parse(&format!("{line} c")), Command::Lacks(written));
        }
        let name = || "a b".to_owned();
        assert_eq!(parse("/read 'a b'"), Command::Read(name()));
        assert_eq!(parse("/server a\\ b"), Command::Server(name()));
        assert_eq!(parse("/restart \"a b\""), Command::Restart(Some(name())));
    }

    #[test]
    fn words_are_held_together() {
        #[track_caller]
        fn check(line: &str, expected: &[&str]) {
            assert_eq!(words(line), expected);
        }
        check("a  b", &["a", "b"]);
        check("a='b c'", &["a=b c"]);
        check("'' x", &["", "x"]);
        check("\"it's\" 'a \"b\"'", &["it's", "a \"b\""]);
        check("a\\ b 'c\\d' \"e\\\"f\"", &["a b", "c\\d", "e\"f"]);
        check("a:={\"b\":1}", &["a:={\"b\":1}"]);
        check(
            "a:={\"b\": [1, \"c d\"]} e:=[\"\\\"\"]",
            &["a:={\"b\": [1, \"c d\"]}", "e:=[\"\\\"\"]"],
        );
        check(
            "a:=\"b\" c:=\"d  'e\\\"\" f",
            &["a:=\"b\"", "c:=\"d  'e\\\"\"", "f"],
        );
        check("a=\"b:=\" c", &["a=b:=", "c"]);
        check("a:={b c}", &["a:={b", "c}"]);
        check("a:='{\"b\":1}'", &["a:={\"b\":1}"]);
        check("'open", &["open"]);
    }
}
