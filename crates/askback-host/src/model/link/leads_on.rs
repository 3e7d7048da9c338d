//! Finds other hosts in a link: possible redirect targets.

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::domain;

/// How many times a value is decoded. Each page that passes a URL on encodes it again.
const DECODED: usize = 3;

/// Parameters that announce a redirect target, in lower case. A host without a scheme counts in them.
const GOES_ON: [&str; 10] = [
    "continue",
    "dest",
    "next",
    "redirect",
    "redirect_uri",
    "relaystate",
    "return_to",
    "returnurl",
    "to",
    "url",
];

/// Parameters whose URLs are identifiers, not redirect targets.
const NO_WAY: [&str; 7] = [
    "audience",
    "client_id",
    "hd",
    "iss",
    "resource",
    "scope",
    "xmlns",
];

/// Returns the hosts of other sites in the link's parameters, parameter names and path, without
/// duplicates.
pub(super) fn leads_on(url: &Url, name: &str) -> Vec<String> {
    let site = |name: &str| name[domain(name, 0..name.len())].to_owned();
    let here = site(name);
    let mut hosts: Vec<String> = Vec::new();
    let in_fragment = url.fragment().unwrap_or_default();
    let in_fragment = url::form_urlencoded::parse(in_fragment.as_bytes());
    let values = url.query_pairs().chain(in_fragment);
    let values = values.filter(|(name, _)| !NO_WAY.contains(&&**name));
    let values = values.flat_map(|(name, value)| {
        let goes_on = GOES_ON.contains(&name.to_ascii_lowercase().as_str());
        [(false, name.into_owned()), (goes_on, value.into_owned())]
    });
    for (goes_on, value) in values.chain([(false, url.path().to_owned())]) {
        let values = decoded(value);
        let bare = values.iter().filter(|_| goes_on);
        let bare = bare.filter_map(|value| bare_host(value));
        let found = values.iter().flat_map(|value| addresses(url, value));
        for address in found.chain(bare) {
            let host = address.host_str().unwrap_or_default();
            let host = host.trim_matches('.');
            if !host.is_empty() && site(host) != here && !hosts.iter().any(|known| known == host) {
                hosts.push(host.to_owned());
            }
        }
    }
    hosts
}

/// Returns a value, and each further decoding that changes it.
fn decoded(value: String) -> Vec<String> {
    // Browsers drop tabs and line breaks in a URL.
    let dropped = ['\t', '\n', '\r'];
    let mut all = vec![value.replace(dropped, "")];
    while let Some(last) = all.last()
        && all.len() <= DECODED
    {
        let next = percent_decode_str(last)
            .decode_utf8_lossy()
            .replace(dropped, "");
        if next == *last {
            break;
        }
        all.push(next);
    }
    all
}

/// Returns the URLs in a value: the value itself, as an absolute URL or relative to this link, and
/// URLs inside it.
fn addresses(url: &Url, value: &str) -> Vec<Url> {
    let whole = [join(url, value), Url::parse(value).ok()];
    let small = value.to_ascii_lowercase();
    let within = small
        .match_indices("http")
        .filter(|(at, _)| *at > 0)
        .map(|(at, _)| join(url, &value[at..]));
    let all = whole.into_iter().chain(within).flatten();
    all.chain(behind_slashes(url, value)).collect()
}

/// Resolves a value against this link as a browser does: a backslash is a slash, and more than two
/// slashes are two.
fn join(url: &Url, value: &str) -> Option<Url> {
    let slashes = ['/', '\\'];
    let value = value.trim_start_matches(|char: char| char <= ' ');
    let host = value.trim_start_matches(slashes);
    match value.len().saturating_sub(host.len()) {
        0 | 1 => url.join(to_host(value)).ok(),
        _ => url.join(&format!("//{}", to_host(host))).ok(),
    }
}

/// Cuts a URL after its host if a character follows that no host has. Then the URL is embedded in
/// other text, such as JSON.
fn to_host(address: &str) -> &str {
    let slashes = ['/', '\\'];
    let start = match address.split_once(':') {
        Some((scheme, _))
            if ["http", "https"]
                .iter()
                .any(|web| scheme.eq_ignore_ascii_case(web)) =>
        {
            let behind = &address[scheme.len()..];
            let host = behind.trim_start_matches(':').trim_start_matches(slashes);
            address.len().saturating_sub(host.len())
        }
        _ => 0,
    };
    let is_end = |c: char| slashes.contains(&c) || "?#".contains(c);
    let authority = address[start..].split(is_end).next().unwrap_or_default();
    let is_of_host = |c: char| c.is_alphanumeric() || !c.is_ascii() || "-._:[]%@".contains(c);
    match authority.find(|c| !is_of_host(c)) {
        // A user name may have other characters.
        Some(end) if !authority.contains('@') => &address[..start.saturating_add(end)],
        _ => address,
    }
}

/// Finds URLs after a double slash in a value. After a folder of a path, the host must end in a
/// known public suffix.
fn behind_slashes(url: &Url, value: &str) -> impl Iterator<Item = Url> {
    let slashes = value.match_indices(['/', '\\']);
    let doubled = slashes
        .filter(|(at, slash)| value[at.saturating_add(slash.len())..].starts_with(['/', '\\']));
    doubled.filter_map(|(at, _)| {
        let before = value[..at].chars().next_back()?;
        // The double slash of a scheme, or a run of slashes that was already handled.
        if matches!(before, ':' | '/' | '\\') {
            return None;
        }
        let address = join(url, &value[at..])?;
        let is_site = match address.host()? {
            Host::Domain(name) => name.contains('.') && (before == '=' || ends_as_site(name)),
            // A number without dots is a folder's name, although it parses as an IPv4 address.
            Host::Ipv4(_) => {
                let name = value[at..].trim_start_matches(['/', '\\']);
                let name = name.split(['/', '\\']).next().unwrap_or_default();
                before == '=' || name.contains('.')
            }
            Host::Ipv6(_) => true,
        };
        is_site.then_some(address)
    })
}

/// Parses a host without a scheme, with an optional path, but no mail address and no file's name.
fn bare_host(value: &str) -> Option<Url> {
    let value = value.trim();
    if value.starts_with(['/', '\\']) {
        return None;
    }
    let address = Url::parse(&format!("https://{value}")).ok()?;
    let is_host = match address.host()? {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name.contains('.') && ends_as_site(name)
        }
        // A number without dots is not an address, although it parses as one.
        Host::Ipv4(number) => value.starts_with(&number.to_string()),
        Host::Ipv6(_) => true,
    };
    (is_host && address.username().is_empty()).then_some(address)
}

fn ends_as_site(name: &str) -> bool {
    psl::domain(name.as_bytes()).is_some_and(|domain| domain.suffix().is_known())
}

#[cfg(test)]
mod tests {
    use crate::model::link::judge;

    #[track_caller]
    fn check(url: &str, hosts: &[&str]) {
        let link = judge(url).expect("it may be opened");
        assert_eq!(link.leads_on, hosts, "{url}");
    }

    // Shows EL-35, EL-41.
    #[test]
    fn other_sites_in_a_link_are_named() {
        check("https://example.com/a?b=c", &[]);
        check("https://example.com/?to=https://login.example.com/x", &[]);
        check("https://example.com/?to=/a//b", &[]);
        check(
            "https://example.com/?to=/%5Cevil.example/x",
            &["evil.example"],
        );
        check(
            "https://example.com/?to=http:evil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/r/https://evil.example/x",
            &["evil.example"],
        );
        check("https://example.com/https/?to=b", &[]);
        check("https://a.co.uk/?to=https://b.co.uk/x", &["b.co.uk"]);
        check(
            "https://example.com/?to=https%3A%2F%2Fevil.example%2Fcb",
            &["evil.example"],
        );
        check(
            "https://example.com/?a=%2F%2Fevil.example&b=HTTPS://EVIL.example",
            &["evil.example"],
        );
        check(
            "https://example.com/#next=http://127.0.0.1:7/cb",
            &["127.0.0.1"],
        );
        check("https://example.com/?to=myapp:/cb", &[]);
        // Encoded once per page that passes it on, and inside a URL of this site.
        check(
            "https://example.com/?to=https%253A%252F%252Fevil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/?to=https%2525253A%2525252F%2525252Fevil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/r/https%3A%2F%2Fevil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/?to=/in%3Fnext%3DHTTPS:%2F%2Fevil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/?to=https:evil.example",
            &["evil.example"],
        );
        // A bare host, in a parameter that announces a redirect target.
        check("https://example.com/?next=evil.com", &["evil.com"]);
        check("https://example.com/?RelayState=evil.app", &["evil.app"]);
        check("https://example.com/?to=10.0.0.1", &["10.0.0.1"]);
        check("https://example.com/?url=[::1]:80/x", &["[::1]"]);
        check(
            "https://example.com/?Return_To=evil.co.uk:8443/a@b",
            &["evil.co.uk"],
        );
        check("https://example.com/#dest=evil.com.", &["evil.com"]);
        check("https://example.com/?next=evil%252Ecom", &["evil.com"]);
        for none in [
            "to=2",
            "to=1.2",
            "to=ada@evil.com",
            "next=home",
            "next=home.html",
            "next=www.example.com",
            "url=%2Fevil.com",
            "continue=made%20by%20evil.com",
            "file=evil.com",
            "q=evil.com",
            "ip=10.0.0.1",
        ] {
            check(&format!("https://example.com/?{none}"), &[]);
        }
        check("https://example.com/files//2024//notes.txt", &[]);
        // Parameters that name what the user signs in to.
        check(
            "https://example.com/?scope=https://www.googleapis.com/auth/drive&resource=https://api.other.com",
            &[],
        );
        check(
            "https://example.com/?to=https://user@evil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/?a=https://b.example&c=https://d.example",
            &["b.example", "d.example"],
        );
    }

    #[test]
    fn sites_are_found_wherever_an_address_fits() {
        check(
            "https://example.com/?https://evil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/?//evil.example/?a=b",
            &["evil.example"],
        );
        check("https://example.com/%2F%2Fevil.com/x", &["evil.com"]);
        check("https://example.com/?a=///evil.example", &["evil.example"]);
        check("https://example.com/go//evil.com/x", &["evil.com"]);
        check("https://example.com/go/%5C/evil.com/x", &["evil.com"]);
        check("https://example.com/go//10.0.0.1/x", &["10.0.0.1"]);
        check(
            "https://example.com/?a=/in%3Fnext%3D%2F%2Fevil.example",
            &["evil.example"],
        );
        check("https://example.com/go//x", &[]);
        check("https://example.com/go//app.js", &[]);
        check("https://example.com/go//www.example.com", &[]);
        check("https://example.com/?to=/go//x", &[]);
        check("https://example.com/?to=myapp://evil", &["evil"]);
        // Surrounded by other characters.
        for around in [
            r#"{"to":"_","a":1}"#,
            "{to:_}",
            "(_)",
            "<_>",
            "a, _; b",
            "'_'",
        ] {
            for host in ["https://evil.app", "http:evil.app", "a=//evil.app"] {
                let value: String =
                    url::form_urlencoded::byte_serialize(around.replace('_', host).as_bytes())
                        .collect();
                check(&format!("https://example.com/?a={value}"), &["evil.app"]);
            }
        }
        check("https://example.com/?a=https://u,x@evil.app", &["evil.app"]);
        check("https://example.com/?a=//.evil.app", &["evil.app"]);
        check("https://example.com/?a=https://example.com./", &[]);
        check(
            "https://example.com/?a=x%20ht%09tps://evil.com",
            &["evil.com"],
        );
        check(
            "https://example.com/?a=x%20ht%250Atps://evil.com",
            &["evil.com"],
        );
    }
}
