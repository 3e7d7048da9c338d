//! The known secrets of a session, which a recording leaves out.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    secret::{after_scheme, is_argument, is_in, is_name, is_plain_header},
    servers::conceal_args,
    target::{Reach, Target},
};

/// Shorter values are removed only in their own place, because other texts repeat them by chance.
const MIN_SECRET_CHARS: usize = 4;

/// The values known to be secret, and the names of what was left out.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    pub(super) names: BTreeSet<String>,
    values: BTreeSet<String>,
}

impl Secrets {
    /// The user's values for the server: headers, environment, secret arguments, and the query of its URL.
    pub(super) fn of(target: &Target) -> Self {
        let mut secrets = Self::default();
        match &target.reach {
            Reach::Address(address) => {
                let headers = address.headers.iter();
                for (_, value) in headers.filter(|(name, _)| !is_plain_header(name)) {
                    secrets.add(value);
                    secrets.add(after_scheme(value).1);
                }
                if let Ok(url) = Url::parse(&address.url) {
                    for (_, value) in url.query_pairs() {
                        secrets.add(&value);
                    }
                }
            }
            Reach::Start(command) => {
                for value in command.env.values() {
                    secrets.add(value);
                    if let Some(password) = Url::parse(value).as_ref().ok().and_then(Url::password)
                    {
                        secrets.add(password);
                    }
                }
                // The values of variables in the server file, and of options such as `--api-key`.
                let written = command.told().args.iter();
                let concealed = conceal_args(&command.args);
                for ((arg, concealed), written) in command.args.iter().zip(&concealed).zip(written)
                {
                    if arg != concealed || arg != written {
                        secrets.add(arg);
                        secrets.add(arg.split_once('=').map_or("", |(_, value)| value));
                    }
                }
            }
        }
        secrets
    }

    fn add(&mut self, value: &str) {
        let value = value.trim();
        if value.chars().nth(MIN_SECRET_CHARS - 1).is_some() {
            self.values.insert(value.to_owned());
            // The JSON form, as it appears inside a text.
            let json = Value::from(value).to_string();
            self.values.insert(json.trim_matches('"').to_owned());
        }
    }

    /// Records a secret value, and all texts and numbers in it.
    pub(super) fn note(&mut self, name: &str, value: &Value) {
        self.names.insert(name.to_owned());
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.note(name, item)),
            Value::Object(members) => members.values().for_each(|item| self.note(name, item)),
        }
    }

    /// Removes members whose names suggest secrets or whose values look like a token.
    pub(super) fn remove_from(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => self.remove_from_members(members),
            Value::Array(items) => items.iter_mut().for_each(|item| self.remove_from(item)),
            _ => {}
        }
    }

    /// Like [`Self::remove_from`], for an object's members.
    pub(super) fn remove_from_members(&mut self, members: &mut Map<String, Value>) {
        members.retain(|name, value| {
            if is_name(name) || looks_secret(value) {
                self.note(name, value);
                return false;
            }
            self.remove_from(value);
            true
        });
    }

    /// Structured content as conditions, by JSON pointer, on its members that may not be secret. Only objects have them.
    pub(super) fn conditions(&mut self, structured: &Value) -> Option<Map<String, Value>> {
        self.remove_from(&mut structured.clone());
        let plain = structured.as_object()?.clone().into_iter();
        let plain = plain.filter(|(name, value)| !is_argument(name, value));
        let conditions = plain.map(|(name, value)| {
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            match value {
                // A map would be read as a condition.
                Value::Object(value) => (pointer, json!({"equals": value})),
                value => (pointer, value),
            }
        });
        Some(conditions.collect()).filter(|all: &Map<_, _>| !all.is_empty())
    }

    /// A value without the members that repeat a secret. Returns `None` if the value itself repeats one.
    pub(super) fn without(&mut self, value: Value) -> Option<Value> {
        match value {
            Value::Object(members) => Some(self.without_members(members).into()),
            value => (!self.are_within(&value)).then_some(value),
        }
    }

    /// The members that do not repeat a secret.
    pub(super) fn without_members(&mut self, members: Map<String, Value>) -> Map<String, Value> {
        let mut kept = Map::new();
        for (name, value) in members {
            match self.without(value) {
                Some(value) if !self.are_in(&name) => drop(kept.insert(name, value)),
                _ => drop(self.names.insert(name)),
            }
        }
        kept
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        self.values.iter().any(|value| text.contains(&**value))
    }

    /// Whether a name or value inside this value repeats a secret.
    pub(super) fn are_within(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.are_in(text),
            Value::Number(number) => self.values.contains(&number.to_string()),
            Value::Array(items) => items.iter().any(|item| self.are_within(item)),
            Value::Object(members) => members
                .iter()
                .any(|(name, value)| self.are_in(name) || self.are_within(value)),
            Value::Null | Value::Bool(_) => false,
        }
    }
}

/// Whether a text, or a text in a list, looks like a token.
fn looks_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => is_in(text, is_name),
        Value::Array(items) => items.iter().any(looks_secret),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::target::{Address, Command};

    fn texts(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        let all = all.iter();
        all.map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[track_caller]
    fn check(reach: Reach, secret: &[&str], plain: &[&str]) {
        let target = Target {
            reach,
            ..Target::child("x", &[])
        };
        let secrets = Secrets::of(&target);
        for text in secret {
            assert!(secrets.are_in(text), "{text}");
        }
        for text in plain {
            assert!(!secrets.are_in(text), "{text}");
        }
    }

    #[test]
    fn what_the_user_gave_for_a_server_is_known() {
        let address = Address {
            url: "https://a.test/mcp?key=hunter3".to_owned(),
            headers: texts(&[
                ("X-Api-Key", "hunter2"),
                ("Authorization", "Bearer hunter4"),
                ("Accept", "text/plain"),
            ]),
            ..Address::default()
        };
        check(
            Reach::Address(address),
            &["it is hunter2.", "hunter3", "hunter4"],
            &["text/plain", "Bearer", ""],
        );
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let command = Command {
            args: words(&[
                "--api-key",
                "hunter5",
                "--token=hunter6",
                "--port",
                "8080",
                "adam!",
            ]),
            env: texts(&[
                ("API_KEY", "hunter7"),
                ("URL", "db://u:hunter8@h/"),
                ("DEBUG", "1"),
                ("QUOTED", "a\"b\"c"),
            ]),
            written: Some(Box::new(Command {
                args: words(&[
                    "--api-key",
                    "hunter5",
                    "--token=hunter6",
                    "--port",
                    "8080",
                    "${USER}!",
                ]),
                ..Command::default()
            })),
            ..Command::default()
        };
        check(
            Reach::Start(command),
            &[
                "hunter5",
                "hunter6",
                "hunter7",
                "hunter8",
                "adam!",
                r#"{\"a\":\"a\"b\"c\"}"#,
                r#"a\"b\"c"#,
            ],
            &["--api-key", "8080", "1"],
        );
    }

    #[test]
    fn secret_members_are_removed_and_known_from_then_on() {
        let mut secrets = Secrets::default();
        let mut value = json!({
            "user": "ada",
            "login": {"password": "hush-hush", "keep": 1},
            "list": [{"apiKey": ["hush-key"]}, "x"],
            "path": "ghp_hush",
        });
        secrets.remove_from(&mut value);
        let left = json!({"user": "ada", "login": {"keep": 1}, "list": [{}, "x"]});
        assert_eq!(value, left);
        assert!(secrets.are_in("it is hush-hush") && secrets.are_in("ghp_hush"));
        let names: Vec<_> = secrets.names.iter().collect();
        assert_eq!(names, ["apiKey", "password", "path"]);
    }
}
