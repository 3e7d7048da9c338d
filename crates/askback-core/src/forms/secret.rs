//! Guesses whether a field asks for a secret.
//!
//! A form must not ask for passwords, keys, tokens or payment credentials (2026-07-28,
//! client/elicitation, User Interaction Model); a link must be used for those. The guess looks for
//! whole words. It is good enough to catch an honest mistake and to warn a user.

use alloc::string::{String, ToString};

use serde_json::Value;

use super::{ANSWER, Field, FieldKind, FormSchema, Sort, TextField};

/// A text field asks for a secret if its name, title or description, or the form's message,
/// contains one of these. In lower case, with one space between words.
const SECRETS: &[&str] = &[
    "access key",
    "api key",
    "api keys",
    "apikey",
    "app secret",
    "client secret",
    "contraseña",
    "credentials",
    "encryption key",
    "kennwort",
    "mot de passe",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "passwort",
    "private key",
    "pwd",
    "recovery code",
    "recovery phrase",
    "secret key",
    "seed phrase",
    "senha",
    "shared secret",
    "signing key",
    "ssh key",
    "token",
    "your secret",
];

/// Secrets that may be numbers. The words above are ignored for number fields: "token limit" is not
/// a secret.
const NUMERIC_SECRETS: &[&str] = &[
    "2fa code",
    "authentication code",
    "card no",
    "card number",
    "credit card",
    "cvc",
    "cvv",
    "cvv2",
    "debit card",
    "mfa code",
    "one time code",
    "otp",
    "passcode",
    "pin code",
    "pin number",
    "security code",
    "social security number",
    "ssn",
    "totp",
    "verification code",
    "your pin",
];

/// Words that name a secret only as a field's name or title; in a sentence they are common.
const SECRET_NAMES: &[&str] = &["credential", "pin", "secret", "secrets"];

/// Field names that say nothing about the value.
const SPEECHLESS: &[&str] = &[
    ANSWER, "data", "field", "input", "reply", "response", "text", "value",
];

/// Words in scripts without spaces, found anywhere.
const UNSPACED_SECRETS: &[&str] = &["密码", "密碼", "口令", "パスワード"];

/// [`Field::looks_secret`] as a constant function, for the derive macro.
pub(super) const fn is_secret_field(sort: Sort, names: [&str; 2], description: &str) -> bool {
    let is_text = match sort {
        Sort::Text => true,
        Sort::Integer | Sort::Number => false,
        _ => return false,
    };
    let [name, title] = names;
    has_word(name, NUMERIC_SECRETS)
        || has_word(title, NUMERIC_SECRETS)
        || has_word(description, NUMERIC_SECRETS)
        || has_word(name, SECRET_NAMES)
        || has_word(title, SECRET_NAMES)
        || is_text
            && (has_word(name, SECRETS)
                || has_word(title, SECRETS)
                || has_word(description, SECRETS))
}

const fn has_word(text: &str, words: &[&str]) -> bool {
    let text = text.as_bytes();
    let mut at = 0;
    while at < text.len() {
        let mut word = 0;
        while begins_word(text, at) && word < words.len() {
            if is_word_at(text, at, words[word].as_bytes()) {
                return true;
            }
            word += 1;
        }
        at += 1;
    }
    false
}

/// Whether the word is here, ignoring case. Its parts may be joined by capitals or by any
/// characters except letters and digits.
const fn is_word_at(text: &[u8], mut at: usize, word: &[u8]) -> bool {
    let mut next = 0;
    while next < word.len() {
        if word[next] == b' ' {
            if at < text.len() && !is_part_of_word(text[at]) {
                at += 1;
            } else if at >= text.len() || !begins_word(text, at) {
                return false;
            }
        } else {
            if at >= text.len() || text[at].to_ascii_lowercase() != word[next] {
                return false;
            }
            at += 1;
        }
        next += 1;
    }
    at == text.len() || !is_part_of_word(text[at]) || begins_word(text, at)
}

const fn begins_word(text: &[u8], at: usize) -> bool {
    at == 0
        || !is_part_of_word(text[at - 1])
        || text[at].is_ascii_uppercase() && text[at - 1].is_ascii_lowercase()
}

const fn is_part_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

impl FormSchema {
    /// Returns the fields that seem to ask for a secret. If the only field has a meaningless name,
    /// the message is examined too.
    pub fn secret_fields(&self, message: &str) -> impl Iterator<Item = &Field> {
        let said_of = if self.needs_message() { message } else { "" };
        let fields = self.fields.iter();
        fields.filter(move |field| field.is_secret(said_of))
    }

    pub(super) fn needs_message(&self) -> bool {
        match &self.fields[..] {
            [field] => SPEECHLESS.contains(&spaced_words(&field.name).trim()),
            _ => false,
        }
    }
}

impl Field {
    /// Whether the name, title or description suggests a secret.
    ///
    /// A text with a format, such as a date or an email address, is suspicious only if its name or
    /// title ends with the name of a secret. A choice never is, because its values come from the
    /// server. Authors can override the guess with [`Field::not_secret`](fn@Field::not_secret).
    pub fn looks_secret(&self) -> bool {
        self.is_secret("")
    }

    /// Like [`Field::looks_secret`], with a message.
    fn is_secret(&self, message: &str) -> bool {
        if self.not_secret {
            return false;
        }
        let title = self.title.as_deref().unwrap_or_default();
        let typed_text = match &self.kind {
            FieldKind::Text(TextField { format: None, .. }) | FieldKind::Json(_) => true,
            FieldKind::Text(_) => return is_secret_itself(&self.name) || is_secret_itself(title),
            FieldKind::Number(_) => false,
            _ => return false,
        };
        let description = self.description.as_deref().unwrap_or_default();
        let mut name = spaced_words(&self.name) + &spaced_words(title);
        if let FieldKind::Json(json) = &self.kind {
            // The members of a JSON field are free text, too.
            name += &spaced_words(&Value::from(json.schema.clone()).to_string());
        }
        let all = name.clone() + &spaced_words(description) + &spaced_words(message);
        let unspaced = |text: &str| UNSPACED_SECRETS.iter().any(|secret| text.contains(secret));
        has_any(&all, NUMERIC_SECRETS)
            || has_any(&name, SECRET_NAMES)
            || typed_text && (has_any(&all, SECRETS) || unspaced(&all))
    }
}

/// Whether a name means a secret itself, unlike `token_url` or `password_changed`.
fn is_secret_itself(name: &str) -> bool {
    let words = spaced_words(name);
    let ends_with = |secret: &&str| {
        let before = words.trim_end().strip_suffix(*secret);
        before.is_some_and(|before| before.ends_with(' '))
    };
    let mut secrets = [SECRETS, NUMERIC_SECRETS, SECRET_NAMES]
        .into_iter()
        .flatten();
    let mut unspaced = UNSPACED_SECRETS.iter();
    secrets.any(ends_with) || unspaced.any(|secret| words.trim_end().ends_with(secret))
}

fn has_any(words: &str, secrets: &[&str]) -> bool {
    let is_whole = |secret: &str| {
        let mut found = words.match_indices(secret);
        found.any(|(at, _)| {
            words[..at].ends_with(' ') && words[at + secret.len()..].starts_with(' ')
        })
    };
    secrets.iter().any(|secret| is_whole(secret))
}

/// Maps a letter to the Latin letter it looks like, or to `None` if it is invisible.
fn plain(c: char) -> Option<char> {
    Some(match c {
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => return None,
        // Full-width ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0)?,
        // The Cyrillic letters that look the same in every font. The complete table is too large
        // for every server.
        'а' => 'a',
        'А' => 'A',
        'с' => 'c',
        'С' => 'C',
        'е' => 'e',
        'Е' => 'E',
        'і' => 'i',
        'І' => 'I',
        'к' => 'k',
        'К' => 'K',
        'о' => 'o',
        'О' => 'O',
        'р' => 'p',
        'Р' => 'P',
        'ѕ' => 's',
        'Ѕ' => 'S',
        'у' => 'y',
        'У' => 'Y',
        'ԝ' => 'w',
        'Ԝ' => 'W',
        _ => c,
    })
}

/// Returns the words of a name or sentence in lower case, each surrounded by spaces: `apiKey`,
/// `API_KEY` and "API key" all give " api key ".
fn spaced_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    let mut before = ' ';
    let mut chars = text.chars().filter_map(plain).peekable();
    while let Some(c) = chars.next() {
        let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        let word_begins =
            c.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_lower);
        if (word_begins || !c.is_alphanumeric()) && !words.ends_with(' ') {
            words.push(' ');
        }
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        }
        before = c;
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}
