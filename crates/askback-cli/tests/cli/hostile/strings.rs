//! Hostile text in every string of the protocol. The messages come from the wire tests, so a field
//! that is added there is covered here, too.

use std::{fs, path::Path};

use askback::{
    Revision,
    internal::{
        jsonrpc::{self, Message, Payload},
        wire,
    },
    limits::WireLimits,
    protocol::{
        CallToolResult, CompleteResult, DetailedTask, DiscoverResult, EmptyResult, GetPromptResult,
        GetSkillResult, InitializeResult, InputRequest, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListTasksResult,
        ListToolsResult, ReadResourceDirectoryResult, ReadResourceResult, ServerNotification,
        ServerRequest, SubscriptionsListenResult, TaskState,
    },
};
use serde_json::{Map, Number, Value, json, value::RawValue};

/// The messages that a server can send in one revision.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    /// Results, by method.
    pub(crate) results: Vec<(String, Value)>,
    /// Complete errors, notifications and requests.
    pub(crate) errors: Vec<Value>,
    pub(crate) notifications: Vec<Value>,
    pub(crate) requests: Vec<Value>,
    /// Questions within results.
    pub(crate) questions: Vec<Value>,
}

/// The beginnings of hostile texts. A number at the end makes each text different.
const TEXTS: &[&str] = &[
    "Ж\x1b[2J\x1b[HЖ\x1b]52;c;WlFY\x07Ж\x1b]8;;https://zqx.example\x07ZQX\x1b]8;;\x07",
    "ZQX\r\n> ZQXyes\nSent to ZQX.\n× ZQX\r\x1b[1AЖ",
    "Ж\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}Ж\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}ZQX>\u{a0}ZQX",
    "✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}ZQX",
    "👩\u{200d}🚀👩\u{200d}🚀👩\u{200d}🚀👩\u{200d}🚀👩\u{200d}🚀👩\u{200d}🚀👩\u{200d}👩\u{200d}👩\u{200d}👩\u{200d}👩\u{200d}👩\u{200d}👩Ж",
    "\u{202e}ZQX\u{2066}Ж\u{200b}Ж\u{2028}ZQX\u{2029}ZQX\u{9b}31mЖ\u{85}ZQX\u{feff}",
    "日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本\u{3000}\u{3000}\u{3000}\u{3000}\u{3000}\u{3000}\u{3000}\u{3000}Ж",
    "Ж\u{300}\u{300}\u{300}\u{300}\u{300}\u{300}\u{300}\tЖ\t\t\t\t\tЖ\u{7}\u{8}\u{7f}\u{0}ZQX",
    "| ZQX | ZQX\n\n\n| ZQX\u{1b}7\u{1b}8\u{1b}cЖ \u{1b}[31;1HZQX \u{1b}P0;0|ZQX\u{1b}\\",
];

/// Characters that occur only in hostile texts.
const MARKS: [&str; 8] = ["Ж", "ZQX", "zqx", "✈", "👩", "🚀", "日", "本"];

const NUMBERS: [&str; 7] = [
    "1e99",
    "18446744073709551615",
    "-9223372036854775808",
    "1.7976931348623157e308",
    "0",
    "-1e-300",
    "3.3333333333333333",
];

/// Whether a row shows a part of a hostile text.
pub(crate) fn is_marked(row: &str) -> bool {
    MARKS.iter().any(|mark| row.contains(mark))
}

/// A hostile text. Each number has a different text.
pub(crate) fn text(number: usize) -> String {
    format!("{}Ж{number}", TEXTS[number % TEXTS.len()])
}

/// Every message that a server can send in a revision, with hostile text in each string and an
/// extreme value in each number. The second vocabulary has the messages that this makes invalid.
pub(crate) fn hostile(revision: Revision) -> (Vocabulary, Vocabulary) {
    let (mut readable, mut unreadable) = (Vocabulary::default(), Vocabulary::default());
    for (index, case) in cases().into_iter().enumerate() {
        if !is_in(&case, revision) {
            continue;
        }
        let kind = case["kind"].as_str().unwrap_or_default();
        let method = case["method"].as_str().unwrap_or_default().to_owned();
        let Some(mut list) = list(&mut readable, kind) else {
            continue;
        };
        let can_be_read = |value: &Value| can_be_read(revision, kind, &method, value);
        let message = &case["message"];
        assert!(can_be_read(message), "{revision}: {message}");
        let mut made = message.clone();
        let mut broken = Vec::new();
        for (number, place) in places(message).iter().enumerate() {
            let before = made.clone();
            put(&mut made, place, index * 100 + number);
            if !can_be_read(&made) {
                made = before;
                let mut alone = message.clone();
                put(&mut alone, place, index * 100 + number);
                broken.push(alone);
            }
        }
        list.push((method.clone(), made));
        if let Some(mut list) = self::list(&mut unreadable, kind) {
            list.extend(broken.into_iter().map(|made| (method.clone(), made)));
        }
    }
    (readable, unreadable)
}

/// The messages of the wire tests.
fn cases() -> Vec<Value> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../askback-core/tests/core/wire/cases");
    let files = fs::read_dir(folder).expect("the cases of the wire are there");
    let mut files: Vec<_> = files
        .map(|file| file.expect("it is there").path())
        .collect();
    files.sort();
    let read = |file| fs::read_to_string(file).expect("it is text");
    let lists = files
        .iter()
        .map(|file| serde_json::from_str::<Vec<Value>>(&read(file)).expect("it is a list"));
    lists.flatten().collect()
}

fn is_in(case: &Value, revision: Revision) -> bool {
    let known = |key: &str, or: Revision| {
        let named = case[key].as_str();
        named.map_or(or, |name| name.parse().expect("it is a revision"))
    };
    (known("since", Revision::V2024_11_05)..=known("until", Revision::LATEST)).contains(&revision)
}

impl Vocabulary {
    /// The results of a method.
    pub(crate) fn of(&self, method: &str) -> Vec<&Value> {
        let all = self.results.iter().filter(|(of, _)| of == method);
        all.map(|(_, value)| value).collect()
    }
}

/// A list to which messages of a kind are added.
enum List<'a> {
    Named(&'a mut Vec<(String, Value)>),
    Whole(&'a mut Vec<Value>),
}

impl List<'_> {
    fn push(&mut self, (method, message): (String, Value)) {
        match self {
            Self::Named(list) => list.push((method, message["result"].clone())),
            Self::Whole(list) => list.push(message),
        }
    }

    fn extend(&mut self, all: impl Iterator<Item = (String, Value)>) {
        for one in all {
            self.push(one);
        }
    }
}

/// The list for a kind of message. `None` for messages of a client.
fn list<'a>(vocabulary: &'a mut Vocabulary, kind: &str) -> Option<List<'a>> {
    Some(match kind {
        "result" => List::Named(&mut vocabulary.results),
        "error" => List::Whole(&mut vocabulary.errors),
        "server-notification" => List::Whole(&mut vocabulary.notifications),
        "server-request" => List::Whole(&mut vocabulary.requests),
        "input-request" => List::Whole(&mut vocabulary.questions),
        _ => return None,
    })
}

/// Whether the client can parse a message.
fn can_be_read(revision: Revision, kind: &str, method: &str, message: &Value) -> bool {
    let text = message.to_string();
    if kind == "input-request" {
        return serde_json::from_str::<InputRequest>(&text).is_ok();
    }
    let parsed = jsonrpc::parse(text.as_bytes(), &WireLimits::default());
    let Ok(Payload::Single(message)) = parsed else {
        return false;
    };
    match message {
        Message::Request(call) if kind == "server-request" => {
            wire::read::<ServerRequest>(revision, &call.method, call.params.as_deref()).is_ok()
        }
        Message::Notification(call) if kind == "server-notification" => {
            wire::read::<ServerNotification>(revision, &call.method, call.params.as_deref()).is_ok()
        }
        Message::Response(response) => match (kind, &response.outcome) {
            ("error", Err(_)) => true,
            ("result", Ok(result)) => is_result(revision, method, result),
            _ => false,
        },
        _ => false,
    }
}

fn is_result(revision: Revision, method: &str, raw: &RawValue) -> bool {
    macro_rules! is {
        ($type:ty) => {
            wire::read_outcome::<$type>(revision, raw).is_ok()
        };
    }
    match method {
        "initialize" => is!(InitializeResult),
        "server/discover" => is!(DiscoverResult),
        "ping"
        | "logging/setLevel"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "tasks/update" => is!(EmptyResult),
        "tools/list" => is!(ListToolsResult),
        "tools/call" | "tasks/result" => is!(CallToolResult),
        "prompts/list" => is!(ListPromptsResult),
        "prompts/get" => is!(GetPromptResult),
        "resources/list" => is!(ListResourcesResult),
        "resources/directory/read" => is!(ReadResourceDirectoryResult),
        "resources/templates/list" => is!(ListResourceTemplatesResult),
        "resources/read" => is!(ReadResourceResult),
        "skills/list" => is!(ListSkillsResult),
        "skills/get" => is!(GetSkillResult),
        "subscriptions/listen" => is!(SubscriptionsListenResult),
        "completion/complete" => is!(CompleteResult),
        "tasks/get" | "tasks/cancel" if revision.facts().tasks => is!(TaskState),
        "tasks/get" => is!(DetailedTask),
        "tasks/cancel" => is!(EmptyResult),
        "tasks/list" => is!(ListTasksResult),
        other => panic!("a result of {other} is not known here"),
    }
}

/// A place in a message: its JSON pointer, and whether a key is inserted or a value replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    pointer: String,
    is_key: bool,
}

/// All strings, numbers and keys of a message, except those that define its type.
fn places(message: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    walk(message, String::new(), &mut places);
    places.retain(|place| !matches!(place.pointer.as_str(), "/jsonrpc" | "/id" | "/method"));
    places
}

fn walk(value: &Value, pointer: String, places: &mut Vec<Place>) {
    let below = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                walk(value, below(key), places);
            }
            if !object.is_empty() {
                places.push(Place {
                    pointer,
                    is_key: true,
                });
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                walk(value, below(&index.to_string()), places);
            }
        }
        Value::String(_) | Value::Number(_) => places.push(Place {
            pointer,
            is_key: false,
        }),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Inserts hostile text or a number at a place. A hostile key is added to the existing ones.
fn put(message: &mut Value, place: &Place, number: usize) {
    let at = message.pointer_mut(&place.pointer);
    match at.expect("nothing was taken away") {
        Value::Object(object) => {
            let like = object.values().next_back().cloned().unwrap_or(Value::Null);
            object.insert(text(number), like);
        }
        Value::Number(it) => {
            let extreme = NUMBERS[number % NUMBERS.len()];
            *it = serde_json::from_str::<Number>(extreme).expect("it is a number");
        }
        other => *other = Value::String(text(number)),
    }
}

/// Adds a copy of each tool, prompt or resource, with a name that can be typed.
pub(crate) fn with_names(mut result: Value, list: &str, key: &str, name: &str) -> Value {
    let items = result[list].as_array().cloned().unwrap_or_default();
    for (index, item) in items.into_iter().enumerate() {
        let mut item = item;
        item[key] = json!(format!("{name}{index}"));
        if let Some(all) = result[list].as_array_mut() {
            all.push(item);
        }
    }
    result
}

/// A tool with a schema that is not a form, in which all arguments are required.
pub(crate) fn demanding() -> Value {
    let names: Vec<_> = (0..TEXTS.len()).map(text).collect();
    let properties: Map<_, _> = names
        .iter()
        .map(|name| (name.clone(), json!({"type": "object", "title": name})))
        .collect();
    json!({
        "name": "u0", "description": text(3),
        "inputSchema": {"type": "object", "properties": properties, "required": names},
    })
}

/// A prompt with two arguments of the same name.
pub(crate) fn twins() -> Value {
    let argument = json!({"name": text(0), "description": text(1), "required": true});
    json!({"name": "w0", "title": text(2), "arguments": [argument, argument]})
}

#[test]
fn every_kind_of_message_becomes_a_hostile_one() {
    for revision in Revision::ALL {
        let (readable, unreadable) = hostile(revision);
        for method in ["tools/list", "tools/call", "prompts/get", "resources/read"] {
            let marked = |value: &&Value| is_marked(&value.to_string());
            assert!(
                readable.of(method).iter().any(marked),
                "{revision}: {method}"
            );
        }
        assert!(!readable.notifications.is_empty() && !readable.errors.is_empty());
        // Invalid members of a result are ignored, so no result is unreadable because of its texts.
        assert!(!unreadable.notifications.is_empty(), "{revision}");
    }
}
