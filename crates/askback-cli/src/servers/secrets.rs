//! Replaces secrets in a server entry with variables.

use serde_json::{Map, Value};

use super::{document::KNOWN, expand::Names};
use crate::secret::{after_scheme, holds, is_in, is_plain_header, is_setting};

/// A secret that was replaced with a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcealedSecret {
    /// Where it was: `env`, `headers`, `args`, `url`, `oauth` or `other members`.
    pub member: &'static str,
    pub variable: String,
}

/// Environment variables whose values are not secrets, unless they look like one.
const PLAIN_VARIABLES: [&str; 16] = [
    "DEBUG",
    "HOME",
    "HOST",
    "LANG",
    "LANGUAGE",
    "LOG_LEVEL",
    "NODE_ENV",
    "NO_COLOR",
    "PATH",
    "PORT",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "RUST_LOG",
    "TERM",
    "TMPDIR",
    "TZ",
];

/// Replaces possible secrets in an entry with variables: every value of `env` and `headers` that is not known to be
/// harmless, and elsewhere every value that looks like a secret.
pub fn conceal(name: &str, server: &mut Value) -> Vec<ConcealedSecret> {
    let mut concealing = Concealing {
        server: name,
        concealed: Vec::new(),
    };
    let Value::Object(members) = server else {
        return Vec::new();
    };
    members.retain(|member, _| KNOWN.contains(&member.as_str()));
    for (member, value) in members {
        match (member.as_str(), value) {
            ("env", Value::Object(variables)) => concealing.variables(variables),
            ("headers", Value::Object(headers)) => concealing.headers(headers),
            ("args", Value::Array(args)) => concealing.args(args),
            ("url", Value::String(url)) => concealing.url(url),
            ("oauth", Value::Object(settings)) => concealing.sign_in(settings),
            (_, Value::String(text)) if is_in(&literal(text), is_setting) => {
                *text = concealing.variable(joined(name, member), "other members");
            }
            _ => {}
        }
    }
    concealing.concealed
}

/// The words of a command, with variables in place of values that look like secrets.
pub fn conceal_args(name: &str, args: &[String]) -> Vec<String> {
    let mut concealing = Concealing {
        server: name,
        concealed: Vec::new(),
    };
    let mut args: Vec<_> = args.iter().map(|arg| Value::from(arg.as_str())).collect();
    concealing.args(&mut args);
    let texts = args.into_iter();
    texts
        .map(|arg| arg.as_str().unwrap_or_default().to_owned())
        .collect()
}

struct Concealing<'a> {
    server: &'a str,
    concealed: Vec<ConcealedSecret>,
}

impl Concealing<'_> {
    fn variables(&mut self, variables: &mut Map<String, Value>) {
        for (name, value) in variables {
            let known = upper(name);
            let is_plain = PLAIN_VARIABLES.contains(&&*known) || known.starts_with("LC_");
            if self.may_be_secret(name, value, is_plain) {
                // The user's environment may have a variable of the same name.
                let is_usable = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                    && !name.starts_with(|c: char| c.is_ascii_digit());
                let wanted = match is_usable {
                    true => name.clone(),
                    false => joined(self.server, name),
                };
                *value = self.variable(wanted, "env").into();
            }
        }
    }

    fn headers(&mut self, headers: &mut Map<String, Value>) {
        for (name, value) in headers {
            if self.may_be_secret(name, value, is_plain_header(name)) {
                let text = value.as_str().unwrap_or_default();
                *value = self.after_scheme(name, text, "headers").into();
            }
        }
    }

    /// Whether a value of `env` or `headers` may be a secret.
    fn may_be_secret(&self, name: &str, value: &Value, is_plain: bool) -> bool {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            // A value of the wrong type. askback does not use it.
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return holds(value);
            }
        };
        let literal = literal(&text);
        match () {
            () if is_empty(&literal) => false,
            () if is_in(&literal, is_setting) => true,
            // It already contains a variable.
            () if literal != text => is_setting(name),
            () => !is_plain,
        }
    }

    fn args(&mut self, args: &mut [Value]) {
        let mut before = String::new();
        for (at, arg) in args.iter_mut().enumerate() {
            let text = match arg {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => String::new(),
            };
            let literal = literal(&text);
            let is_option = text.starts_with('-');
            let follows = !is_option && is_setting(&before) && !is_empty(&literal);
            if follows {
                *arg = self.variable(joined(self.server, &before), "args").into();
            } else if is_in(&literal, is_setting) {
                *arg = self.arg(&before, at, &text).into();
            }
            before = match is_option && !text.contains('=') {
                true => text,
                false => String::new(),
            };
        }
    }

    /// Replaces the secret in an argument with a variable: only the value after a name, or else the whole argument.
    fn arg(&mut self, before: &str, at: usize, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let end = text.find(|c| !is_part(c)).unwrap_or_default();
        let (name, rest) = text.split_at(end);
        let value = rest.trim_start_matches([':', '=', ' ']);
        let sign = &rest[..rest.len().saturating_sub(value.len())];
        let is_value = match sign.chars().next() {
            // In a shell, a word after an assignment is a command.
            Some('=') => {
                name.starts_with('-') || !after_scheme(value).1.contains(char::is_whitespace)
            }
            Some(':') => !value.starts_with("//"),
            _ => false,
        };
        if is_value && !name.is_empty() && !value.is_empty() && !is_in(name, is_setting) {
            let value = self.after_scheme(name, value, "args");
            return format!("{name}{sign}{value}");
        }
        let wanted = match before {
            "" => joined(self.server, &format!("arg_{}", at.saturating_add(1))),
            before => joined(self.server, before),
        };
        self.variable(wanted, "args")
    }

    fn url(&mut self, url: &mut String) {
        if let Some((before, query)) = url.split_once('?')
            && !is_in(&literal(before), is_setting)
        {
            let pairs = query.split('&').map(|pair| {
                let Some((key, value)) = pair.split_once('=') else {
                    return pair.to_owned();
                };
                let literal = literal(value);
                let is_secret = is_setting(key) || is_in(&literal, is_setting);
                match is_secret && !is_empty(&literal) {
                    true => format!("{key}={}", self.variable(joined(self.server, key), "url")),
                    false => pair.to_owned(),
                }
            });
            let query: Vec<_> = pairs.collect();
            *url = format!("{before}?{}", query.join("&"));
        }
        if is_in(&literal(url), is_setting) {
            *url = self.variable(joined(self.server, "url"), "url");
        }
    }

    /// `clientSecretEnv` names the variable with the client's secret.
    fn sign_in(&mut self, settings: &mut Map<String, Value>) {
        if let Some(secret) = settings.remove("clientSecret")
            && !secret.is_null()
            && !settings.contains_key("clientSecretEnv")
        {
            let variable = joined(self.server, "client_secret");
            settings.insert("clientSecretEnv".to_owned(), variable.clone().into());
            self.concealed.push(ConcealedSecret {
                member: "oauth",
                variable,
            });
        }
        for (name, value) in settings {
            // The name of a variable is not a secret.
            let is_named = is_setting(name) && !upper(name).ends_with("ENV");
            let text = literal(value.as_str().unwrap_or_default());
            if !is_empty(&text) && (is_named || is_in(&text, is_setting)) {
                *value = self.variable(joined(self.server, name), "oauth").into();
            }
        }
    }

    /// Replaces a value with a variable, except for the scheme before its token.
    fn after_scheme(&mut self, name: &str, text: &str, member: &'static str) -> String {
        let scheme = after_scheme(text).0;
        let variable = self.variable(joined(self.server, name), member);
        format!("{scheme}{variable}")
    }

    /// Returns a reference to a variable whose name is not used elsewhere in the entry.
    fn variable(&mut self, wanted: String, member: &'static str) -> String {
        let mut variable = wanted.clone();
        let mut number: u32 = 1;
        while self.concealed.iter().any(|one| one.variable == variable) {
            number = number.saturating_add(1);
            variable = format!("{wanted}_{number}");
        }
        let written = format!("${{{variable}}}");
        self.concealed.push(ConcealedSecret { member, variable });
        written
    }
}

/// A text without its variables, but with their default values. The shell's `$NAME` is also a variable.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        literal.push_str(before);
        let inside = after
            .strip_prefix('{')
            .and_then(|inside| inside.split_once('}'));
        if let Some((inside, after)) = inside {
            if inside
                .split_once(":-")
                .is_some_and(|(_, default)| !default.is_empty())
            {
                literal.push_str(inside);
            }
            rest = after;
            continue;
        }
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let goes_on = after[end..].starts_with(char::is_alphanumeric);
        if end == 0 || goes_on || after.starts_with(|c: char| c.is_ascii_digit()) {
            literal.push('$');
            rest = after;
        } else {
            rest = &after[end..];
        }
    }
    literal + rest
}

/// Whether a text is empty, or only the scheme of a token.
fn is_empty(literal: &str) -> bool {
    after_scheme(literal).1.trim().is_empty()
}

/// Replaces inputs, which are defined in the other client's file, with variables. Returns their names.
pub fn without_inputs(server: &mut Value) -> Vec<String> {
    let ids = Names::of(server).inputs;
    let inputs: Vec<_> = ids
        .iter()
        .map(|id| (format!("${{input:{id}}}"), upper(id)))
        .collect();
    for (input, variable) in &inputs {
        replace(server, input, &format!("${{{variable}}}"));
    }
    inputs.into_iter().map(|(_, variable)| variable).collect()
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, from, to)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| replace(value, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn joined(server: &str, key: &str) -> String {
    let variable = [upper(server), upper(key)].join("_");
    match variable.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{variable}"),
        false => variable,
    }
}

/// The usual variable name for a name: `API_KEY` for `--api-key`.
fn upper(name: &str) -> String {
    let signs = name.chars().map(|c| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    });
    let signs: String = signs.collect();
    let words = signs.split('_').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_input_of_another_file_is_a_variable() {
        let mut server =
            json!({"env": {"A": "<${input:my-key}>"}, "args": ["${input:my-key}${A}"]});
        assert_eq!(without_inputs(&mut server), ["MY_KEY"]);
        assert_eq!(
            server,
            json!({"env": {"A": "<${MY_KEY}>"}, "args": ["${MY_KEY}${A}"]})
        );
    }

    #[test]
    fn a_variable_takes_the_place_of_a_secret() {
        #[track_caller]
        fn check(mut server: Value, expected: Value, variables: &[&str]) {
            let concealed = conceal("my-git", &mut server);
            assert_eq!(server, expected);
            let named: Vec<_> = concealed.iter().map(|one| &*one.variable).collect();
            assert_eq!(named, variables);
        }
        let same = |server: Value| check(server.clone(), server, &[]);
        same(
            json!({"command": "x", "args": ["-y", "@scope/x", "--port", "80"], "env": {"LANG": "C"}}),
        );
        same(json!({"url": "https://a.test/?x=1&y"}));
        same(
            json!({"env": {"API_KEY": "${API_KEY}"}, "headers": {"Authorization": "Bearer ${A}"}}),
        );
        same(json!({"env": {"A": "${A:-b}", "B": "${HOME}/b", "TOKEN": "${TOKEN:-}", "PORT": 80}}));
        same(
            json!({"args": ["--header", "Authorization: Bearer ${A}", "-c", "run \"$TOKEN\"", "A=$TOKEN"]}),
        );
        same(
            json!({"oauth": {"clientId": "x", "clientSecretEnv": "X"}, "type": "http", "disabled": true}),
        );
        check(
            json!({"env": {"DSN": "x", "PIN": 1234, "HOME": "ghp_x", "a.b": "x", "X_KEY": "${X_KEY:-x}"}}),
            json!({"env": {
                "DSN": "${DSN}", "PIN": "${PIN}", "HOME": "${HOME}", "a.b": "${MY_GIT_A_B}", "X_KEY": "${X_KEY}",
            }}),
            &["DSN", "HOME", "PIN", "X_KEY", "MY_GIT_A_B"],
        );
        check(
            json!({"headers": {"X": "x", "authorization": "bearer x"}}),
            json!({"headers": {"X": "${MY_GIT_X}", "authorization": "bearer ${MY_GIT_AUTHORIZATION}"}}),
            &["MY_GIT_X", "MY_GIT_AUTHORIZATION"],
        );
        check(
            json!({"args": [
                "--header", "Authorization: Bearer x", "-H", "X-Api-Key: x", "-e", "TOKEN=x", "x: bearer x",
                "api_key=x", "postgresql://u:x@h/db", "--url=HTTPS://u:x@h", "-c", "TOKEN=x run", "TOKEN=y",
            ]}),
            json!({"args": [
                "--header", "Authorization: Bearer ${MY_GIT_AUTHORIZATION}",
                "-H", "X-Api-Key: ${MY_GIT_X_API_KEY}", "-e", "TOKEN=${MY_GIT_TOKEN}",
                "x: bearer ${MY_GIT_X}", "api_key=${MY_GIT_API_KEY}", "${MY_GIT_ARG_9}",
                "--url=${MY_GIT_URL}", "-c", "${MY_GIT_C}", "TOKEN=${MY_GIT_TOKEN_2}",
            ]}),
            &[
                "MY_GIT_AUTHORIZATION",
                "MY_GIT_X_API_KEY",
                "MY_GIT_TOKEN",
                "MY_GIT_X",
                "MY_GIT_API_KEY",
                "MY_GIT_ARG_9",
                "MY_GIT_URL",
                "MY_GIT_C",
                "MY_GIT_TOKEN_2",
            ],
        );
        check(
            json!({"url": "https://u:x@a.test/mcp?key=x"}),
            json!({"url": "${MY_GIT_URL}"}),
            &["MY_GIT_URL"],
        );
        check(
            json!({"oauth": {"clientSecret": "x", "clientId": "x"}, "auth": {"token": "x"}}),
            json!({"oauth": {"clientSecretEnv": "MY_GIT_CLIENT_SECRET", "clientId": "x"}}),
            &["MY_GIT_CLIENT_SECRET"],
        );
        check(
            json!({"env": {"GITHUB_TOKEN": "x", "MY_KEY": "x", "X": "sk-1"}}),
            json!({"env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "MY_KEY": "${MY_KEY}", "X": "${X}"}}),
            &["GITHUB_TOKEN", "MY_KEY", "X"],
        );
        check(
            json!({"headers": {"Authorization": "Bearer x", "X-Api-Key": "x", "Accept": "x"}}),
            json!({"headers": {
                "Authorization": "Bearer ${MY_GIT_AUTHORIZATION}", "X-Api-Key": "${MY_GIT_X_API_KEY}",
                "Accept": "x",
            }}),
            &["MY_GIT_AUTHORIZATION", "MY_GIT_X_API_KEY"],
        );
        check(
            json!({"args": ["--api-key", "x=ghp_x", "--token=x", "-v", "ghp_x", "--password", "--other"]}),
            json!({"args": [
                "--api-key", "${MY_GIT_API_KEY}", "--token=${MY_GIT_TOKEN}", "-v", "${MY_GIT_V}",
                "--password", "--other",
            ]}),
            &["MY_GIT_API_KEY", "MY_GIT_TOKEN", "MY_GIT_V"],
        );
        check(
            json!({"url": "https://a.test/mcp?x=1&api_key=x"}),
            json!({"url": "https://a.test/mcp?x=1&api_key=${MY_GIT_API_KEY}"}),
            &["MY_GIT_API_KEY"],
        );
    }
}
