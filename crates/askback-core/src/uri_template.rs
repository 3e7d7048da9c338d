//! URI templates of resources (RFC 6570): checked, expanded and read backwards.
//!
//! No crate checks them: `iri-string` panics on some texts that are no templates, such as `%{é}`.
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

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};

/// A URI template, such as `travel://destinations/{name}` or `search://{index}{?q,limit}`.
///
/// Any template of RFC 6570 can be expanded. URIs can be matched only if its expressions are simple
/// variables, `{name}`, or reserved ones that take slashes too, `{+path}`, each with a text between it
/// and the next: then the values are never in doubt ([`UriTemplate::can_match`]).
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
    /// The template, with its literals percent-encoded.
    text: String,
    variables: Vec<Variable>,
    /// What URIs are matched by, if that can be done.
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
    /// Reads a template; `None` for text that is not one.
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

    /// Whether URIs can be matched: every expression is `{name}` or `{+name}`, no two are side by side or
    /// of one name, and no percent sign encodes nothing: with a value behind it, it might.
    #[must_use]
    pub fn can_match(&self) -> bool {
        self.parts.is_some()
    }

    /// A URI of the template, with a letter for each variable: where this is no URI, none is.
    #[must_use]
    pub fn example(&self) -> String {
        let values = self
            .variables()
            .map(|name| (name.to_owned(), "x".to_owned()));
        self.expand(&values.collect())
    }

    /// The names of its variables, each once.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| variable.name.as_str())
    }

    /// Whether a URI makes little sense without this variable: it is in `{name}` or `{+name}`, and not in
    /// an expression such as `{?name}`, which is left out together with its variables.
    #[must_use]
    pub fn requires(&self, variable: &str) -> bool {
        let mut variables = self.variables.iter();
        variables.any(|known| known.required && known.name == variable)
    }

    /// Returns the URI with these values in place of the variables, each percent-encoded as its
    /// expression wants; one that is not given is left out (RFC 6570, 3.2).
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

/// The operators that an expression may begin with.
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

/// Appends the text between two expressions, encoded; `None` for a closing brace, and for a percent sign
/// that encodes nothing (RFC 6570, 2.1).
fn push_literal(template: &mut String, literal: &str) -> Option<()> {
    let is_legal = !literal.contains('}') && escapes(literal).all(|escape| escape.is_some());
    is_legal.then(|| template.extend(utf8_percent_encode(literal, NOT_IN_LITERALS)))
}

/// The name in `name`, `name*` or `name:5`; `None` if it is no variable (RFC 6570, 2.3 and 2.4).
fn variable_name(variable: &str) -> Option<&str> {
    let name = match variable.split_once(':') {
        Some((name, length)) => {
            let digits = length.bytes().all(|digit| digit.is_ascii_digit());
            let is_length = digits && (1..=4).contains(&length.len()) && !length.starts_with('0');
            is_length.then_some(name)?
        }
        None => variable.strip_suffix('*').unwrap_or(variable),
    };
    // Many servers have hyphens in names, which RFC 6570 allows only when encoded.
    let is_in_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '%');
    let is_legal = |part: &str| !part.is_empty() && part.chars().all(is_in_names);
    let is_name = name.split('.').all(is_legal) && escapes(name).all(|escape| escape.is_some());
    is_name.then_some(name)
}

/// What the value of `{name}` must not contain unencoded (RFC 6570, 3.2.1).
const NOT_IN_VALUES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What the value of `{+name}` must not contain unencoded; a percent sign may begin an escape.
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
            // A parameter of a path has no equals sign if it is empty.
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

/// Appends a value in which escapes stay as they are (RFC 6570, 3.2.3).
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

/// The parts by which URIs are matched; `None` for a template that [cannot match](UriTemplate::can_match).
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

/// Whether a text stands in URIs as it stands in the template. Any other text is percent-encoded when the
/// template is expanded (RFC 6570, 2.1).
fn is_literal(text: &str) -> bool {
    let is_in_uris = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    text.chars().all(is_in_uris) && escapes(text).all(|escape| escape.is_some())
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
