//! Which URLs and addresses a server may make its client connect to (2026-07-28,
//! basic/authorization/security-considerations).
//!
//! A server names URLs that a client then fetches or opens. They must not lead to places that only
//! the client can reach: the user's machine, the network behind it, or the credentials service of a
//! cloud machine.

use std::net::IpAddr;

use askback_core::address::{AddressKind, is_loopback_host};
use url::{Host, Position, Url};

/// The maximum length of a URL, in bytes.
const LONGEST: usize = 4 << 10;

/// The networks that a server's URLs may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Whether the server runs on this machine, so that its URLs may point here too.
    loopback: bool,
    private: bool,
    /// Whether the operator chose the URLs, and may name any place.
    special: bool,
    /// The server's address, if its URL has one: the user chose it.
    server: Option<IpAddr>,
}

impl Reach {
    /// The internet, over `https`.
    #[must_use]
    pub fn internet() -> Self {
        Self {
            loopback: false,
            private: false,
            special: false,
            server: None,
        }
    }

    /// Any place over `https`, and this machine also over `http`. Only for URLs that the operator
    /// chose.
    #[must_use]
    pub fn anywhere() -> Self {
        Self {
            loopback: true,
            private: true,
            special: true,
            server: None,
        }
    }

    /// Returns the reach of a server at this URL: the internet, private networks if `private` is
    /// set, and this machine if the server runs on it.
    #[must_use]
    pub fn of(server: &Url, private: bool) -> Self {
        Self {
            loopback: is_loopback(server),
            private,
            special: false,
            server: literal(server),
        }
    }

    /// Parses a URL that a server gave. Returns `None` for a URL that a parser would have to
    /// repair, because other programs may read it differently.
    #[must_use]
    pub fn url(&self, raw: &str) -> Option<Url> {
        if raw.len() > LONGEST {
            return None;
        }
        let url = Url::parse(raw).ok()?;
        let is_plain = is_unchanged(raw, &url)
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none();
        (is_plain && self.allows(&url)).then_some(url)
    }

    /// Returns whether a URL may be fetched, judged without resolving its host.
    #[must_use]
    pub fn allows(&self, url: &Url) -> bool {
        let is_secure = match url.scheme() {
            "https" => true,
            "http" => self.loopback && is_loopback(url),
            _ => false,
        };
        let is_outside = match literal(url) {
            Some(address) => self.address(address),
            None => self.loopback || !is_loopback(url),
        };
        is_secure && is_outside && url.has_host()
    }

    /// Returns whether a connection to this address may be opened.
    #[must_use]
    pub fn address(&self, address: IpAddr) -> bool {
        match AddressKind::of(address) {
            AddressKind::Global => true,
            AddressKind::Loopback => self.loopback,
            AddressKind::Private => self.private || self.server == Some(address),
            AddressKind::Special => self.special || self.server == Some(address),
        }
    }
}

pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback_host)
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host() {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        Some(Host::Domain(_)) | None => None,
    }
}

/// Whether a URL is in the parser's normal form, except for upper case in scheme and host, and for
/// a missing slash after a bare host.
fn is_unchanged(raw: &str, url: &Url) -> bool {
    let (origin, rest) = (&url[..Position::AfterPort], &url[Position::AfterPort..]);
    let Some((raw_origin, raw_rest)) = raw.split_at_checked(origin.len()) else {
        return false;
    };
    let is_rest = raw_rest == rest || raw_rest.is_empty() && rest == "/";
    raw_origin.eq_ignore_ascii_case(origin) && is_rest
}

/// Whether the URL of an authorization endpoint has no characters that a program which opens it
/// could interpret.
pub(crate) fn is_plain(endpoint: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?&=%@+,[]".contains(&byte);
    endpoint.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use url::Url;

    use super::Reach;

    fn reach(server: &str) -> Reach {
        Reach::of(&Url::parse(server).expect("a URL"), false)
    }

    // Shows BP-26, BP-27, BP-57, BP-58, BP-59, BP-65, BP-67.
    #[test]
    fn urls_are_taken_as_they_stand_or_not_at_all() {
        let outside = reach("https://mcp.example.com/mcp");
        for good in [
            "https://auth.example.com",
            "https://auth.example.com/",
            "https://auth.example.com/a/b?c=d",
            "https://auth.example.com:8443/a",
            "HTTPS://Auth.Example.com/a",
            "https://93.184.216.34/",
            "https://xn--fa-hia.de/",
        ] {
            assert!(outside.url(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "--help",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "gopher://example.com/",
            "http://auth.example.com/",
            "https:evil.com",
            "https:///evil.com",
            "ht\ntps://ev\til.com/",
            "https://good.com@evil.com/x",
            "https://good.com\\@evil.com/",
            "https://user:password@example.com/",
            "https://example.com/#x",
            "https://example.com/\u{1b}[31m",
            "https://example.com/a b",
            "https://example.com/$(calc)`x`|\"",
            "https://exam\u{200b}ple.com",
            "https://\u{24d4}xample.com",
            "https://\u{430}pple.com",
            "https://fa\u{df}.de/",
            "https://example\u{3002}com",
            "https://example.com/a/../b",
            "https://example.com:443/",
            " https://example.com/",
        ] {
            assert!(outside.url(bad).is_none(), "{bad:?}");
        }
        assert!(
            outside
                .url(&format!("https://a.com/{}", "a".repeat(5000)))
                .is_none()
        );
    }

    // Shows BP-25, BP-29, BP-30, BP-31, BP-32.
    #[test]
    fn a_server_elsewhere_names_nothing_inside() {
        let outside = reach("https://mcp.example.com/mcp");
        for bad in [
            "https://127.0.0.1/",
            "https://0x7f.1/",
            "https://2130706433/",
            "https://017700000001/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://169.254.169.254/latest/meta-data",
            "https://[fd00:ec2::254]/",
            "https://[fc00::1]/",
            "https://[fdff:ffff::1]/",
            "https://[fe80::1]/",
            "https://[febf::1]/",
            "https://[fec0::1]/",
            "https://10.0.0.1/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
            "https://100.64.0.1/",
            "https://0.0.0.0/",
            "https://192.0.0.192/",
            "https://[::]/",
            "https://255.255.255.255/",
            "https://[2002:7f00:1::]/",
            "https://localhost/",
            "https://localhost./",
            "https://auth.localhost/",
            "http://localhost/",
        ] {
            assert!(outside.url(bad).is_none(), "{bad}");
        }
    }

    // Shows BP-26, BP-27, BP-30.
    #[test]
    fn a_server_on_the_own_machine_may_name_it_and_nothing_else() {
        for server in [
            "http://localhost:8080/mcp",
            "http://127.0.0.1/mcp",
            "http://[::1]:1/",
        ] {
            let inside = reach(server);
            for good in [
                "http://127.0.0.1:9000/authorize",
                "http://localhost:1/",
                "http://[::1]:1/",
                "https://localhost/",
                "https://auth.example.com/",
            ] {
                assert!(inside.url(good).is_some(), "{server} {good}");
            }
            for bad in [
                "http://auth.example.com/",
                "https://10.0.0.1/",
                "http://169.254.169.254/",
            ] {
                assert!(inside.url(bad).is_none(), "{server} {bad}");
            }
        }
    }

    #[test]
    fn addresses_are_judged_again_when_a_name_is_resolved() {
        #[track_caller]
        fn check(reach: Reach, address: &str, expected: bool) {
            let parsed: IpAddr = address.parse().expect("an address");
            assert_eq!(reach.address(parsed), expected, "{address}");
        }
        let outside = reach("https://mcp.example.com/");
        check(outside, "93.184.216.34", true);
        check(outside, "2606:2800:220:1::1", true);
        check(outside, "64:ff9b::5db8:d822", true);
        for bad in [
            "127.0.0.1",
            "::1",
            "10.1.1.1",
            "169.254.169.254",
            "::ffff:10.0.0.1",
            "fd00::1",
        ] {
            check(outside, bad, false);
        }
        let corporate = Reach::of(&Url::parse("https://mcp.corp/").expect("a URL"), true);
        check(corporate, "10.1.1.1", true);
        check(corporate, "fd00::1", true);
        check(corporate, "169.254.169.254", false);
        check(corporate, "127.0.0.1", false);
        check(reach("https://10.0.0.5/mcp"), "10.0.0.5", true);
        check(reach("https://10.0.0.5/mcp"), "10.0.0.6", false);
    }
}
