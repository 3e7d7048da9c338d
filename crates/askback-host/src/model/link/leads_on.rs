//! The other sites that stand in a link: whoever opens it may be sent on to them.

use percent_encoding::percent_decode_str;
use url::Url;

use super::domain;

/// How often a value is decoded once more: each page that passes one on encodes it again.
const DECODED: usize = 3;

/// The parts of the names of parameters that say where to go on: a host may stand alone in those.
const GOES_ON: [&str; 13] = [
    "back", "continue", "dest", "domain", "forward", "goto", "host", "next", "redirect", "return",
    "site", "target", "ur",
];

/// The hosts of other sites in the parameters and the path of a link, each once.
pub(super) fn leads_on(url: &Url, name: &str) -> Vec<String> {
    let site = |name: &str| name[domain(name, 0..name.len())].to_owned();
    let here = site(name);
    let mut hosts: Vec<String> = Vec::new();
    let in_fragment = url.fragment().unwrap_or_default();
    let in_fragment = url::form_urlencoded::parse(in_fragment.as_bytes());
    let values = url.query_pairs().chain(in_fragment);
    let values = values.map(|(name, value)| (goes_on(&name), value.into_owned()));
    let in_path = (false, url.path().to_owned());
    for (goes_on, value) in values.chain([in_path]) {
        for value in decoded(value) {
            let found = addresses(url, &value);
            let alone = goes_on.then(|| host_alone(&value)).flatten();
            for address in found.into_iter().chain(alone) {
                let Some(host) = address.host_str() else {
                    continue;
                };
                if site(host) != here && !hosts.iter().any(|known| known == host) {
                    hosts.push(host.to_owned());
                }
            }
        }
    }
    hosts
}

/// Whether a parameter of this name says where to go on.
fn goes_on(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    GOES_ON.iter().any(|part| name.contains(part))
}

/// A value as it is, and decoded again as long as that changes it.
fn decoded(value: String) -> Vec<String> {
    let mut all = vec![value];
    while let Some(last) = all.last()
        && all.len() <= DECODED
    {
        let next = percent_decode_str(last).decode_utf8_lossy().into_owned();
        if next == *last {
            break;
        }
        all.push(next);
    }
    all
}

/// The addresses in a value: that which it is on this page or by itself, and those within it.
fn addresses(url: &Url, value: &str) -> Vec<Url> {
    // As a browser reads it, to which slashes of both kinds are the same.
    let here = [url.join(value), Url::parse(value)];
    let small = value.to_ascii_lowercase();
    let within = small
        .match_indices("http")
        .filter(|(at, _)| *at > 0)
        .map(|(at, _)| url.join(&value[at..]));
    here.into_iter().chain(within).flatten().collect()
}

/// The address of a host that stands alone, perhaps before a path. A name has to end as those of sites do.
fn host_alone(value: &str) -> Option<Url> {
    if value.starts_with(['/', '\\']) {
        return None;
    }
    let address = Url::parse(&format!("https://{value}")).ok()?;
    let host = address.host_str()?;
    let is_site = value.contains('.')
        && psl::domain(host.as_bytes()).is_some_and(|domain| domain.suffix().is_known());
    is_site.then_some(address)
}

#[cfg(test)]
mod tests {
    use crate::model::link::judge;

    // Shows EL-35, EL-41.
    #[test]
    fn other_sites_in_a_link_are_named() {
        #[track_caller]
        fn check(url: &str, hosts: &[&str]) {
            let link = judge(url).expect("it may be opened");
            assert_eq!(link.leads_on, hosts, "{url}");
        }
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
        // Encoded for each of the pages that pass it on, and within an address of this site.
        check(
            "https://example.com/?to=https%253A%252F%252Fevil.example",
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
        // A host alone, where one may stand.
        check("https://example.com/?next=evil.com/x", &["evil.com"]);
        check("https://example.com/?Return_To=evil.co.uk", &["evil.co.uk"]);
        check("https://example.com/?redirect=home.html", &[]);
        check("https://example.com/?url=%2Fa.com", &[]);
        check("https://example.com/?file=report.zip&v=1.2", &[]);
        check("https://example.com/?next=www.example.com", &[]);
        check(
            "https://example.com/?to=https://user@evil.example",
            &["evil.example"],
        );
        check(
            "https://example.com/?a=https://b.example&c=https://d.example",
            &["b.example", "d.example"],
        );
    }
}
