//! URI templates: a value never leaves its place, a URI that matches a template is equal to the
//! template's expansion with the extracted values, and any template expands to a URI.

#![no_main]

use std::collections::BTreeMap;

use askback_core::uri_template::UriTemplate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    // Includes a few known templates, so that the fuzzer need not find them.
    let (template, uri) = text.split_once('\n').unwrap_or(("x://d/{name}", text));
    for template in [template, "x://d/{name}", "x://{a}/{b}.md", "x://d/{+path}"] {
        check(template, uri);
        check(template, &format!("x://d/{uri}"));
    }
});

fn check(text: &str, uri: &str) {
    let Some(template) = UriTemplate::parse(text) else {
        return;
    };
    if let Some(value) = uri.strip_prefix("x://d/") {
        // The first variable has no value.
        let names = template.variables().skip(1).map(str::to_owned);
        let values: BTreeMap<_, _> = names.map(|name| (name, value.to_owned())).collect();
        let expanded = template.expand(&values);
        let is_in_uris = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
        assert!(expanded.chars().all(is_in_uris), "{expanded}");
        if let Some(values) = template.matches(&expanded) {
            assert_eq!(decoded(&expand(text, &values)), decoded(&expanded));
            assert_eq!(decoded(&template.expand(&values)), decoded(&expanded));
        }
    }
    let Some(values) = template.matches(uri) else {
        return;
    };
    assert_eq!(values.len(), template.variables().count());
    for (name, value) in &values {
        let is_reserved = text.contains(&format!("{{+{name}}}"));
        judge(value, is_reserved);
    }
    let expanded = expand(text, &values);
    assert_eq!(decoded(&expanded), decoded(uri), "{text} {uri:?}");
}

fn judge(value: &str, is_reserved: bool) {
    assert!(
        !value.is_empty() && !value.contains(['\\', '\0']),
        "{value:?}"
    );
    assert!(is_reserved || !value.contains('/'), "{value:?}");
    assert!(!value.starts_with('/'), "{value:?}");
    let mut segments = value.split('/');
    assert!(!segments.any(|it| it == "." || it == ".."), "{value:?}");
}

/// Expands a template (RFC 6570, 3.2).
fn expand(template: &str, values: &BTreeMap<String, String>) -> String {
    let mut uri = template.to_owned();
    // An encoded value contains no braces.
    for (name, value) in values {
        uri = uri.replace(&format!("{{{name}}}"), &encode(value, false));
        uri = uri.replace(&format!("{{+{name}}}"), &encode(value, true));
    }
    uri
}

fn encode(value: &str, is_reserved: bool) -> String {
    let mut encoded = String::new();
    for (at, byte) in value.bytes().enumerate() {
        let digits = value.as_bytes().get(at + 1..at + 3);
        let is_escape =
            byte == b'%' && digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let stays = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || (is_reserved && (is_escape || b":/?#[]@!$&'()*+,;=".contains(&byte)));
        match stays {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The decoded bytes of a URI.
fn decoded(uri: &str) -> Vec<u8> {
    let bytes = uri.as_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = uri.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    decoded
}
