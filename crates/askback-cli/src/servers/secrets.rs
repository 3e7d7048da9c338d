//! Secrets in what is said of a server, and the variables that take their place.

use askback_core::forms::{Field, TextField};
use serde_json::Value;

use super::expand::Names;

/// A secret in whose place a variable stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concealed {
    /// The place: `env`, `headers`, `args` or `url`.
    pub member: &'static str,
    /// The variable.
    pub variable: String,
}

/// The last words of names that secrets have, beside those of [`Field::looks_secret`].
const LAST_WORDS: [&str; 8] = [
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "CREDENTIAL",
    "KEY",
    "PAT",
    "PW",
    "SECRET",
];

/// How the tokens of widespread services begin.
const BEGINNINGS: [&str; 13] = [
    "AKIA",
    "AIza",
    "eyJ",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "hf_",
    "ntn_",
    "sk-",
    "sk_",
    "xoxb-",
    "xoxp-",
];

/// The words before a token in a header.
const SCHEMES: [&str; 4] = ["Basic ", "Bearer ", "Token ", "token "];

/// Puts variables in the place of what seems to be a secret in the entry of a server.
pub fn conceal(name: &str, server: &mut Value) -> Vec<Concealed> {
    let mut concealed = Vec::new();
    if let Some(Value::Object(variables)) = server.get_mut("env") {
        for (variable, value) in variables {
            // The name of the variable is that of the person's own environment, too.
            put(value, variable, || variable.clone(), "env", &mut concealed);
        }
    }
    if let Some(Value::Object(headers)) = server.get_mut("headers") {
        for (header, value) in headers {
            put(
                value,
                header,
                || joined(name, header),
                "headers",
                &mut concealed,
            );
        }
    }
    if let Some(Value::Array(args)) = server.get_mut("args") {
        let mut before = String::new();
        for arg in args {
            let text = arg.as_str().unwrap_or_default().to_owned();
            match text.split_once('=').filter(|_| text.starts_with('-')) {
                Some((option, value)) => {
                    let mut value = Value::from(value);
                    let of = || joined(name, option);
                    put(&mut value, option, of, "args", &mut concealed);
                    *arg = format!("{option}={}", value.as_str().unwrap_or_default()).into();
                }
                None if text.starts_with('-') => {}
                None => put(
                    arg,
                    &before,
                    || joined(name, &before),
                    "args",
                    &mut concealed,
                ),
            }
            before = match text.starts_with('-') && !text.contains('=') {
                true => text,
                false => String::new(),
            };
        }
    }
    if let Some(Value::String(url)) = server.get_mut("url")
        && let Some((before, query)) = url.split_once('?')
    {
        let pairs = query.split('&').map(|pair| {
            let Some((key, value)) = pair.split_once('=') else {
                return pair.to_owned();
            };
            let mut value = Value::from(value);
            put(&mut value, key, || joined(name, key), "url", &mut concealed);
            format!("{key}={}", value.as_str().unwrap_or_default())
        });
        let query: Vec<_> = pairs.collect();
        *url = format!("{before}?{}", query.join("&"));
    }
    concealed
}

/// Puts variables in the place of inputs, which the file of another client has: their names.
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

/// Puts a variable in the place of a value that seems to be a secret.
fn put(
    value: &mut Value,
    key: &str,
    variable: impl FnOnce() -> String,
    member: &'static str,
    concealed: &mut Vec<Concealed>,
) {
    let Value::String(text) = value else { return };
    let mut schemes = SCHEMES.into_iter();
    let scheme = schemes
        .find(|scheme| text.starts_with(scheme))
        .unwrap_or_default();
    let secret = text.get(scheme.len()..).unwrap_or_default();
    // A name stands there already.
    if secret.is_empty() || secret.contains("${") {
        return;
    }
    let looks_like_one = BEGINNINGS.iter().any(|begin| secret.starts_with(begin));
    if !scheme.is_empty() || looks_like_one || is_secret(key) {
        let variable = variable();
        *text = format!("{scheme}${{{variable}}}");
        concealed.push(Concealed { member, variable });
    }
}

/// Whether a name is one that secrets have.
fn is_secret(name: &str) -> bool {
    let words = upper(name);
    let last = words.rsplit('_').next().unwrap_or_default();
    LAST_WORDS.contains(&last) || Field::new(name, TextField::default()).looks_secret()
}

/// The variable for a secret of a server.
fn joined(server: &str, key: &str) -> String {
    let variable = [upper(server), upper(key)].join("_");
    match variable.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{variable}"),
        false => variable,
    }
}

/// A name as variables are written: `--api-key` is `API_KEY`.
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
            json!({"args": ["--api-key", "x", "--token=x", "-v", "ghp_x", "--password", "--other"]}),
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
