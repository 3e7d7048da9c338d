//! URI templates of resources (RFC 6570): parsing, expansion and matching.
//!
//! No crate is used because none checks templates well: `iri-string` panics on invalid ones such as
//! `%{é}`.
//!
//! A handler may use a matched value as a path, so a URI whose value would escape its place does
//! not match. Values are decoded once and checked in their decoded form.

use alloc::{
    borrow::{Cow, ToOwned},
    collections::BTreeMap,
    string::String,
    vec::Vec,
};

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};

/// A URI template, such as `travel://destinations/{name}` or `search://{index}{?q,limit}`.
///
/// Any RFC 6570 template can be expanded. A URI can only be matched if all expressions are simple
/// variables, `{name}`, or reserved variables, which also accept slashes, `{+path}`, and there is
/// text between any two: then the values are unambiguous ([`UriTemplate::can_match`]).
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
    /// The template with percent-encoded literals.
    text: String,
    variables: Vec<Variable>,
    /// The parts for matching; `None` if the template cannot match.
    parts: Option<Vec<Part>>,
}

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    required: bool,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Variable { name: String, reserved: bool },
}

impl UriTemplate {
    /// Parses a template. Returns `None` if it is invalid.
    #[must_use]
    pub fn parse(template: &str) -> Option<Self> {
        let mut text = String::new();
        let mut variables: Vec<Variable> = Vec::new();
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            let (expression, after) = after.split_once('}')?;
            push_literal(&mut text, literal)?;
            text.push('{');
            text.push_str(expression);
            text.push('}');
            let list = expression.strip_prefix(OPERATORS).unwrap_or(expression);
            let required = list.len() == expression.len() || expression.starts_with('+');
            for variable in list.split(',') {
                let name = variable_name(variable)?;
                match variables.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.required |= required,
                    None => variables.push(Variable {
                        name: name.to_owned(),
                        required,
                    }),
                }
            }
            rest = after;
        }
        push_literal(&mut text, rest)?;
        Some(Self {
            text,
            variables,
            parts: parts(template),
        })
    }

    /// Whether URIs can be matched: every expression is `{name}` or `{+name}`, no two are adjacent
    /// or have the same name, and each percent sign is part of an escape. A bare percent sign could
    /// form an escape with the value behind it.
    #[must_use]
    pub fn can_match(&self) -> bool {
        self.parts.is_some()
    }

    /// Expands the template with a letter for each variable. If the result is not a URI, no
    /// expansion is.
    #[must_use]
    pub fn example(&self) -> String {
        let values = self
            .variables()
            .map(|name| (name.to_owned(), "x".to_owned()));
        self.expand(&values.collect())
    }

    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| variable.name.as_str())
    }

    /// Whether the variable is in `{name}` or `{+name}`. Other expressions, such as `{?name}`, are
    /// left out if their variables are not given.
    #[must_use]
    pub fn requires(&self, variable: &str) -> bool {
        let mut variables = self.variables.iter();
        variables.any(|known| known.required && known.name == variable)
    }

    /// Expands the template. Each value is percent-encoded as its expression requires; a variable
    /// without a value is left out (RFC 6570, 3.2).
    #[must_use]
    pub fn expand(&self, values: &BTreeMap<String, String>) -> String {
        let mut uri = String::new();
        let mut rest = self.text.as_str();
        // `parse` has checked the text.
        while let Some((literal, after)) = rest.split_once('{') {
            let (expression, after) = after.split_once('}').unwrap_or((after, ""));
            uri.push_str(literal);
            expand_expression(&mut uri, expression, values);
            rest = after;
        }
        uri + rest
    }

    /// Matches a URI and returns the values of the variables, percent-decoded once. Each value is
    /// as short as possible and never empty.
    ///
    /// No value contains a backslash or a NUL. A simple variable's value contains no slash and is
    /// neither `.` nor `..`. A reserved variable's value has only slashes that are unencoded in the
    /// URI, has no segment `.` or `..`, and does not begin with a slash, because joining such a
    /// path to a folder would replace the folder. A URI with any other value does not match,
    /// whatever its encoding.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.parts.as_ref()?.iter().peekable();
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

const OPERATORS: [char; 7] = ['+', '#', '.', '/', ';', '?', '&'];

/// ASCII characters that a literal of a template must not contain unencoded (RFC 6570, 2.1).
const NOT_IN_LITERALS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'|');

/// Appends the literal text between two expressions, encoded. Returns `None` for a closing brace or
/// an incomplete escape (RFC 6570, 2.1).
fn push_literal(template: &mut String, literal: &str) -> Option<()> {
    let is_legal = !literal.contains('}') && escapes(literal).all(|escape| escape.is_some());
    is_legal.then(|| template.extend(utf8_percent_encode(literal, NOT_IN_LITERALS)))
}

/// Returns the name in `name`, `name*` or `name:5`, or `None` if it is not a variable (RFC 6570,
/// 2.3 and 2.4).
fn variable_name(variable: &str) -> Option<&str> {
    let name = match variable.split_once(':') {
        Some((name, length)) => {
            let digits = length.bytes().all(|digit| digit.is_ascii_digit());
            let is_length = digits && (1..=4).contains(&length.len()) && !length.starts_with('0');
            is_length.then_some(name)?
        }
        None => variable.strip_suffix('*').unwrap_or(variable),
    };
    // Many servers have hyphens in names, although RFC 6570 allows them only percent-encoded.
    let is_in_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '%');
    let is_legal = |part: &str| !part.is_empty() && part.chars().all(is_in_names);
    let is_name = name.split('.').all(is_legal) && escapes(name).all(|escape| escape.is_some());
    is_name.then_some(name)
}

/// The characters that are encoded in the value of `{name}` (RFC 6570, 3.2.1).
const NOT_IN_VALUES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The characters that are encoded in the value of `{+name}`. A percent sign may begin an escape.
const NOT_IN_RESERVED_VALUES: &AsciiSet = &NOT_IN_LITERALS.add(b'{').add(b'}');

/// Expands the text between two braces (RFC 6570, 3.2).
fn expand_expression(uri: &mut String, expression: &str, values: &BTreeMap<String, String>) {
    let operator = expression.chars().next().unwrap_or_default();
    let (mut before, between) = match operator {
        '#' => ("#", ","),
        '.' => (".", "."),
        '/' => ("/", "/"),
        ';' => (";", ";"),
        '?' => ("?", "&"),
        '&' => ("&", "&"),
        _ => ("", ","),
    };
    let list = expression.strip_prefix(OPERATORS).unwrap_or(expression);
    for variable in list.split(',') {
        let (name, length) = variable.split_once(':').unwrap_or((variable, ""));
        let name = name.trim_end_matches('*');
        let Some(value) = values.get(name) else {
            continue;
        };
        let end = length
            .parse()
            .ok()
            .and_then(|length| value.char_indices().nth(length));
        let value = &value[..end.map_or(value.len(), |(end, _)| end)];
        uri.push_str(before);
        before = between;
        if matches!(operator, ';' | '?' | '&') {
            uri.push_str(name);
            // An empty path parameter has no equals sign.
            if operator != ';' || !value.is_empty() {
                uri.push('=');
            }
        }
        match operator {
            '+' | '#' => push_reserved(uri, value),
            _ => uri.extend(utf8_percent_encode(value, NOT_IN_VALUES)),
        }
    }
}

/// Appends a value and keeps its escapes (RFC 6570, 3.2.3).
fn push_reserved(uri: &mut String, value: &str) {
    let ends = escapes(value).map(Some).chain([None]);
    for (part, escape) in value.split('%').zip(ends) {
        uri.extend(utf8_percent_encode(part, NOT_IN_RESERVED_VALUES));
        match escape {
            Some(Some(_)) => uri.push('%'),
            Some(None) => uri.push_str("%25"),
            None => {}
        }
    }
}

/// Returns the parts for matching, or `None` if the template [cannot
/// match](UriTemplate::can_match).
fn parts(template: &str) -> Option<Vec<Part>> {
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
        // A dot in front is an operator.
        let legal = !name.is_empty() && !name.starts_with('.') && name.chars().all(simple);
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
    Some(parts)
}

/// Whether a literal is the same in the template and in its URIs. Other literals are
/// percent-encoded in expansion (RFC 6570, 2.1).
fn is_literal(text: &str) -> bool {
    let is_in_uris = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    text.chars().all(is_in_uris) && escapes(text).all(|escape| escape.is_some())
}

/// Decodes and checks the value of `{name}`.
fn simple_value(raw: &str) -> Option<String> {
    let value = decode(raw)?;
    let leads_out = value.contains('/') || is_dots(&value);
    (!leads_out && !raw.contains(['?', '#'])).then(|| value.into_owned())
}

/// Decodes and checks the value of `{+name}`.
fn reserved_value(raw: &str) -> Option<String> {
    let value = decode(raw)?;
    let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
    let leads_out =
        value.split('/').any(is_dots) || slashes(&value) != slashes(raw) || value.starts_with('/');
    // Expansion does not encode escapes in a reserved value again (RFC 6570, 3.2.3), so a doubly
    // encoded value cannot be produced.
    let is_encoded = escapes(&value).any(|escape| escape.is_some());
    (!leads_out && !is_encoded).then(|| value.into_owned())
}

/// Percent-decodes a text. Returns `None` if an escape is incomplete or hides a forbidden
/// character.
fn decode(raw: &str) -> Option<Cow<'_, str>> {
    if raw.is_empty() || escapes(raw).any(|escape| escape.is_none()) {
        return None;
    }
    let value = percent_decode_str(raw).decode_utf8().ok()?;
    (!value.contains(['\\', '\0'])).then_some(value)
}

/// Returns the two hexadecimal digits behind each percent sign, or `None` if they are missing.
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
