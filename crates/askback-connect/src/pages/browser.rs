//! Sealed cookies, and CSRF tokens.

use askback_core::{ask::Millis, ask::Principal};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::connections::{Address, Door};
use crate::intents::IntentId;
use crate::vault::{BROWSER_KEEPS, Holder, Vault, VaultError};

/// How long a user stays signed in on the pages, in seconds.
const VISIT: u64 = BROWSER_KEEPS;

/// The lifetime of the mark that the next sign-in must ask the user, in seconds: 400 days, the maximum in browsers. The
/// issuer's session may last as long. The sign-in deletes the mark.
const MARKED: u64 = 34_560_000;

/// How long a browser may stay at another site, in seconds.
const AWAY: u64 = 600;

/// The maximum length of a cookie value that is read, in bytes. Browsers store 4096.
const MOST: usize = 8 << 10;

/// The maximum length of name and value that all browsers store, in bytes (RFC 6265, 6.1).
const PAIR: usize = 4096;

/// A browser whose user is known.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Visit {
    /// Random. A step that starts in one visit cannot end in another.
    pub(super) id: [u8; 16],
    pub(super) holder: Holder,
    pub(super) name: String,
    pub(super) since: Millis,
}

#[derive(Clone, Copy)]
pub(super) enum Cookie<'a> {
    Visit,
    /// A visit through a link without a sign-in.
    Link(IntentId),
    /// The next sign-in must not use a session at the issuer. A mark without sealed content.
    Anew,
    /// A pending sign-in, by its `state`.
    SignIn(&'a str),
    /// A pending request at a provider, by its `state`.
    Consent(&'a str),
}

impl Visit {
    pub(super) fn new(
        person: &Principal,
        name: Option<String>,
        since: Millis,
    ) -> Result<Self, VaultError> {
        Ok(Self {
            id: crate::vault::entropy()?,
            holder: person.into(),
            name: name.unwrap_or_else(|| person.subject.clone()),
            since,
        })
    }

    pub(super) async fn of(
        vault: &Vault,
        place: &Address,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, VaultError> {
        let visit: Option<Self> = Cookie::Visit.read(vault, place, headers).await;
        match visit {
            Some(visit) => visit.unless_ended(vault).await,
            None => Ok(None),
        }
    }

    /// Returns the visit unless its user has signed out, so that a copied cookie stops working.
    pub(super) async fn unless_ended(self, vault: &Vault) -> Result<Option<Self>, VaultError> {
        Ok(match vault.has_ended(self.id).await? {
            true => None,
            false => Some(self),
        })
    }

    pub(super) fn principal(&self, client: Option<String>) -> Principal {
        self.holder.principal(client)
    }

    /// Whether the user signed in so recently that they are probably still there, and no other person has signed this
    /// browser in for them. Always true for the user of this machine.
    pub(super) fn is_fresh(&self, door: &Door, now: Millis) -> bool {
        match door {
            Door::SignIn(sign_in) => now < self.since.saturating_add(sign_in.longest_ago()),
            Door::Machine => true,
        }
    }

    pub(super) async fn token(&self, vault: &Vault, about: &str) -> Result<String, VaultError> {
        let name = format!("form {about}");
        let sealed = vault.seal_cookie(&name, &self.id).await?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    pub(super) async fn has_token(&self, vault: &Vault, about: &str, token: &str) -> bool {
        let Some(sealed) = decoded(token) else {
            return false;
        };
        let opened = vault.open_cookie(&format!("form {about}"), &sealed).await;
        opened.is_ok_and(|opened| **opened == self.id)
    }
}

impl Cookie<'_> {
    pub(super) fn name(self, place: &Address) -> String {
        let prefix = if place.is_secure { "__Host-" } else { "" };
        let digest = |state: &str| {
            let digest = Sha256::digest(state.as_bytes());
            let (first, _) = digest.split_at(8);
            first
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        match self {
            Self::Visit => format!("{prefix}connect"),
            Self::Link(id) => format!("{prefix}connect-of-{}", digest(&id.to_string())),
            Self::Anew => format!("{prefix}connect-anew"),
            Self::SignIn(state) => format!("{prefix}connect-in-{}", digest(state)),
            Self::Consent(state) => format!("{prefix}connect-at-{}", digest(state)),
        }
    }

    fn path(self, place: &Address) -> String {
        match self {
            // Required by the cookie name's prefix.
            _ if place.is_secure => "/".to_owned(),
            // Browsers send cookies to all ports of a host. A narrow path keeps them from other servers.
            Self::Link(id) => Next::Link(id).path(place),
            Self::Consent(_) => format!("{}/cb", place.path),
            Self::Visit | Self::Anew | Self::SignIn(_) => "/".to_owned(),
        }
    }

    fn seconds(self) -> u64 {
        match self {
            Self::Visit | Self::Link(_) => VISIT,
            Self::Anew => MARKED,
            Self::SignIn(_) | Self::Consent(_) => AWAY,
        }
    }

    pub(super) async fn set(
        self,
        vault: &Vault,
        place: &Address,
        value: &impl Serialize,
    ) -> Result<HeaderValue, VaultError> {
        let name = self.name(place);
        let ends = vault.now().saturating_add(self.seconds() * 1000);
        let value = serde_json::to_vec(&(ends, value)).map_err(VaultError::store)?;
        let sealed = URL_SAFE_NO_PAD.encode(vault.seal_cookie(&name, &value).await?);
        let pair = format!("{name}={sealed}");
        if pair.len() > PAIR {
            let length = pair.len();
            return Err(VaultError::store(format!(
                "a cookie of {length} bytes is more than browsers keep: ask for fewer scopes at a time"
            )));
        }
        let seconds = self.seconds();
        self.header(place, &pair, seconds)
    }

    /// The header that sets the cookie to a fixed value. An attacker who sets it can only cause one
    /// more prompt.
    pub(super) fn mark(self, place: &Address) -> Result<HeaderValue, VaultError> {
        self.header(place, &format!("{}=1", self.name(place)), self.seconds())
    }

    pub(super) fn is_there(self, place: &Address, headers: &HeaderMap) -> bool {
        let name = self.name(place);
        cookies(headers).any(|(key, _)| key == name)
    }

    pub(super) fn clear(self, place: &Address) -> Result<HeaderValue, VaultError> {
        self.header(place, &format!("{}=", self.name(place)), 0)
    }

    fn header(self, place: &Address, pair: &str, seconds: u64) -> Result<HeaderValue, VaultError> {
        let secure = if place.is_secure { "; Secure" } else { "" };
        let path = self.path(place);
        let text =
            format!("{pair}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        text.parse().map_err(VaultError::store)
    }

    /// Returns its value unless it has expired. Ignores a cookie that does not decrypt.
    pub(super) async fn read<T: DeserializeOwned>(
        self,
        vault: &Vault,
        place: &Address,
        headers: &HeaderMap,
    ) -> Option<T> {
        let name = self.name(place);
        let sealed = decoded(cookie(headers, &name)?)?;
        let opened = vault.open_cookie(&name, &sealed).await.ok()?;
        let (ends, value): (Millis, T) = serde_json::from_slice(&opened).ok()?;
        (vault.now() < ends).then_some(value)
    }
}

/// Returns the cookie of this name. If there are two, another party has set one of them, so both are ignored.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut named = cookies(headers).filter(|(key, _)| *key == name);
    let (_, value) = named.next()?;
    named.next().is_none().then_some(value)
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    let pairs = pairs.flat_map(|value| value.split(';'));
    pairs.filter_map(|pair| pair.trim().split_once('='))
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = Some(text).filter(|text| text.len() <= MOST)?;
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Whether the browser's headers say that a form came from these pages.
pub(super) fn is_own_form(headers: &HeaderMap, place: &Address) -> bool {
    let header = |name: &str| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    let site = header("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let origin = header("origin").is_none_or(|origin| origin == place.origin);
    site && origin
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Link(IntentId),
    Accounts,
}

impl Next {
    pub(super) fn read(text: &str) -> Option<Self> {
        match text {
            "accounts" => Some(Self::Accounts),
            _ => IntentId::read(text).map(Self::Link),
        }
    }

    pub(super) fn written(self) -> String {
        match self {
            Self::Link(id) => id.to_string(),
            Self::Accounts => "accounts".to_owned(),
        }
    }

    pub(super) fn path(self, place: &Address) -> String {
        match self {
            Self::Link(id) => format!("{}/c/{id}", place.path),
            Self::Accounts => format!("{}/accounts", place.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cookies_with_the_same_name_are_both_ignored() {
        for (sent, expected) in [
            ("connect=a", Some("a")),
            ("x=y; connect=a", Some("a")),
            ("connect=a; connect=b", None),
            ("connectx=a", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(header::COOKIE, sent.parse().unwrap())]);
            assert_eq!(cookie(&headers, "connect"), expected, "{sent}");
        }
        let two = ["connect=a", "connect=b"].map(|it| (header::COOKIE, it.parse().unwrap()));
        assert_eq!(cookie(&HeaderMap::from_iter(two), "connect"), None);
    }

    #[test]
    fn a_sign_in_redirects_only_to_these_pages() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(Next::read("accounts"), Some(Next::Accounts));
        assert_eq!(Next::read(id).map(Next::written).as_deref(), Some(id));
        for text in [
            "",
            "//evil.test",
            "https://evil.test",
            "https:evil.test",
            "/accounts",
            "\\evil",
            "0123456789ABCDEF0123456789abcdef",
            "+123456789abcdef0123456789abcdef",
            "0123456789abcdef0123456789abcdef0",
        ] {
            assert_eq!(Next::read(text), None, "{text}");
        }
    }
}
