//! URI templates of resources: simple and reserved variables of RFC 6570, read backwards.
//!
//! A value goes to a handler that may well make a path of it. So a URI is matched only if no value in
//! it leads out of its place: it is decoded once, and judged as it is handed out, not as it stands in
//! the URI.

use alloc::{
    borrow::{Cow, ToOwned},
    collections::BTreeMap,
    string::String,
    vec::Vec,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// A URI template with simple variables, `travel://destinations/{name}`, or reserved ones that
/// take slashes too, `file:///{+path}`.
///
/// ```
/// use askback_core::uri_template::UriTemplate;
///
/// let template = UriTemplate::parse("notes://{folder}/{name}").expect("a template");
/// let values = template.matches("notes://drafts/to%20do").expect("a note");
/// assert_eq!(values["name"], "to do");
/// assert_eq!(template.matches("notes://drafts/..%2Fpasswords"), None);
/// ```
#[derive(Debug, Clone)]
pub struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Variable { name: String, reserved: bool },
}

impl UriTemplate {
    /// Reads a template; `None` for one with other expressions, two variables side by side, two of
    /// one name, or a percent sign that encodes nothing: with a value behind it, it might.
    #[must_use]
    pub fn parse(template: &str) -> Option<Self> {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = template;
        while let Some((text, after)) = rest.split_once('{') {
            let (variable, after) = after.split_once('}')?;
            let (reserved, name) = match variable.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, variable),
            };
            let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            let apart = !text.is_empty() || parts.is_empty();
            let known =
                |part: &Part| matches!(part, Part::Variable { name: known, .. } if known == name);
            let legal = !name.is_empty() && name.chars().all(simple);
            if !is_literal(text) || !legal || !apart || parts.iter().any(known) {
                return None;
            }
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            parts.push(Part::Variable {
                name: name.to_owned(),
                reserved,
            });
            rest = after;
        }
        if !is_literal(rest) {
            return None;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Some(Self { parts })
    }

    /// A URI of the template, with a letter for each variable: where this is no URI, none is.
    #[must_use]
    pub fn example(&self) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Variable { .. } => "x",
        });
        texts.collect()
    }

    /// The names of its variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Returns the URI with these values in place of the variables, each percent-encoded as its kind
    /// wants; one that is not given is empty (RFC 6570, 3.2).
    #[must_use]
    pub fn expand(&self, values: &BTreeMap<String, String>) -> String {
        let mut uri = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => uri.push_str(text),
                Part::Variable { name, reserved } => {
                    let value = values.get(name).map(String::as_str).unwrap_or_default();
                    let encoded = match reserved {
                        true => RESERVED_TOO,
                        false => UNRESERVED,
                    };
                    uri.extend(utf8_percent_encode(value, encoded));
                }
            }
        }
        uri
    }

    /// The values of the variables in a URI that fits the template, percent-decoded once. Each takes
    /// as little as it can, and never nothing.
    ///
    /// A value holds no backslash and no NUL. That of a simple variable holds no slash and is neither
    /// `.` nor `..`. That of a reserved one holds only slashes that stand in the URI as such, and no
    /// segment `.` or `..`, and does not begin with a slash: joined to a folder, it would take its
    /// place. A URI in which one would does not fit, however it is encoded.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Variable { name, reserved } => {
                    let end = match parts.peek() {
                        Some(Part::Text(text)) => {
                            let from = rest.char_indices().nth(1)?.0;
                            from + rest[from..].find(text.as_str())?
                        }
                        _ => rest.len(),
                    };
                    let (raw, after) = rest.split_at(end);
                    let value = match reserved {
                        true => reserved_value(raw)?,
                        false => simple_value(raw)?,
                    };
                    values.insert(name.clone(), value);
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

/// The characters that are encoded in the value of `{name}`: all but unreserved characters (RFC 3986, 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The characters that are encoded in the value of `{+name}`: reserved characters are not (RFC 3986, 2.2).
const RESERVED_TOO: &AsciiSet = &UNRESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'#')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// Whether a text may stand in a template as it is (RFC 6570, 2.1).
fn is_literal(text: &str) -> bool {
    !text.contains('}') && escapes(text).all(|escape| escape.is_some())
}

/// The value of `{name}`, as it stands in a URI.
fn simple_value(raw: &str) -> Option<String> {
    let value = decode(raw)?;
    let leads_out = value.contains('/') || is_dots(&value);
    (!leads_out && !raw.contains(['?', '#'])).then(|| value.into_owned())
}

/// The value of `{+name}`, as it stands in a URI.
fn reserved_value(raw: &str) -> Option<String> {
    let value = decode(raw)?;
    let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
    let leads_out =
        value.split('/').any(is_dots) || slashes(&value) != slashes(raw) || value.starts_with('/');
    // What is encoded in the value of a reserved variable is left so by its expansion
    // (RFC 6570, 3.2.3): no value comes to what was encoded twice.
    let is_encoded = escapes(&value).any(|escape| escape.is_some());
    (!leads_out && !is_encoded).then(|| value.into_owned())
}

/// A text without its percent-encoding; none where that is not one, or hides what no value may hold.
fn decode(raw: &str) -> Option<Cow<'_, str>> {
    if raw.is_empty() || escapes(raw).any(|escape| escape.is_none()) {
        return None;
    }
    let value = percent_decode_str(raw).decode_utf8().ok()?;
    (!value.contains(['\\', '\0'])).then_some(value)
}

/// The two hexadecimal digits behind each percent sign; `None` where there are none.
fn escapes(text: &str) -> impl Iterator<Item = Option<&str>> {
    text.match_indices('%').map(|(at, _)| {
        let digits = text.get(at + 1..at + 3)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then_some(digits)
    })
}

fn is_dots(segment: &str) -> bool {
    matches!(segment, "." | "..")
}
