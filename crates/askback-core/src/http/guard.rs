//! Checks of the `Host` and `Origin` headers. They stop web pages from reaching servers on the
//! user's own machine by DNS rebinding (2026-07-28, basic/transports/streamable-http, Security &
//! Endpoint).
//!
//! Names are compared with the configured names and never normalized: another spelling of an
//! address, a trailing dot or a zone is another name.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use memchr::{memchr, memrchr};

/// The hosts of a server, and the origins whose pages may use it.
///
/// [`Guard::default`] is for servers on the user's own machine. A server on a network lists its own
/// names, and the origins of web pages that may use it from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// `None` if every host is allowed.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    /// Whether the loopback names are allowed as hosts and origins, on any port.
    loopback: bool,
}

/// Why a request was refused. The response has status 403.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardRefusal {
    /// There is no host, so the request may be for another server.
    #[error("the Host header is missing")]
    HostMissing,
    /// The host is not listed.
    #[error("the Host header does not name this server")]
    Host,
    /// The origin is not listed.
    #[error("pages of this Origin may not use this server")]
    Origin,
}

impl GuardRefusal {
    /// The refused header, in small letters.
    pub const fn header(self) -> &'static str {
        match self {
            Self::HostMissing | Self::Host => "host",
            Self::Origin => "origin",
        }
    }
}

/// A host or origin that cannot be listed. The caller is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadName {
    /// The host has other parts than a name or address and a port.
    #[error(
        "{0:?} is not a host: write a name or address, with a port where only that port counts, such as \"mcp.example.com\" or \"[2001:db8::1]:8443\""
    )]
    Host(String),
    /// Browsers do not send the origin in this form.
    #[error(
        "{0:?} is not an origin: write it as browsers send it, in small letters, with nothing after the port, such as \"https://app.example.com\""
    )]
    Origin(String),
}

impl Default for Guard {
    /// Allows `localhost`, `127.0.0.1` and `[::1]` on any port, as host and as origin.
    fn default() -> Self {
        Self {
            loopback: true,
            ..Self::none()
        }
    }
}

impl Guard {
    /// Allows no hosts, not even the loopback names, until some are listed.
    pub fn none() -> Self {
        Self {
            hosts: Some(Vec::new()),
            origins: Vec::new(),
            loopback: false,
        }
    }

    /// Lists a host, such as `mcp.example.com`: on any port, or only on its port if it has one.
    /// Browsers leave the default port of the scheme (80 or 443) out of the `Host` header, so do
    /// not list it.
    ///
    /// # Errors
    ///
    /// [`BadName::Host`] if it is not a host. There are no wildcards.
    pub fn allow_host(mut self, host: &str) -> Result<Self, BadName> {
        let written = host_and_port(host.as_bytes());
        let written = written.map(|(name, _)| &host[..name.len()]);
        if !written.is_some_and(is_host) {
            return Err(BadName::Host(host.to_owned()));
        }
        if let Some(hosts) = &mut self.hosts {
            hosts.push(host.to_ascii_lowercase());
        }
        Ok(self)
    }

    /// Lists an origin, such as `https://app.example.com`, whose pages may use the server from a
    /// browser. It is compared exactly, including the port.
    ///
    /// # Errors
    ///
    /// [`BadName::Origin`] if no browser sends it in this form. `null` cannot be listed, because
    /// every sandboxed page has this origin.
    pub fn allow_origin(mut self, origin: &str) -> Result<Self, BadName> {
        let rest = origin
            .split_once("://")
            .filter(|(scheme, _)| !scheme.is_empty());
        let as_sent = |byte: u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
        let nothing_else =
            |rest: &str| !rest.is_empty() && !rest.contains(['/', '\\', '?', '#', '@', '*', ',']);
        match rest {
            Some((_, rest)) if origin.bytes().all(as_sent) && nothing_else(rest) => {
                self.origins.push(origin.to_owned());
                Ok(self)
            }
            _ => Err(BadName::Origin(origin.to_owned())),
        }
    }

    /// Allows every host, and requests without one. Only for a server behind a gateway that checks
    /// the host: on the user's own machine, any web page could then use the server by DNS
    /// rebinding, unless its browser sends an origin.
    #[must_use]
    pub fn dangerously_allow_any_host(mut self) -> Self {
        self.hosts = None;
        self
    }

    /// Checks a request: its `Host` headers, the authority of its URI, and its `Origin` headers. A
    /// second `Host` or `Origin` is refused, because a proxy may have used the other one.
    ///
    /// # Errors
    ///
    /// Says which header is refused.
    pub fn check_request<'a>(
        &self,
        hosts: impl IntoIterator<Item = &'a [u8]>,
        authority: Option<&[u8]>,
        origins: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), GuardRefusal> {
        let origin = at_most_one(origins).ok_or(GuardRefusal::Origin)?;
        let host = at_most_one(hosts).ok_or(GuardRefusal::Host)?;
        // In HTTP/2 the URI has the host, in HTTP/1 it may. If both URI and header have one, both
        // must be allowed.
        if let (Some(host), Some(_)) = (host, authority) {
            self.check(Some(host), origin)?;
        }
        self.check(authority.or(host), origin)
    }

    /// Checks one host, ignoring case (RFC 9110, 4.2.3), and one origin.
    ///
    /// # Errors
    ///
    /// Says which of the two is refused.
    pub fn check(&self, host: Option<&[u8]>, origin: Option<&[u8]>) -> Result<(), GuardRefusal> {
        if let Some(hosts) = &self.hosts {
            let host = host.ok_or(GuardRefusal::HostMissing)?;
            if !self.is_host_listed(hosts, host) {
                return Err(GuardRefusal::Host);
            }
        }
        match origin {
            Some(origin) if !self.is_origin_listed(origin) => Err(GuardRefusal::Origin),
            _ => Ok(()),
        }
    }

    fn is_host_listed(&self, hosts: &[String], host: &[u8]) -> bool {
        let Some((name, _)) = host_and_port(host) else {
            return false;
        };
        let is = |known: &str, name: &[u8]| name.eq_ignore_ascii_case(known.as_bytes());
        let is_loopback = || LOOPBACK.iter().any(|known| is(known, name));
        self.loopback && is_loopback()
            || hosts.iter().any(|listed| {
                let written = host_and_port(listed.as_bytes());
                let any_port = written.is_some_and(|(_, port)| port.is_none());
                is(listed, if any_port { name } else { host })
            })
    }

    fn is_origin_listed(&self, origin: &[u8]) -> bool {
        let is = |listed: &str, origin: &[u8]| listed.as_bytes() == origin;
        let rest = ["http://", "https://"]
            .iter()
            .find_map(|scheme| origin.strip_prefix(scheme.as_bytes()));
        let name = rest.and_then(host_and_port).map(|(name, _)| name);
        let is_loopback = name.is_some_and(|name| LOOPBACK.iter().any(|known| is(known, name)));
        self.loopback && is_loopback || self.origins.iter().any(|listed| is(listed, origin))
    }
}

/// Returns the value, if any, or `None` if there are several.
fn at_most_one<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Option<&'a [u8]>> {
    let mut values = values.into_iter();
    let first = values.next();
    values.next().is_none().then_some(first)
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Splits a host and its port, a number from 1 to 65535 without leading zeros.
fn host_and_port(text: &[u8]) -> Option<(&[u8], Option<u16>)> {
    // The colons inside a bracketed address are not before a port.
    let bracket = memrchr(b']', text);
    let after_address = bracket.map_or(0, |bracket| bracket + 1);
    let colon = memchr(b':', &text[after_address..]);
    let Some(colon) = colon else {
        return Some((text, None));
    };
    let (name, port) = text.split_at(after_address + colon);
    let mut number: u16 = 0;
    for byte in &port[1..] {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number.checked_mul(10)?.checked_add(digit.into())?;
        if number == 0 {
            return None;
        }
    }
    (number > 0).then_some((name, Some(number)))
}

/// Whether a browser can request this name: letters, digits, dots, hyphens and underscores, or an
/// address in brackets.
fn is_host(name: &str) -> bool {
    let address = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    if let Some(address) = address {
        return address.parse::<core::net::Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.bytes().all(known)
    };
    name.split('.').all(is_label)
}
