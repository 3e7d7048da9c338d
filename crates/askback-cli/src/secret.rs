//! Recognizes names and values that may be secrets, for everything that is stored, written or shown. It is a guess.
//! Names are judged by their words; values by the prefixes of widespread services' tokens and by the words before
//! them.

use askback::forms::{Field, TextField};
use serde_json::Value;

/// Words that occur only in names of secrets, in addition to those of [`Field::looks_secret`].
const WORDS: [&str; 10] = [
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "creds",
    "jwt",
    "pat",
    "pw",
    "sessionid",
    "sid",
];

/// Suffixes of words that occur only in names of secrets.
const ENDS: [&str; 5] = ["apikey", "passwd", "password", "secret", "token"];

/// Words that mark a secret only at the end of a name.
const LAST_WORDS: [&str; 3] = ["auth", "pass", "session"];

/// Token prefixes of widespread services.
const BEGINNINGS: [&str; 23] = [
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "hf_",
    "lin_api_",
    "npm_",
    "ntn_",
    "rk_live_",
    "sk-",
    "sk_",
    "xapp-",
    "xoxb-",
    "xoxp-",
    "ya29.",
    "-----BEGIN",
];

/// Prefixes of tokens that are also prefixes of ordinary words. An ordinary word is shorter than a token, or has no
/// digit.
const WORDY: [&str; 20] = [
    "AGE-SECRET-KEY-",
    "ATATT3",
    "PMAK-",
    "SG.",
    "dckr_pat_",
    "doo_v1_",
    "dop_v1_",
    "figd_",
    "glptt-",
    "gsk_",
    "hvs.",
    "pypi-",
    "rk_test_",
    "rubygems_",
    "sbp_",
    "shpat_",
    "shpss_",
    "whsec_",
    "xai-",
    "xox",
];

/// Words that precede a token.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];

/// Headers whose values are not secrets, unless they look like one.
const PLAIN_HEADERS: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

/// How many bytes of a URL, or after a name, are examined.
const LOOKED_AT: usize = 4096;

/// The minimum length of a token that is recognized by its characters alone.
const RANDOM: usize = 32;

/// The minimum length of a token in a text without other signs of a secret.
const TOKEN: usize = 16;

pub fn is_name(name: &str) -> bool {
    let words = words(name);
    let has = |all: &[&str]| words.iter().any(|word| all.contains(&word.as_str()));
    let ends = |word: &String| ENDS.iter().any(|end| word.ends_with(end));
    let is_session = |pair: &[String]| pair == ["session", "id"];
    has(&WORDS)
        || words.iter().any(ends)
        || words
            .last()
            .is_some_and(|last| LAST_WORDS.contains(&last.as_str()))
        || words.windows(2).any(is_session)
        || Field::new(name, TextField::default()).looks_secret()
}

/// Whether the name of a setting suggests a secret. A setting called `key` is a secret; a tool's `key` is mostly the
/// name of an entry.
pub fn is_setting(name: &str) -> bool {
    is_name(name) || words(name).last().is_some_and(|last| last == "key")
}

/// Whether a header's value is not a secret, unless it looks like one.
pub fn is_plain_header(name: &str) -> bool {
    let name = name.replace('_', "-").to_ascii_lowercase();
    PLAIN_HEADERS.contains(&&*name)
}

/// Whether any part of a text may be a secret, with this judgement of names.
pub fn is_in(text: &str, is_name: fn(&str) -> bool) -> bool {
    has_token(text) || has_user(text) || has_named(text, is_name) || has_words(text, is_name)
}

pub fn is_argument(name: &str, value: &Value) -> bool {
    is_name(name) || holds(value)
}

pub fn holds(value: &Value) -> bool {
    match value {
        Value::String(text) => is_in(text, is_name),
        Value::Array(items) => items.iter().any(holds),
        Value::Object(members) => members.iter().any(|(name, value)| is_argument(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Splits a header into the scheme before its token and the rest, such as `Bearer ` and the token.
pub fn after_scheme(text: &str) -> (&str, &str) {
    let end = text.find(' ').map_or(0, |at| at.saturating_add(1));
    let (scheme, rest) = text.split_at(end);
    let word = scheme.trim_end().to_ascii_lowercase();
    match SCHEMES.contains(&word.as_str()) {
        true => (scheme, rest),
        false => ("", text),
    }
}

/// The words of a name in lower case. `clientSecret` and `CLIENT-SECRET` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn begins(part: &str, known: &[&str]) -> bool {
    known.iter().any(|begin| part.starts_with(begin))
}

/// Whether text with a token prefix is too long for a word, and has a digit.
fn is_long(part: &str) -> bool {
    part.len() >= TOKEN && part.contains(|c: char| c.is_ascii_digit())
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The parts of a text that may be tokens. After an escape, as in JSON within the text, there are two parts: one with
/// the letters of the escape and one without.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    text.split_inclusive(move |c| !is_part(c))
        .scan('\0', move |before, piece| {
            let part = piece.trim_end_matches(|c| !is_part(c));
            let escape = escape(std::mem::take(before), part);
            *before = piece.chars().next_back().unwrap_or_default();
            Some([Some(part), part.get(escape..).filter(|_| escape > 0)])
        })
        .flat_map(|parts| parts.into_iter().flatten())
}

/// How many characters after a character belong to its escape.
fn escape(sign: char, after: &str) -> usize {
    match (sign, after.chars().next()) {
        ('\\', Some('u')) => 5,
        ('\\', Some('x')) => 3,
        ('\\', Some(_)) => 1,
        ('%', Some(_)) => 2,
        _ => 0,
    }
}

fn has_token(text: &str) -> bool {
    parts(text).any(|part| {
        let has = |is: fn(&char) -> bool| part.chars().any(|c| is(&c));
        let is_random = part.len() >= RANDOM
            && !part.contains('.')
            && has(char::is_ascii_lowercase)
            && has(char::is_ascii_uppercase)
            && has(char::is_ascii_digit);
        is_random || begins(part, &BEGINNINGS) || is_long(part) && begins(part, &WORDY)
    })
}

/// Whether a URL in the text has a user and a password, or on the web any user.
fn has_user(text: &str) -> bool {
    text.match_indices("://").any(|(at, sign)| {
        let is_part = |c: char| c.is_ascii_alphanumeric();
        let scheme = &text[text[..at].trim_end_matches(is_part).len()..at];
        let rest = beginning(&text[at.saturating_add(sign.len())..]);
        let authority = authority(rest);
        match authority.rsplit_once('@') {
            Some((user, _)) => match user.split_once(':') {
                Some((_, password)) => !password.is_empty(),
                None => {
                    let is_web = |known: &str| scheme.eq_ignore_ascii_case(known);
                    !user.is_empty() && ["http", "https"].into_iter().any(is_web)
                }
            },
            // A password may contain a slash.
            None => authority.split_once(':').is_some_and(|(host, port)| {
                let is_port = port.chars().all(|c| c.is_ascii_digit());
                let mut url = rest.split(ends_url);
                !host.starts_with('[')
                    && !is_port
                    && url.next().is_some_and(|url| url.contains('@'))
            }),
        }
    })
}

fn authority(rest: &str) -> &str {
    let is_end = |c: char| ends_url(c) || "/?#".contains(c);
    rest.split(is_end).next().unwrap_or_default()
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || "\"'`".contains(c)
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LOOKED_AT)]
}

/// Whether a value follows the name of a secret and a `=` or `:`.
fn has_named(text: &str, is_name: fn(&str) -> bool) -> bool {
    let is_quote = |c: char| c.is_whitespace() || "\"'\\".contains(c);
    text.match_indices(['=', ':']).any(|(at, sign)| {
        let before = text[..at].trim_end_matches(is_quote);
        let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let name = &before[before.trim_end_matches(is_part).len()..];
        if name.is_empty() || !is_name(name) {
            return false;
        }
        let after = beginning(&text[at.saturating_add(sign.len())..]);
        let value = after.trim_start_matches(|c| is_quote(c) || "=:-".contains(c));
        // Only a scheme is left: a variable followed it.
        let is_bare = is_scheme(value.trim_end_matches(is_quote));
        !value.is_empty() && !is_bare && !after.starts_with("//")
    })
}

/// Whether a word follows a token's scheme, or an option whose name suggests a secret.
fn has_words(text: &str, is_name: fn(&str) -> bool) -> bool {
    let text = text.replace("%20", " ");
    let blank = |c: char| c.is_whitespace() || "\"'`,;".contains(c);
    let words: Vec<_> = text.split(blank).filter(|word| !word.is_empty()).collect();
    words.windows(2).any(|pair| {
        let [before, after] = pair else { return false };
        let last = before.rsplit(['=', ':']).next().unwrap_or_default();
        let scheme = last.to_ascii_lowercase();
        let is_coded = after
            .chars()
            .any(|c| c.is_ascii_digit() || c.is_uppercase() || c == '=');
        let is_option = before.starts_with('-') && !before.contains('=');
        scheme == "bearer"
            || SCHEMES.contains(&scheme.as_str()) && is_coded
            || is_option && is_name(before) && !after.starts_with('-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known() {
        let names = "password apiKey Authorization cookie Set-Cookie session session_id sessionId sid \
            auth x-auth DB_PASS PGPASSWORD GITHUB_PAT jwt creds clientSecret AUTHTOKEN";
        for name in names.split_whitespace() {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "to", "key", "author", "sides", "path", "sessions", "compass", "tokens", "patch",
        ] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_setting("MY_KEY") && is_setting("key") && !is_setting("monkey"));
    }

    #[test]
    fn a_secret_is_found_anywhere_in_a_text() {
        for text in [
            "ghp_x",
            "path=ghp_x",
            "Authorization: Bearer x",
            "x: bearer X1",
            "Authorization:Basic dTpw",
            "postgresql://u:p@h/db",
            "postgresql://u:p/w@h",
            "see HTTPS://u:p@h",
            "https://u@h/",
            "TOKEN=x",
            "sh -c \"TOKEN=x run\"",
            "api_key=x",
            "{\"apiKey\": \"x\"}",
            "run --api-key x",
            "X-Api-Key: x",
            "X-Api-Key:x",
            "cookie=x",
            "a%3DBearer Bearer%20x",
            "q4Zl0Vn2Xb8Rt6Yw1Ks3Md5Pf7Hj9GcA",
            "-----BEGIN PRIVATE KEY-----",
        ] {
            assert!(is_in(text, is_name), "{text}");
        }
        for text in [
            "",
            "/tmp",
            "https://a.test/?x=1",
            "https://a.test:80/@scope",
            "ssh://git@a.test/x",
            "http://[::1]:80/",
            "@scope/x",
            "a@b.test",
            "TOKEN=",
            "--token",
            "basic words",
            "2f9c1e4b7a6d8c3e5f0a1b2c3d4e5f60",
            "token:",
            "key=x",
            "--port=80",
            "postgresql://u@h/db",
            "country=SG.",
            "pypi-mirror",
        ] {
            assert!(!is_in(text, is_name), "{text}");
        }
        assert!(is_in("https://a.test/?key=x", is_setting));
    }

    #[test]
    fn a_repetitive_text_is_searched_once() {
        for part in ["://", "=", "a=", "a://", "\"=", "bearer", "a:b@"] {
            let text = part.repeat(1 << 17);
            assert!(!is_in(&text, is_name), "{part}");
        }
    }
}
