//! Finds other hosts in a link: possible redirect targets.

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::domain;

/// How many times a value is decoded. Each page that passes a URL on encodes it again.
const DECODED: usize = 3;

/// Substrings of parameter names that announce a redirect target. Any bare host in such a parameter
/// counts.
const GOES_ON: [&str; 12] = [
    "back", "continue", "dest", "forward", "goto", "jump", "landing", "location", "logout", "next",
    "redir", "return",
];

/// Whole parameter names that announce a redirect target. They are too short to search for as
/// substrings.
const GOES_ON_WHOLE: [&str; 25] = [
    "after",
    "cb",
    "click",
    "domain",
    "dst",
    "exit",
    "go",
    "host",
    "href",
    "link",
    "loc",
    "open",
    "out",
    "page",
    "r",
    "relaystate",
    "ru",
    "server",
    "service",
    "site",
    "target",
    "to",
    "u",
    "view",
    "wreply",
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

/// Search terms and login hints: a bare host in them is not a redirect target.
const SOUGHT: [&str; 6] = ["domain_hint", "login_hint", "oq", "q", "query", "search"];

/// Top-level domains of names that count as sites anywhere. Other top-level domains are also file
/// extensions and field names.
const SITES: [&str; 16] = [
    "biz", "cn", "com", "de", "eu", "fr", "icu", "info", "jp", "net", "online", "org", "ru", "top",
    "uk", "xyz",
];

/// Separators between the parts of a value. Each part may be a bare host.
const BETWEEN: [char; 15] = [
    '"', '\'', '`', '<', '>', '(', ')', '{', '}', '|', ',', ';', '&', '?', '#',
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
        let value = (Some(name.to_string()), value.into_owned());
        [(None, name.into_owned()), value]
    });
    let in_path = (None, url.path().to_owned());
    for (name, value) in values.chain([in_path]) {
        for value in decoded(value) {
            let found = addresses(url, &value);
            let name = name.as_deref();
            let alone = name.map(|name| hosts_alone(name, &value));
            for address in found.into_iter().chain(alone.into_iter().flatten()) {
                let host = address.host_str().unwrap_or_default();
                let host = host.trim_matches('.');
                if !host.is_empty()
                    && site(host) != here
                    && !hosts.iter().any(|known| known == host)
                {
                    hosts.push(host.to_owned());
                }
            }
        }
    }
    hosts
}

fn goes_on(name: &str) -> bool {
    // `name` in `name[0]`.
    let name = name.split('[').next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    GOES_ON_WHOLE.contains(&name.as_str())
        || name.ends_with("url")
        || name.ends_with("uri")
        || GOES_ON.iter().any(|part| name.contains(part))
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
            // A single number is a folder.
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

/// Finds bare hosts in a parameter's value, and in parameters nested in it.
fn hosts_alone(name: &str, value: &str) -> Vec<Url> {
    let mut found = Vec::new();
    for part in value.split(BETWEEN) {
        let (name, value) = part.split_once('=').unwrap_or((name, part));
        if !SOUGHT.contains(&name) {
            found.extend(host_alone(value, goes_on(name)));
        }
    }
    found
}

/// Parses a bare host, with an optional path.
fn host_alone(value: &str, goes_on: bool) -> Option<Url> {
    if value.starts_with(['/', '\\']) || value.contains(['@', ' ']) {
        return None;
    }
    let address = Url::parse(&format!("https://{value}")).ok()?;
    let is_host = match address.host()? {
        Host::Domain("localhost" | "localhost.") => goes_on,
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name.contains('.') && ends_as_site(name) && (goes_on || is_site(name))
        }
        // A single number is not an address.
        Host::Ipv4(number) => goes_on && value.starts_with(&number.to_string()),
        Host::Ipv6(_) => goes_on,
    };
    is_host.then_some(address)
}

/// Whether a name is a site wherever it appears. Package names such as `com.example.app` are not
/// sites.
fn is_site(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    SITES.contains(&last) && !["com", "io", "net", "org"].contains(&first)
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
        // A bare host, in a parameter that may have one.
        check("https://example.com/?next=evil.com/x", &["evil.com"]);
        check("https://example.com/?Return_To=evil.co.uk", &["evil.co.uk"]);
        check("https://example.com/?redirect=home.html", &[]);
        check("https://example.com/?url=%2Fa.com", &[]);
        check("https://example.com/?file=report.zip&v=1.2", &[]);
        check("https://example.com/?next=www.example.com", &[]);
        check("https://example.com/?source=README.md&hour=9.am", &[]);
        check("https://example.com/?return_email=ada@mail.com", &[]);
        check("https://example.com/?image_url=evil.com", &["evil.com"]);
        check("https://example.com/?target=evil.com", &["evil.com"]);
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
        check("https://example.com/?a.com=b", &[]);
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
        for name in ["to", "go", "link", "out", "redir", "Redirect_To"] {
            check(
                &format!("https://example.com/?{name}=evil.com"),
                &["evil.com"],
            );
        }
        for name in [
            "u",
            "r",
            "dst",
            "after",
            "page",
            "jump",
            "to[]",
            "to[0]",
            "Location",
            "RelayState",
            "post_logout",
            "wreply",
        ] {
            let link = |host: &str| format!("https://example.com/?{name}={host}");
            check(&link("evil.app"), &["evil.app"]);
            check(&link("localhost:8080/a"), &["localhost"]);
            check(&link("10.0.0.1"), &["10.0.0.1"]);
            check(&link("[::1]:80"), &["[::1]"]);
            check(&link("evil%E3%80%82app"), &["evil.app"]);
            for none in ["2", "1.2", "home", "home.html", "/a.com", "a%20b.app"] {
                check(&link(none), &[]);
            }
        }
        // With any parameter name, if the top-level domain is only used by sites.
        check(
            "https://example.com/?tool=a.com&b=1;c=d.co.uk",
            &["a.com", "d.co.uk"],
        );
        check(
            "https://example.com/?a=/in%3Fb%3Devil.com%26c=1",
            &["evil.com"],
        );
        check(
            "https://example.com/?a=/in%3Fnext%3Devil.app",
            &["evil.app"],
        );
        check(
            "https://example.com/?a=x,evil.com|b.org/c",
            &["evil.com", "b.org"],
        );
        for none in [
            "file=README.md&of=Socket.io&by=user.name&at=created.at",
            "app=com.example.app&id=org.evil.com",
            "client_id=1.apps.googleusercontent.com&hd=evil.com&iss=https://a.test",
            "q=made%20by%20evil.com",
            "v=1.2.3.4&ip=10.0.0.1&on=localhost",
            "q=evil.com&oq=evil.com&domain_hint=evil.com",
        ] {
            check(&format!("https://example.com/?{none}"), &[]);
        }
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
        let json = "%7B%22to%22:%22evil.com%22%7D";
        check(&format!("https://example.com/?a={json}"), &["evil.com"]);
        check("https://example.com/?a=https://u,x@evil.app", &["evil.app"]);
        check("https://example.com/?a=//.evil.app", &["evil.app"]);
        // The root's trailing dot.
        check(
            "https://example.com/?a=evil.com.&next=localhost.",
            &["evil.com", "localhost"],
        );
        check(
            "https://example.com/?a=evil.com&b=https://evil.com./",
            &["evil.com"],
        );
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
