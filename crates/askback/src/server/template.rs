//! URI templates: simple variables of RFC 6570, which is what resources use.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// A URI template with simple variables, `travel://destinations/{name}`, or reserved ones that
/// take slashes too, `file:///{+path}`.
#[derive(Debug, Clone)]
pub(super) struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Variable { name: String, reserved: bool },
}

impl UriTemplate {
    /// Reads a template; `None` for one with other expressions, or two variables side by side.
    pub(super) fn parse(template: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((text, after)) = rest.split_once('{') {
            let (variable, after) = after.split_once('}')?;
            let (reserved, name) = match variable.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, variable),
            };
            let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            let apart = !text.is_empty() || parts.is_empty();
            if name.is_empty() || !name.chars().all(simple) || !apart {
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
        if rest.contains('}') {
            return None;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Some(Self { parts })
    }

    /// The names of its variables.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The values of the variables in a URI that fits the template, percent-decoded. Each takes as
    /// little as it can, and never nothing.
    pub(super) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
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
                    let (value, after) = rest.split_at(end);
                    if value.is_empty() || (!reserved && value.contains(['/', '?', '#'])) {
                        return None;
                    }
                    let value = percent_decode_str(value).decode_utf8().ok()?;
                    values.insert(name.clone(), value.into_owned());
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let template = UriTemplate::parse(template).expect("a legal template");
        let expected = expected.map(|pairs| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        });
        assert_eq!(template.matches(uri), expected, "{uri}");
    }

    #[test]
    fn a_uri_gives_the_values_of_the_variables() {
        check("a://b/{name}", "a://b/rome", Some(&[("name", "rome")]));
        check(
            "a://b/{name}",
            "a://b/new%20york",
            Some(&[("name", "new york")]),
        );
        check("a://b/{name}", "a://b/%E2%82%AC", Some(&[("name", "€")]));
        check("a://b/{name}", "a://b/", None);
        check("a://b/{name}", "a://b/rome/1", None);
        check("a://b/{name}", "a://b/rome?x", None);
        check("a://b/{name}", "a://b/%FF", None);
        check("a://{x}/{y}", "a://1/2", Some(&[("x", "1"), ("y", "2")]));
        check("a://{x}-{y}", "a://€-2", Some(&[("x", "€"), ("y", "2")]));
        check("file:///{+path}", "file:///a/b", Some(&[("path", "a/b")]));
        check("a://b", "a://b", Some(&[]));
        check("a://b", "a://bc", None);
    }

    #[test]
    fn other_expressions_are_refused() {
        for template in ["{?q}", "{a}{b}", "{", "a}", "{}", "{a,b}", "{a*}", "{/a}"] {
            assert!(UriTemplate::parse(template).is_none(), "{template}");
        }
    }
}
