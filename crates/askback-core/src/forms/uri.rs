//! URIs (RFC 3986), for the format `uri` of a text field.

use core::net::Ipv6Addr;

/// Characters beside letters and digits that stand for themselves (RFC 3986, 2.3).
const UNRESERVED: &[u8] = b"-._~";
/// Those that separate within a part (RFC 3986, 2.2).
const SUB_DELIMS: &[u8] = b"!$&'()*+,;=";

/// Whether a text is a URI: it has a scheme, so that no relative reference is one.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (hierarchy, query) = rest.split_once('?').unwrap_or((rest, ""));
    is_scheme(scheme)
        && is_hierarchy(hierarchy)
        && is_made_of(query, b":@/?")
        && is_made_of(fragment, b":@/?")
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// An authority and a path, or a path alone.
fn is_hierarchy(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("//") else {
        return is_made_of(text, b":@/");
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    is_authority(authority) && is_made_of(path, b":@/")
}

fn is_authority(text: &str) -> bool {
    let (user, place) = text.rsplit_once('@').unwrap_or(("", text));
    // An address in brackets has colons of its own.
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (place, ""),
    };
    is_made_of(user, b":") && is_host(host) && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_host(text: &str) -> bool {
    match text.strip_prefix('[') {
        Some(rest) => rest
            .strip_suffix(']')
            .is_some_and(|it| it.parse::<Ipv6Addr>().is_ok() || is_future_address(it)),
        None => is_made_of(text, b""),
    }
}

/// An address of a version to come, such as `v7.a:b`.
fn is_future_address(text: &str) -> bool {
    let rest = text.strip_prefix(['v', 'V']);
    let Some((version, address)) = rest.and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    !version.is_empty()
        && version.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !address.is_empty()
        && !address.contains('%')
        && is_made_of(address, b":")
}

/// Whether a part has only characters that may stand in any part, those of `more`, and others
/// percent-encoded.
fn is_made_of(part: &str, more: &[u8]) -> bool {
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        let stands = byte.is_ascii_alphanumeric()
            || [UNRESERVED, SUB_DELIMS, more]
                .iter()
                .any(|set| set.contains(&byte));
        let mut hex = || bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit());
        let is_encoded = byte == b'%' && hex() && hex();
        if !stands && !is_encoded {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use iri_string::types::UriStr;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_uri_is_one_to_another_reader(
            any in ".{0,24}",
            signs in "[a1v:/?#@%\\[\\].+-]{0,16}",
            whole in "[a-z]{1,3}:(//([a%:]{0,4}@)?[a.\\[\\]:1v%f]{0,12}(:[0-9a]{0,3})?)?(/[a%2f:@/]{0,6})?(\\?[a?/%]{0,3})?(#[a#]{0,3})?",
        ) {
            for text in [any, signs, whole] {
                prop_assert_eq!(is_uri(&text), UriStr::new(&text).is_ok(), "{}", text);
            }
        }
    }

    #[test]
    fn uris() {
        for (text, expected) in [
            ("https://example.com/a?b=c#d", true),
            ("mailto:ada@example.com", true),
            ("urn:isbn:0451450523", true),
            ("a:", true),
            ("file:///etc", true),
            ("http://[::1]:80/", true),
            ("http://[v7.a:b]/", true),
            ("http://[::1%25eth0]/", false),
            ("http://[v7.]/", false),
            ("http://a:b:80/", false),
            ("http://a@b@c/", false),
            ("//example.com", false),
            ("/a", false),
            ("", false),
            ("1a:b", false),
            ("a:%4", false),
            ("a:%zz", false),
            ("a:b c", false),
            ("a:ü", false),
            ("a:b#c#d", false),
        ] {
            assert_eq!(is_uri(text), expected, "{text}");
            assert_eq!(UriStr::new(text).is_ok(), expected, "{text}");
        }
    }
}
