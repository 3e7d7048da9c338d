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
