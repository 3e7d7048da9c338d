use std::fmt;

use askback_core::json;
use askback_oauth::{FetchError, Fetcher, Secret, Tokens};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{
    HeaderMap, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde_json::Value;
use url::Url;

use super::error::ConnectError;
use super::headers::{bearer, operators};
use crate::hidden::is_hidden;

const MOST: usize = 256;

/// Where a third party reports the id and the name of a connected account.
///
/// The id is unique and never changes. The name is shown to the user. If no id is configured, the name is used as the
/// id, so an account that is renamed counts as another account.
#[derive(Clone)]
pub struct AccountSource(Place);

#[derive(Clone)]
enum Place {
    Constant(String),
    Document {
        url: Url,
        /// The JSON to post. `None` means a GET.
        body: Option<Value>,
        name: Vec<String>,
        /// If empty, the name is the id.
        id: Vec<String>,
    },
    Claim(String),
}

pub(super) struct AccountIdentity {
    pub(super) id: String,
    pub(super) name: String,
}

/// The claim with the account's id. An issuer never uses an id twice (OpenID Connect Core 1.0, 2).
const SUBJECT: &str = "sub";

impl AccountSource {
    /// Uses the same name for every account, for a third party that reports none. Each user can then connect one
    /// account there.
    #[must_use]
    pub fn constant(name: impl Into<String>) -> Self {
        Self(Place::Constant(name.into()))
    }

    /// Takes the name from a JSON document that is fetched with the token, at this JSON pointer (RFC 6901). Use
    /// [`AccountSource::id`] for the id.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] if the URL is not allowed.
    pub fn document(url: &str, pointer: impl Into<String>) -> Result<Self, ConnectError> {
        Self::at(url, None, vec![pointer.into()], Vec::new())
    }

    /// Takes the name from a claim of the identity token, such as `email`, and the id from the claim `sub`. The scope
    /// `openid` must be among the default scopes.
    #[must_use]
    pub fn claim(name: impl Into<String>) -> Self {
        Self(Place::Claim(name.into()))
    }

    /// Sets the pointer to the id. If the id has several parts, such as a workspace id and a member id, call this for
    /// each part.
    #[must_use]
    pub fn id(mut self, pointer: impl Into<String>) -> Self {
        if let Place::Document { id, .. } = &mut self.0 {
            id.push(pointer.into());
        }
        self
    }

    pub(super) fn is_constant(&self) -> bool {
        matches!(self.0, Place::Constant(_))
    }

    pub(super) fn at(
        url: &str,
        body: Option<Value>,
        name: Vec<String>,
        id: Vec<String>,
    ) -> Result<Self, ConnectError> {
        let url = operators("the URL where the account is named", url)?;
        let is_pointer = |it: &&String| it.is_empty() || it.starts_with('/');
        if let Some(wrong) = name.iter().chain(&id).find(|it| !is_pointer(it)) {
            return Err(ConnectError::Setting {
                what: "the place of the account's name or id",
                why: format!("{wrong:?} is not a JSON pointer (RFC 6901): write \"/{wrong}\""),
            });
        }
        Ok(Self(Place::Document {
            url,
            body,
            name,
            id,
        }))
    }

    pub(super) async fn of_tokens(
        &self,
        fetcher: &Fetcher,
        tokens: &Tokens,
    ) -> Result<AccountIdentity, IdentityError> {
        match &self.0 {
            Place::Claim(name) => {
                let token = tokens.id_token.as_ref();
                let claims = token.and_then(claims).ok_or(IdentityError::NoIdToken)?;
                let claim = |name: &str| {
                    named(claims.get(name)).map_err(|why| match why {
                        IdentityError::Missing => IdentityError::Setting(format!(
                            "the identity token has no claim `{name}`"
                        )),
                        why => why,
                    })
                };
                Ok(AccountIdentity {
                    id: claim(SUBJECT)?,
                    name: claim(name)?,
                })
            }
            _ => {
                let header = bearer(&tokens.access_token).ok_or(IdentityError::Missing)?;
                let headers = HeaderMap::from_iter([(AUTHORIZATION, header)]);
                self.with_headers(fetcher, headers).await
            }
        }
    }

    pub(super) async fn with_headers(
        &self,
        fetcher: &Fetcher,
        mut headers: HeaderMap,
    ) -> Result<AccountIdentity, IdentityError> {
        let (url, body, name, id) = match &self.0 {
            Place::Constant(name) => {
                let (id, name) = (name.clone(), name.clone());
                return Ok(AccountIdentity { id, name });
            }
            Place::Claim(_) => return Err(IdentityError::NoIdToken),
            Place::Document {
                url,
                body,
                name,
                id,
            } => (url, body, name, id),
        };
        // Without the query, which may contain a key.
        let place = format!("{}{}", url.origin().ascii_serialization(), url.path());
        let answered = |what: String| IdentityError::Setting(format!("{place} {what}"));
        let (method, body) = match body {
            None => (Method::GET, Vec::new()),
            Some(body) => {
                const JSON: HeaderValue = HeaderValue::from_static("application/json");
                headers.insert(CONTENT_TYPE, JSON);
                (Method::POST, body.to_string().into_bytes())
            }
        };
        let fetched = match fetcher.request(method, url, headers, body).await {
            Err(FetchError::Redirected) => {
                return Err(answered("redirects, which is not followed".to_owned()));
            }
            fetched => fetched?,
        };
        match fetched.status {
            200..=299 => {
                let json = fetched.json();
                let json = json.ok_or_else(|| answered("answers with no JSON".to_owned()))?;
                let read = |what: &str, pointers: &[String]| {
                    let part = |pointer: &String| {
                        let found = json.pointer(pointer);
                        match named(found) {
                            Err(IdentityError::Missing)
                                if found.is_none() && !is_refusal(&json) =>
                            {
                                let missing = format!("has no {what} at {pointer:?}");
                                Err(answered(format!("answers with JSON that {missing}")))
                            }
                            named => named,
                        }
                    };
                    let parts: Result<Vec<_>, IdentityError> = pointers.iter().map(part).collect();
                    parts.map(|parts| parts.join(" / "))
                };
                let name = read("name", name)?;
                let id = match id.is_empty() {
                    true => name.clone(),
                    false => read("id", id)?,
                };
                Ok(AccountIdentity { id, name })
            }
            // Other statuses may depend on the user or be temporary.
            status @ (404 | 405 | 410 | 415) => {
                Err(answered(format!("answers with status {status}")))
            }
            status => Err(IdentityError::Status(status)),
        }
    }
}

/// Whether a response with a success status reports an error, as some APIs do.
fn is_refusal(answer: &Value) -> bool {
    let says_no = answer.get("ok") == Some(&Value::Bool(false));
    says_no || answer.get("error").is_some() || answer.get("errors").is_some()
}

#[derive(Debug, thiserror::Error)]
pub(super) enum IdentityError {
    #[error("{0}")]
    Fetch(#[from] FetchError),
    #[error("it answers with status {0}")]
    Status(u16),
    #[error("its answer has no name where one should be")]
    Missing,
    #[error("the name is too long, or has characters that cannot be shown")]
    Unfit,
    #[error("no identity token came with the tokens: ask for the scope `openid`")]
    NoIdToken,
    /// The setting points to the wrong place.
    #[error("{0}")]
    Setting(String),
}

impl fmt::Debug for AccountSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Constant(_) => f.write_str("AccountSource::constant"),
            Place::Document { url, name, id, .. } => {
                write!(f, "AccountSource({url} {name:?} {id:?})")
            }
            Place::Claim(name) => write!(f, "AccountSource::claim({name})"),
        }
    }
}

/// Accepts a name unchanged or not at all: shortening could make two accounts one.
fn named(value: Option<&Value>) -> Result<String, IdentityError> {
    let name = match value {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Number(number)) if number.is_u64() => number.to_string(),
        _ => return Err(IdentityError::Missing),
    };
    match name.trim().is_empty() {
        true => Err(IdentityError::Missing),
        false if name.len() > MOST || name.chars().any(is_hidden) => Err(IdentityError::Unfit),
        false => Ok(name),
    }
}

/// Returns the claims of an identity token. The signature is not checked, because the token came from the token
/// endpoint over TLS (OpenID Connect Core 1.0, 3.1.3.7, 6), and it grants no access here.
fn claims(token: &Secret) -> Option<Value> {
    let claims = token.expose().split('.').nth(1)?;
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    json::parse(&claims).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_taken_as_they_are_or_not_at_all() {
        let long = "x".repeat(MOST + 1);
        for (value, expected) in [
            (json!("octocat"), Some("octocat")),
            (json!("Jürgen @ home"), Some("Jürgen @ home")),
            (json!(42), Some("42")),
            (json!(-1), None),
            (json!(""), None),
            (json!(" "), None),
            (json!(null), None),
            (json!(["octocat"]), None),
            (json!("octo\ncat"), None),
            (json!("octo\u{202e}cat"), None),
            (json!("octo\u{200b}cat"), None),
            (json!(long), None),
            (json!(long[1..]), Some(&long[1..])),
        ] {
            assert_eq!(named(Some(&value)).ok().as_deref(), expected, "{value}");
        }
    }
}
