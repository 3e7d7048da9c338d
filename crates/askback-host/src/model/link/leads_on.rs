//! The other sites that stand in a link: whoever opens it may be sent on to them.

use url::Url;

use super::domain;

/// The hosts of other sites in the parameters and the path of a link, each once.
pub(super) fn leads_on(url: &Url, name: &str) -> Vec<String> {
    let site = |name: &str| name[domain(name, 0..name.len())].to_owned();
    let here = site(name);
    let mut hosts = Vec::new();
    let in_fragment = url.fragment().unwrap_or_default();
    let in_fragment = url::form_urlencoded::parse(in_fragment.as_bytes());
    let values = url.query_pairs().chain(in_fragment).map(|(_, value)| value);
    let path = url.path();
    let in_path = path.match_indices("http").map(|(at, _)| path[at..].into());
    for value in values.chain(in_path) {
        // As a browser reads it, to which slashes of both kinds are the same.
        let address = url.join(&value).ok();
        let Some(host) = address.as_ref().and_then(Url::host_str) else {
            continue;
        };
        if site(host) != here && !hosts.iter().any(|known| known == host) {
            hosts.push(host.to_owned());
        }
    }
    hosts
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
