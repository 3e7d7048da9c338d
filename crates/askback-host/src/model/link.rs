//! Decides whether a link from a server may be opened, and with which warnings.
//!
//! A link is refused if the user would read something else than the browser opens: if it has hidden
//! characters, if parsing would repair it, or if it has a user name, which can look like a host. A
//! link that reads correctly but may still mislead needs a second confirmation. Nothing here uses
//! the network.

mod leads_on;

use std::{fmt, ops::Range};

use askback::internal::address::is_loopback_host;
use unicode_security::{MixedScript, confusable_detection::skeleton};
use url::{Host, Position, Url};

use crate::{
    model::{By, Reply},
    text::{self, PeerText, Words},
    words,
};
use leads_on::leads_on;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The whole link, in printable ASCII. It is shown and opened in this form.
    pub url: String,
    /// The host's position in [`Link::url`].
    pub host: Range<usize>,
    /// The registrable domain's position in [`Link::url`]. If the host has no registrable domain,
    /// this is the whole host.
    pub domain: Range<usize>,
    /// Other hosts named in the link: possible redirect targets.
    pub leads_on: Vec<String>,
    /// Any warning requires a second confirmation.
    pub warnings: Vec<Warning>,
}

/// Why a link needs a second confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    Unencrypted,
    Address,
    Port(u16),
    /// The name has letters outside ASCII, which browsers show.
    International {
        /// The name as browsers show it.
        shown: String,
    },
    MixedScripts,
    /// The name looks like this other name.
    LooksLike(String),
}

/// Why a link is never opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Malformed(String),
    /// Only `https` and `http` are opened.
    Scheme(String),
    /// It has whitespace, or a control or invisible character.
    Hidden(char),
    /// It has a user name or a password, which can look like a host.
    User,
    Long,
    /// Parsing changes it, so the browser would open a different address than the user reads.
    Repaired {
        /// The address that it would become.
        to: String,
    },
}

/// The maximum length of a link, in bytes. Links are shown whole, and a longer one would fill the
/// terminal.
const LONGEST: usize = 8 << 10;

/// Checks a link as the server wrote it.
/// The error is why the link must not be opened, even with the user's consent.
pub fn judge(raw: &str) -> Result<Link, Refusal> {
    if raw.len() > LONGEST {
        return Err(Refusal::Long);
    }
    if let Some(c) = raw
        .chars()
        .find(|&c| c.is_whitespace() || text::acts_or_hides(c))
    {
        return Err(Refusal::Hidden(c));
    }
    let url = Url::parse(raw).map_err(|error| Refusal::Malformed(error.to_string()))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(Refusal::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::User);
    }
    let (Some(host), Some(name)) = (url.host(), url.host_str()) else {
        return Err(Refusal::Malformed("it has no host".to_owned()));
    };
    let (shown, _) = idna::domain_to_unicode(name);
    if !reads_as_it_opens(raw, &url, name, &shown) {
        return Err(Refusal::Repaired {
            to: url.as_str().to_owned(),
        });
    }
    let start = url[..Position::BeforeHost].len();
    let host_range = start..start.saturating_add(name.len());
    Ok(Link {
        domain: domain(name, host_range.clone()),
        host: host_range,
        leads_on: leads_on(&url, name),
        warnings: warnings(&url, &host, name, &shown),
        url: url.into(),
    })
}

impl Link {
    /// Returns the host, in ASCII.
    pub fn host(&self) -> &str {
        &self.url[self.host.clone()]
    }

    /// Returns the registrable domain, in ASCII.
    pub fn site(&self) -> &str {
        &self.url[self.domain.clone()]
    }

    /// Returns the name that a rule uses for the link: the host, if the link has the default port
    /// and is encrypted, or is on this machine. Otherwise the unusual port and the `http` scheme are
    /// part of the name, as in `example.com:8443` or `http://example.com`.
    pub fn named(&self) -> String {
        let mut name = self.host().to_owned();
        if self.is_of_this_machine() {
            return name;
        }
        for warning in &self.warnings {
            if let Warning::Port(port) = warning {
                name = format!("{name}:{port}");
            }
        }
        match self.warnings.contains(&Warning::Unencrypted) {
            true => format!("http://{name}"),
            false => name,
        }
    }

    /// Whether the page is on the user's own machine: on a loopback address, or on the unspecified
    /// address, which browsers and operating systems treat as loopback.
    pub fn is_of_this_machine(&self) -> bool {
        is_loopback_host(self.host())
            || match Host::parse(self.host()) {
                Ok(Host::Ipv4(address)) => address.is_unspecified(),
                Ok(Host::Ipv6(address)) => {
                    let address = address.to_canonical();
                    address.is_unspecified() || address.is_loopback()
                }
                _ => false,
            }
    }
}

/// Whether parsing left the link unchanged. The case of the scheme and the host may differ, the
/// host may be in Unicode, and the slash after a bare host may be missing.
fn reads_as_it_opens(raw: &str, url: &Url, name: &str, shown: &str) -> bool {
    let Some((scheme, rest)) = raw.split_once("://") else {
        return false;
    };
    let split = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(split);
    let port = url
        .port()
        .map_or_else(String::new, |port| format!(":{port}"));
    let same_authority = authority.eq_ignore_ascii_case(&format!("{name}{port}"))
        || authority == format!("{shown}{port}");
    let opened = &url[Position::BeforePath..];
    let same_tail =
        tail == opened || (!tail.starts_with('/') && opened.strip_prefix('/') == Some(tail));
    scheme.eq_ignore_ascii_case(url.scheme()) && same_authority && same_tail
}

/// Returns the range of the registrable domain, without the root's trailing dot.
fn domain(name: &str, host: Range<usize>) -> Range<usize> {
    let within = name.strip_suffix('.').unwrap_or(name);
    let end = host.start.saturating_add(within.len());
    match psl::domain_str(within) {
        // The public suffix list is for names. It would take the last two numbers of an IP address.
        Some(domain) if !within.ends_with(|c: char| c.is_ascii_digit() || "].".contains(c)) => {
            end.saturating_sub(domain.len())..end
        }
        _ => host,
    }
}

fn warnings(url: &Url, host: &Host<&str>, name: &str, shown: &str) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if is_loopback_host(name) {
        return warnings;
    }
    if url.scheme() == "http" {
        warnings.push(Warning::Unencrypted);
    }
    if !matches!(host, Host::Domain(_)) {
        warnings.push(Warning::Address);
    }
    if let Some(port) = url.port() {
        warnings.push(Warning::Port(port));
    }
    if name.split('.').any(|label| label.starts_with("xn--")) {
        warnings.push(Warning::International {
            shown: shown.to_owned(),
        });
    }
    if shown.split('.').any(|label| !label.is_single_script()) {
        warnings.push(Warning::MixedScripts);
    }
    if !shown.is_ascii() {
        // Letter by letter: the skeleton of a whole name changes ASCII letters too, such as `m` to
        // `rn`.
        let plain: String = shown.chars().flat_map(look).collect();
        if plain.is_ascii() && plain != shown {
            warnings.push(Warning::LooksLike(plain));
        }
    }
    warnings
}

fn look(c: char) -> Vec<char> {
    if c.is_ascii() {
        return vec![c];
    }
    skeleton(c.encode_utf8(&mut [0; 4])).collect()
}

impl Warning {
    /// Returns the warning, and the part of the link that it is about, which is text from the
    /// server.
    pub fn words(&self) -> (Words, Option<PeerText>) {
        match self {
            Self::Unencrypted => (
                "The connection is not encrypted (http): others can read along.".into(),
                None,
            ),
            Self::Address => ("The host is a number, not a name.".into(), None),
            Self::Port(port) => (words!("The port {} is unusual.", *port), None),
            Self::International { shown } => (
                "The name has letters beyond a to z; browsers show it as".into(),
                Some(shown.into()),
            ),
            Self::MixedScripts => ("The name mixes alphabets, as fakes do.".into(), None),
            Self::LooksLike(other) => (
                "The name is not this one, but looks like it:".into(),
                Some(other.into()),
            ),
        }
    }
}

impl Refusal {
    pub(crate) fn reply(&self) -> Reply {
        Reply::Declined {
            by: By::Policy,
            reason: Some(format!("The link is not opened: {self}")),
        }
    }

    /// Returns the reason, without text from the link.
    pub fn words(&self) -> Words {
        match self {
            Self::Malformed(_) => "it is not a valid link".into(),
            Self::Scheme(_) => "only https and http are opened".into(),
            Self::Hidden(c) => words!("it hides a character: {}", *c),
            Self::User => "it names a user, which can pass for a host".into(),
            Self::Long => words!("it is longer than {} characters", LONGEST),
            Self::Repaired { .. } => "the browser would change this address, to:".into(),
        }
    }
}

/// The text is sent to the server that asked. It may contain text from the server.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "{}: {}", self.words(), text::line(why)),
            Self::Scheme(scheme) => write!(f, "{}, not {}", self.words(), text::line(scheme)),
            Self::Repaired { .. } => f.write_str("the browser would change this address"),
            _ => f.write_str(self.words().as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Shows EL-35.
    #[test]
    fn links_that_mislead_are_refused() {
        #[track_caller]
        fn check(raw: &str, refusal: Refusal) {
            assert_eq!(judge(raw), Err(refusal));
        }
        let repaired = |to: &str| Refusal::Repaired { to: to.to_owned() };
        let scheme = |name: &str| Refusal::Scheme(name.to_owned());
        check("https://good.com@evil.com/x", Refusal::User);
        check("https://user:pass@evil.com/", Refusal::User);
        let path = "x".repeat(LONGEST - "https://a.com/".len());
        assert!(judge(&format!("https://a.com/{path}")).is_ok());
        check(&format!("https://a.com/{path}x"), Refusal::Long);
        check("https://@evil.com/", repaired("https://evil.com/"));
        check(
            "https://good.com\\@evil.com/",
            repaired("https://good.com/@evil.com/"),
        );
        check("https:evil.com", repaired("https://evil.com/"));
        check("https:/evil.com", repaired("https://evil.com/"));
        check("https:///evil.com", repaired("https://evil.com/"));
        check("https:\\\\evil.com", repaired("https://evil.com/"));
        check("ht\ntps://ev\til.com/", Refusal::Hidden('\n'));
        check("https://0x7f.1/", repaired("https://127.0.0.1/"));
        check("http://2130706433/", repaired("http://127.0.0.1/"));
        check("http://017700000001/", repaired("http://127.0.0.1/"));
        check("https://exam\u{200b}ple.com", Refusal::Hidden('\u{200b}'));
        check(
            "https://\u{24d4}xample.com",
            repaired("https://example.com/"),
        );
        check(
            "https://example\u{3002}com/",
            repaired("https://example.com/"),
        );
        check(
            "https://example.com\u{202e}moc.live",
            Refusal::Hidden('\u{202e}'),
        );
        check("https://a.com/\x1b[31m", Refusal::Hidden('\x1b'));
        check("https://a.com/a b", Refusal::Hidden(' '));
        check(" https://a.com/", Refusal::Hidden(' '));
        check("https://a.com/../b", repaired("https://a.com/b"));
        check("https://a.com:443/", repaired("https://a.com/"));
        check("https://a.com/ü", repaired("https://a.com/%C3%BC"));
        check("https://a.com/\u{a0}", Refusal::Hidden('\u{a0}'));
        check("javascript:alert(1)", scheme("javascript"));
        check("data:text/html,x", scheme("data"));
        check("file:///etc/passwd", scheme("file"));
        check("ftp://a.com/", scheme("ftp"));
        for raw in [
            "--help",
            "",
            "a.com",
            "//a.com",
            "https://",
            "https://a.com:99999/",
        ] {
            assert!(matches!(judge(raw), Err(Refusal::Malformed(_))), "{raw}");
        }
    }

    #[test]
    fn misleading_links_need_a_second_confirmation() {
        #[track_caller]
        fn check(raw: &str, url: &str, warnings: &[Warning]) {
            let link = judge(raw).expect("the link can be opened");
            assert_eq!(
                (link.url.as_str(), link.warnings.as_slice()),
                (url, warnings)
            );
        }
        let shown = |shown: &str| Warning::International {
            shown: shown.to_owned(),
        };
        check("https://a.com/x?y=1#z", "https://a.com/x?y=1#z", &[]);
        check("https://a.com", "https://a.com/", &[]);
        check("https://a.com?x=1", "https://a.com/?x=1", &[]);
        check("HTTPS://A.com/X", "https://a.com/X", &[]);
        check("https://a.com./", "https://a.com./", &[]);
        check(
            "https://127.0.0.1.nip.io/",
            "https://127.0.0.1.nip.io/",
            &[],
        );
        check("http://a.com/", "http://a.com/", &[Warning::Unencrypted]);
        check(
            "https://a.com:8443/",
            "https://a.com:8443/",
            &[Warning::Port(8443)],
        );
        check(
            "https://192.168.1.5/",
            "https://192.168.1.5/",
            &[Warning::Address],
        );
        check(
            "https://[fd00::1]/",
            "https://[fd00::1]/",
            &[Warning::Address],
        );
        for loopback in [
            "http://localhost:3000/x",
            "http://localhost.:3000/x",
            "http://127.0.0.1:3000/x",
            "http://[::1]:3000/x",
        ] {
            check(loopback, loopback, &[]);
        }
        check(
            "https://fa\u{df}.de/",
            "https://xn--fa-hia.de/",
            &[shown("fa\u{df}.de")],
        );
        let fake = &[
            shown("\u{430}pple.com"),
            Warning::MixedScripts,
            Warning::LooksLike("apple.com".to_owned()),
        ];
        check("https://\u{430}pple.com", "https://xn--pple-43d.com/", fake);
        check(
            "https://xn--pple-43d.com/",
            "https://xn--pple-43d.com/",
            fake,
        );
        check(
            "https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com/",
            "https://xn--80ak6aa92e.com/",
            &[
                shown("\u{430}\u{440}\u{440}\u{4cf}\u{435}.com"),
                Warning::LooksLike("apple.com".to_owned()),
            ],
        );
    }

    #[test]
    fn the_host_and_its_domain_are_known() {
        #[track_caller]
        fn check(raw: &str, host: &str, domain: &str) {
            let link = judge(raw).expect("the link can be opened");
            assert_eq!(
                (link.host(), &link.url[link.domain.clone()]),
                (host, domain)
            );
        }
        check("https://a.com/", "a.com", "a.com");
        check(
            "https://login.bank.co.uk/x",
            "login.bank.co.uk",
            "bank.co.uk",
        );
        check(
            "https://bank.com.evil.example/x",
            "bank.com.evil.example",
            "evil.example",
        );
        check(
            "https://someone.github.io/",
            "someone.github.io",
            "someone.github.io",
        );
        // The root's trailing dot.
        check("https://agithub.com./x", "agithub.com.", "agithub.com");
        check("https://a.agithub.com./x", "a.agithub.com.", "agithub.com");
        check("https://evil.com../", "evil.com..", "evil.com..");
        check("http://localhost:1/", "localhost", "localhost");
        check("https://10.0.0.1/", "10.0.0.1", "10.0.0.1");
        check("https://[::1]/", "[::1]", "[::1]");
    }

    #[test]
    fn a_page_on_this_machine_is_named_by_its_host_alone() {
        #[track_caller]
        fn check(raw: &str, named: &str, is_here: bool) {
            let link = judge(raw).expect("the link may be opened");
            assert_eq!(link.named(), named, "{raw}");
            assert_eq!(link.is_of_this_machine(), is_here, "{raw}");
        }
        check("https://example.com/x", "example.com", false);
        check("https://example.com:8443/x", "example.com:8443", false);
        check("http://example.com/x", "http://example.com", false);
        check("http://10.0.0.1:8080/x", "http://10.0.0.1:8080", false);
        check("http://[fe80::1]/", "http://[fe80::1]", false);
        let other = "0.0.0.0.example.com";
        check(&format!("https://{other}/"), other, false);
        check("http://localhost:8080/x", "localhost", true);
        check("http://127.0.0.1:8080/x", "127.0.0.1", true);
        check("http://[::1]:8080/x", "[::1]", true);
        check("http://0.0.0.0:8080/x", "0.0.0.0", true);
        check("http://[::]:8080/x", "[::]", true);
        check("http://[::ffff:7f00:1]/", "[::ffff:7f00:1]", true);
        check("http://[::ffff:0:0]/", "[::ffff:0:0]", true);
    }
}
