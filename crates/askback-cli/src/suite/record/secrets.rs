//! The secrets of a session, which a recording is without.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Map, Value};
use url::form_urlencoded::byte_serialize;

use super::protocol;
use crate::secret::{holds, is_name, tokens};

/// The member with the state of a call.
const STATE: &str = "requestState";

/// The place of answers, by the names of their questions.
const ANSWERS: &str = "/params/inputResponses";

/// The member in which protocol and libraries keep their own.
const META: &str = "_meta";

/// The words in the place of a secret that the server repeats.
const LEFT_OUT: &str = "(left out)";

/// The name of a token that no name says to be secret.
const TOKEN: &str = "a token";

/// The most characters of a message in a pattern.
const PATTERN: usize = 4_096;

/// The fewest letters and digits beside the secrets of a message, for a pattern to know it by them.
const TOLD: usize = 4;

/// The most characters of a secret that is left where it is a part of a word.
pub(super) const SHORT: usize = 3;

/// The names and values that are left out of a recording.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    pub(super) names: BTreeSet<String>,
    values: BTreeSet<String>,
    /// The states of calls, by their numbers.
    states: BTreeMap<String, usize>,
}

impl Secrets {
    pub(super) fn names(&self) -> String {
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        names.join(", ")
    }

    /// The names, those left out that repeat a value.
    pub(super) fn names_without(&self) -> String {
        let names = self.names.iter().filter(|name| !self.are_in(name));
        let names: Vec<_> = names.map(String::as_str).collect();
        names.join(", ")
    }

    pub(super) fn note(&mut self, name: &str, value: &Value) {
        self.names.insert(name.to_owned());
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::String(text) => self.values.extend(spellings(text)),
            Value::Array(all) => all.iter().for_each(|one| self.note(name, one)),
            // Each value in it may come again by itself.
            Value::Object(members) if is_name(name) => {
                members.values().for_each(|one| self.note(name, one));
            }
            Value::Object(members) => {
                self.values.insert(value.to_string());
                for (name, one) in members {
                    if is_name(name) || is_held(one) {
                        self.note(name, one);
                    }
                }
            }
            Value::Number(number) => drop(self.values.insert(number.to_string())),
        }
    }

    /// Takes note of the tokens that stand anywhere in a value.
    pub(super) fn note_tokens(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                for token in tokens(text) {
                    self.note(TOKEN, &token.into());
                }
            }
            Value::Array(all) => all.iter().for_each(|one| self.note_tokens(one)),
            Value::Object(members) => {
                for (name, value) in members {
                    self.note_tokens(&name.as_str().into());
                    self.note_tokens(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether one of them is too short to be told from the parts of words.
    pub(super) fn are_short(&self) -> bool {
        let mut values = self.values.iter().filter(|value| !value.is_empty());
        values.any(|value| is_short(value))
    }

    /// Removes the members of a value whose names are those of secrets, and those that hold one.
    pub(super) fn remove_from(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => members.retain(|name, value| {
                if is_name(name) || is_held(value) {
                    self.note(name, value);
                    return false;
                }
                self.remove_from(value);
                true
            }),
            Value::Array(all) => all.iter_mut().for_each(|one| self.remove_from(one)),
            _ => {}
        }
    }

    /// Leaves out of a message what the client sent of them, and what the server repeats. Returns where
    /// values of the client were.
    pub(super) fn leave_out(&mut self, message: &mut Value, is_sent: bool) -> Vec<String> {
        let mut left_out = Vec::new();
        let Value::Object(members) = message else {
            return left_out;
        };
        for (part, value) in members {
            match part.as_str() {
                "jsonrpc" | "method" => {}
                // Each side repeats that of the other.
                "id" => {
                    if let Value::String(id) = value {
                        self.blank_text(id);
                    }
                }
                part if is_sent => self.empty(value, format!("/{part}"), &mut left_out),
                _ => self.blank(value),
            }
        }
        left_out
    }

    /// Puts nothing in the place of each secret of the client.
    fn empty(&mut self, value: &mut Value, path: String, left_out: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                match path == ANSWERS {
                    // The server named its questions.
                    true => self.blank_names(members),
                    // A suite is without these members, too.
                    false => {
                        members.retain(|name, _| protocol::is_name(name) || !self.are_in(name))
                    }
                }
                for (name, value) in members {
                    let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                    match name.as_str() {
                        META => {}
                        STATE => self.label(value),
                        name if is_name(name) || is_held(value) || self.is_in(value) => {
                            if !value.is_null() {
                                self.note(name, value);
                                *value = Value::Null;
                            }
                            left_out.push(path);
                        }
                        _ => self.empty(value, path, left_out),
                    }
                }
            }
            Value::Array(all) => {
                for (index, value) in all.iter_mut().enumerate() {
                    self.empty(value, format!("{path}/{index}"), left_out);
                }
            }
            _ => {}
        }
    }

    /// Puts other words in the place of what the server repeats, and of what only a browser is to know.
    fn blank(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.blank_text(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.blank(one)),
            Value::Object(members) => {
                let is_link = members.get("mode").is_some_and(|mode| mode == "url");
                for (name, value) in members.iter_mut() {
                    match name.as_str() {
                        STATE => self.label(value),
                        "url" if is_link => {
                            without_query(value);
                            self.blank(value);
                        }
                        name if protocol::is_value(name, value) => {}
                        _ => self.blank(value),
                    }
                }
                self.blank_names(members);
            }
            Value::Number(number) if self.values.contains(&number.to_string()) => {
                *value = Value::Null;
            }
            _ => {}
        }
    }

    /// Puts other words in the place of what names repeat, but for those of the protocol.
    fn blank_names(&self, members: &mut Map<String, Value>) {
        let named = members
            .keys()
            .filter(|name| !protocol::is_name(name) && self.are_in(name));
        for mut name in named.cloned().collect::<Vec<_>>() {
            let value = members.remove(&name);
            self.blank_text(&mut name);
            members.extend(value.map(|value| (name, value)));
        }
    }

    fn blank_text(&self, text: &mut String) {
        if self.are_in(text) {
            *text = self.pieces(text).join(LEFT_OUT);
        }
    }

    /// Puts a number in the place of a state: some servers write into it what they were told.
    fn label(&mut self, state: &mut Value) {
        if let Value::String(text) = state {
            let next = self.states.len().saturating_add(1);
            let number = *self.states.entry(std::mem::take(text)).or_insert(next);
            *text = format!("state {number}");
        }
    }

    /// Whether a value repeats one of them.
    pub(super) fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.are_in(text),
            Value::Number(number) => self.values.contains(&number.to_string()),
            _ => false,
        }
    }

    /// Whether a value, or a name or a value in it, repeats one of them.
    pub(super) fn are_within(&self, value: &Value) -> bool {
        match value {
            Value::Object(members) => members
                .iter()
                .any(|(name, value)| self.are_in(name) || self.are_within(value)),
            Value::Array(all) => all.iter().any(|one| self.are_within(one)),
            value => self.is_in(value),
        }
    }

    /// Whether a text repeats one of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let mut values = self.values.iter().filter(|value| !value.is_empty());
        values.any(|value| split(text, value).len() > 1)
    }

    /// A regular expression for a text, with anything in the place of what it repeats; none where so little
    /// else is in it that other texts would fit.
    pub(super) fn pattern_without(&self, text: &str) -> Option<String> {
        let repeated = self.values.iter().filter(|value| text.contains(&***value));
        let has_blanks = repeated
            .clone()
            .any(|value| value.contains(char::is_whitespace));
        // A secret without blanks has none the next time, but for the words in its place.
        let gap = match has_blanks {
            true => "(?s:.+)",
            false => r"(?:\S+|\(left out\))",
        };
        let mut pattern = "^".to_owned();
        let (mut room, mut told) = (PATTERN, 0_usize);
        for (index, piece) in self.pieces(text).into_iter().enumerate() {
            if index > 0 {
                pattern.push_str(gap);
            }
            let end = piece.char_indices().nth(room);
            let kept = end.map_or(piece, |(end, _)| &piece[..end]);
            pattern.push_str(&regex::escape(kept));
            told = told.saturating_add(kept.chars().filter(|c| c.is_alphanumeric()).count());
            room = room.saturating_sub(kept.chars().count());
            if kept.len() < piece.len() {
                return Some(pattern);
            }
        }
        pattern.push('$');
        (told >= TOLD).then_some(pattern)
    }

    /// The pieces of a text between those that it repeats.
    fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let secrets = self.values.iter().filter(|secret| !secret.is_empty());
        let mut secrets: Vec<_> = secrets.collect();
        // One may be a part of another, whose rest would stay.
        secrets.sort_by_key(|secret| Reverse(secret.len()));
        let mut pieces = vec![text];
        for secret in secrets {
            let split = pieces.iter().flat_map(|piece| split(piece, secret));
            pieces = split.collect();
        }
        pieces
    }
}

/// Whether a secret is only known where it stands as a word.
fn is_short(secret: &str) -> bool {
    secret.chars().nth(SHORT).is_none()
}

/// The pieces of a text between the places where a secret is. Inside words a short one is not looked for.
fn split<'a>(text: &'a str, secret: &str) -> Vec<&'a str> {
    let is_inside = |one: Option<char>, next: Option<char>| {
        one.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric)
    };
    let (mut pieces, mut end) = (Vec::new(), 0);
    for (at, found) in text.match_indices(secret) {
        let after = at.saturating_add(found.len());
        let begins_inside = is_inside(text[..at].chars().next_back(), secret.chars().next());
        let ends_inside = is_inside(secret.chars().next_back(), text[after..].chars().next());
        if !is_short(secret) || !begins_inside && !ends_inside {
            pieces.push(&text[end..at]);
            end = after;
        }
    }
    pieces.push(&text[end..]);
    pieces
}

/// A text as it stands alone, in JSON, in JSON of nothing but ASCII with small digits or large ones, and in URLs.
fn spellings(text: &str) -> [String; 5] {
    let json = Value::from(text).to_string();
    let inside = json.len().saturating_sub(1);
    let json = json.get(1..inside).unwrap_or_default();
    let (mut small, mut large) = (String::new(), String::new());
    for c in json.chars() {
        if c.is_ascii() {
            small.push(c);
            large.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            small.push_str(&format!("\\u{unit:04x}"));
            large.push_str(&format!("\\u{unit:04X}"));
        }
    }
    let url = byte_serialize(text.as_bytes()).collect();
    [text.to_owned(), json.to_owned(), small, large, url]
}

/// Whether a value holds a secret that is none of a member within.
fn is_held(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(all) => all.iter().any(is_held),
        value => holds(value),
    }
}

/// Takes the query and the fragment from a link, in which many servers write whom it is for.
fn without_query(link: &mut Value) {
    if let Value::String(text) = link
        && let Some(end) = text.find(['?', '#'])
    {
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_repeats_is_left_out_however_it_is_written() {
        #[track_caller]
        fn check(secret: &str, said: Value, left: Value) {
            let mut secrets = Secrets::default();
            secrets.note("password", &json!(secret));
            secrets.note("parts", &json!(["hunt", "unter", "e"]));
            secrets.note("pin", &json!(4711));
            let credentials = json!({"user": "adalove", "keys": [{"of": "k0123"}, 4_712_000]});
            secrets.note("credentials", &credentials);
            secrets.note("login", &json!({"name": "grace", "password": "cobol1959"}));
            let mut message = json!({"result": said});
            secrets.leave_out(&mut message, false);
            assert_eq!(message, json!({"result": left}), "{secret}");
        }
        check(
            "hush",
            json!({"was": "hush!"}),
            json!({"was": "(left out)!"}),
        );
        check(
            "hush",
            json!({"hush": 1, "a": 2}),
            json!({"(left out)": 1, "a": 2}),
        );
        let secret = "hünter\"2";
        for text in [
            json!({ "was": secret }).to_string(),
            r#"{"was":"h\u00fcnter\"2"}"#.to_owned(),
            r#"{"was":"h\u00FCnter\"2"}"#.to_owned(),
            format!("{{\"was\":\"{secret}\"}}"),
        ] {
            check(secret, json!([text]), json!(["{\"was\":\"(left out)\"}"]));
        }
        let url = json!("https://a.test/?q=h%C3%BCnter%222");
        check(secret, url, json!("https://a.test/?q=(left out)"));
        check("hush", json!([4711, 4712]), json!([null, 4712]));
        check("\"", json!("a \"b\""), json!("a (left out)b(left out)"));
        check("hunters", json!("hunters"), json!("(left out)"));
        let within = json!({"said": "adalove has k0123, grace cobol1959", "number": 4_712_000});
        let left = json!({"said": "(left out) has (left out), grace (left out)", "number": null});
        check("hush", within, left);
        // What is too short is left inside words, and words of the protocol stay.
        check(
            "x",
            json!(["e, the e2!", "-e-"]),
            json!(["(left out), the e2!", "-(left out)-"]),
        );
        for word in ["text", "type", "e", "object", "2025-11-25", "form"] {
            let said = json!({
                "content": [{"type": "text"}], "mode": "form", "protocolVersion": "2025-11-25",
                "requestedSchema": {"type": "object", "properties": {"a": {"minimum": 4711}}},
            });
            check(word, said.clone(), said);
        }
        check(
            "text",
            json!({"text": "text"}),
            json!({"text": "(left out)"}),
        );
        check(
            "hush",
            json!({"type": "hush"}),
            json!({"type": "(left out)"}),
        );
        check("left", json!("left out"), json!("(left out) out"));
    }

    #[test]
    fn no_name_that_is_sent_repeats_a_secret() {
        #[track_caller]
        fn check(params: Value, left: Value, places: &[&str]) {
            let mut secrets = Secrets::default();
            for secret in ["ha~sh", "name"] {
                secrets.note("password", &json!(secret));
            }
            let mut message = json!({"params": params});
            let left_out = secrets.leave_out(&mut message, true);
            assert_eq!(message, json!({"params": left}));
            assert_eq!(left_out, places);
        }
        check(
            json!({"name": "t", "arguments": {"a": {"ha~sh": 1, "b": "ha~sh"}}}),
            json!({"name": "t", "arguments": {"a": {"b": null}}}),
            &["/params/arguments/a/b"],
        );
        check(
            json!({"inputResponses": {"of ha~sh": {"content": {"ha~sh": 1}}}}),
            json!({"inputResponses": {"of (left out)": {"content": {}}}}),
            &[],
        );
    }

    #[test]
    fn a_pattern_fits_its_text_alone() {
        #[track_caller]
        fn check(text: &str, fits: &[&str], others: &[&str]) {
            let mut secrets = Secrets::default();
            for secret in ["hush", "to sea"] {
                secrets.note("password", &json!(secret));
            }
            let pattern = secrets.pattern_without(text);
            assert_eq!(pattern.is_some(), !fits.is_empty(), "{pattern:?}");
            let Some(pattern) = pattern else { return };
            assert!(!secrets.are_in(&pattern), "{pattern}");
            let pattern = regex::Regex::new(&pattern).expect("it is a pattern");
            for fit in fits.iter().chain([&text]) {
                assert!(pattern.is_match(fit), "{pattern} {fit}");
            }
            for other in others {
                assert!(!pattern.is_match(other), "{pattern} {other}");
            }
        }
        check("hush?", &[], &[]);
        check("hushhush: a b?", &[], &[]);
        check(
            "hush: is that yours?",
            &["(left out): is that yours?", "other: is that yours?"],
            &["Delete all: is that yours?", "so: is that yours? Really?"],
        );
        check("Go\nto sea now?", &["Go\nto the hill now?"], &["Go\nnow?"]);
        check("Right now (hush)?", &["Right now (a)?"], &[]);
        let long = format!("hush {}", "x".repeat(PATTERN + 1));
        check(&long, &[&long], &["hush x"]);
    }
}
