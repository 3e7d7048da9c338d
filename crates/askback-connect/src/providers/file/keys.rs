//! The keys of a file of providers, and what each takes.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The type of a value.
enum Kind {
    Text,
    Character,
    Flag,
    Texts,
    TextTable,
    TextsTable,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A variable or a file.
    Secret,
    /// A table of these keys; those of the second list must be there.
    Table(Keys, &'static [&'static str]),
    /// Anything.
    Any,
}

/// Keys, each with what it takes.
type Keys = &'static [(&'static str, Kind)];

/// The keys of a provider.
const PROVIDER: Keys = &[
    ("preset", Kind::Text),
    ("title", Kind::Text),
    ("page", Kind::Text),
    ("client_id", Kind::Text),
    ("client_secret", Kind::Secret),
    ("api_key", Kind::Table(API_KEY, &[])),
    ("tenant", Kind::Text),
    ("single_user_device_flow", Kind::Flag),
    ("issuer", Kind::Text),
    ("authorization_endpoint", Kind::Text),
    ("token_endpoint", Kind::Text),
    ("device_endpoint", Kind::Text),
    ("revocation_endpoint", Kind::Text),
    ("revocation", Kind::Table(REVOCATION, &["by", "url"])),
    ("client_methods", Kind::Texts),
    ("require_issuer", Kind::Flag),
    ("comma_answers", Kind::Flag),
    ("code_tokens_at", Kind::Text),
    ("token_types", Kind::Texts),
    ("scopes", Kind::Texts),
    ("scope_parameter", Kind::Text),
    ("scope_separator", Kind::Character),
    ("scope_prefix", Kind::Text),
    ("unlisted_scopes", Kind::Texts),
    ("implied_scopes", Kind::TextsTable),
    ("scope_words", Kind::TextTable),
    ("parameters", Kind::TextTable),
    ("refresh_refusals", Kind::Texts),
    ("revokes_singly", Kind::Flag),
    ("account", Kind::Table(ACCOUNT, &[])),
    ("api", Kind::Texts),
];

const API_KEY: Keys = &[
    ("hint", Kind::Text),
    ("page", Kind::Text),
    ("check", Kind::Table(CHECK, &["url", "header"])),
];

const CHECK: Keys = &[
    ("url", Kind::Text),
    ("header", Kind::Text),
    ("prefix", Kind::Text),
];

const REVOCATION: Keys = &[
    ("by", Kind::OneOf(&["bearer", "client"])),
    ("url", Kind::Text),
];

const ACCOUNT: Keys = &[
    ("claim", Kind::Text),
    ("url", Kind::Text),
    ("body", Kind::Any),
    ("name", Kind::Texts),
    ("id", Kind::Texts),
];

const SECRET: Keys = &[("file", Kind::Text)];

/// A key that is none, or whose value is another than it must be.
pub(super) struct BadKey {
    /// Where it is in the file, in bytes.
    pub(super) at: usize,
    /// The key, after those of the tables that it is in; none where there is no such key.
    pub(super) key: Option<String>,
    /// The fault. It has no value of the file.
    pub(super) why: String,
}

/// Checks the table of a provider.
pub(super) fn check(table: &DeTable<'_>, span: Range<usize>) -> Result<(), BadKey> {
    check_table(table, &span, PROVIDER, &[], "")
}

/// Returns where a key of a provider is, such as `account.url`, or the innermost of its tables that is there.
pub(super) fn place(table: &DeTable<'_>, path: &str) -> Option<usize> {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(a, b)| (a, Some(b)));
    let (key, value) = table.get_key_value(first)?;
    let inner = rest.and_then(|rest| place(value.get_ref().as_table()?, rest));
    Some(inner.unwrap_or(key.span().start))
}

fn check_table(
    table: &DeTable<'_>,
    span: &Range<usize>,
    keys: Keys,
    needed: &[&str],
    within: &str,
) -> Result<(), BadKey> {
    for (key, value) in table {
        let (at, name) = (key.span().start, key.get_ref());
        let path = match within {
            "" => name.to_string(),
            _ => format!("{within}.{name}"),
        };
        let Some((_, kind)) = keys.iter().find(|(known, _)| known == name) else {
            return Err(BadKey {
                at,
                key: None,
                why: unknown(&path, name, keys),
            });
        };
        check_value(value, kind, &path).map_err(|bad| match bad {
            // Its key is where a reader looks for it.
            Bad::Value(why) => BadKey {
                at,
                key: Some(path),
                why,
            },
            Bad::Within(bad) => bad,
        })?;
    }
    let lacks = needed.iter().find(|it| !table.contains_key(**it));
    match lacks {
        None => Ok(()),
        Some(lacks) => Err(BadKey {
            at: span.start,
            key: Some(within.to_owned()),
            why: format!("it has no `{lacks}`"),
        }),
    }
}

/// The fault of a value: its own, or that of a key in it.
enum Bad {
    Value(String),
    Within(BadKey),
}

fn check_value(value: &Spanned<DeValue<'_>>, kind: &Kind, path: &str) -> Result<(), Bad> {
    let (span, value) = (value.span(), value.get_ref());
    let table = |keys, needed| match value.as_table() {
        Some(table) => check_table(table, &span, keys, needed, path).map_err(Bad::Within),
        None => Err(Bad::Value(format!("{kind}, and is {}", found(value, kind)))),
    };
    let are_texts = |value: &DeValue<'_>| {
        let mut items = value.as_array().into_iter().flatten();
        value.is_array() && items.all(|item| item.get_ref().is_str())
    };
    let is_fit = match kind {
        Kind::Any => true,
        Kind::Text => value.is_str(),
        Kind::Character => value.as_str().is_some_and(|it| it.chars().count() == 1),
        Kind::Flag => value.is_bool(),
        Kind::Texts => are_texts(value),
        Kind::OneOf(texts) => value.as_str().is_some_and(|it| texts.contains(&it)),
        Kind::TextTable => is_table(value, |it| it.is_str()),
        Kind::TextsTable => is_table(value, are_texts),
        Kind::Secret if value.is_str() => true,
        Kind::Secret => return table(SECRET, &["file"]),
        Kind::Table(keys, needed) => return table(keys, needed),
    };
    match is_fit {
        true => Ok(()),
        false => Err(Bad::Value(format!("{kind}, and is {}", found(value, kind)))),
    }
}

fn is_table(value: &DeValue<'_>, is_fit: impl Fn(&DeValue<'_>) -> bool) -> bool {
    let table = value.as_table();
    table.is_some_and(|it| it.values().all(|value| is_fit(value.get_ref())))
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it must be ")?;
        match self {
            Self::Any => f.write_str("a value"),
            Self::Text => f.write_str("a text"),
            Self::Character => f.write_str("a text of one character"),
            Self::Flag => f.write_str("true or false"),
            Self::Texts => f.write_str("a list of texts"),
            Self::TextTable => f.write_str("a table of texts"),
            Self::TextsTable => f.write_str("a table of lists of texts"),
            Self::Secret => f.write_str("\"${NAME}\" for a variable, or { file = \"…\" }"),
            Self::OneOf(texts) => {
                let texts: Vec<_> = texts.iter().map(|it| format!("\"{it}\"")).collect();
                f.write_str(&texts.join(" or "))
            }
            Self::Table(keys, _) => {
                let keys: Vec<_> = keys.iter().map(|(key, _)| format!("`{key}`")).collect();
                write!(f, "a table of {}", keys.join(", "))
            }
        }
    }
}

/// The type of a value that does not fit, in words.
fn found(value: &DeValue<'_>, wanted: &Kind) -> &'static str {
    match (value, wanted) {
        (DeValue::String(_), Kind::Character | Kind::OneOf(_)) => "another text",
        (DeValue::String(_), _) => "a text",
        (DeValue::Integer(_) | DeValue::Float(_), _) => "a number",
        (DeValue::Boolean(_), _) => "true or false",
        (DeValue::Datetime(_), _) => "a date or a time",
        (DeValue::Array(_), Kind::Texts) => "a list of others",
        (DeValue::Array(_), _) => "a list",
        (DeValue::Table(_), Kind::TextTable | Kind::TextsTable) => "a table of others",
        (DeValue::Table(_), _) => "a table",
    }
}

/// The words about a key that there is not.
fn unknown(path: &str, name: &str, keys: Keys) -> String {
    let names = keys.iter().map(|(known, _)| *known);
    let nearest = names.min_by_key(|known| strsim::levenshtein(name, known));
    let most = 1 + name.chars().count() / 4;
    match nearest.filter(|known| strsim::levenshtein(name, known) <= most) {
        Some(known) => format!("`{path}` is no key of it: did you mean `{known}`?"),
        None => {
            let names: Vec<_> = keys.iter().map(|(known, _)| *known).collect();
            format!(
                "`{path}` is no key of it; its keys are {}",
                names.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::providers::entry::Entry;

    #[test]
    fn the_keys_are_those_that_are_read() {
        let error = toml::from_str::<Entry>("none = 1").expect_err("no such key");
        let listed = error.message().split_once("expected one of ");
        let (_, listed) = listed.expect("a list of keys");
        let read: BTreeSet<_> = listed.split(", ").map(|it| it.trim_matches('`')).collect();
        let known: BTreeSet<_> = PROVIDER.iter().map(|(key, _)| *key).collect();
        assert_eq!(known, read);
    }
}
