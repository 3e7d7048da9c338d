//! Whose account it is: its id, which never changes, and the name by which a person knows it.

use std::fmt;

use askback_core::json;
use askback_oauth::{FetchError, FetchedAnswer, Fetcher, Secret, Tokens};
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

/// The longest name of an account, in bytes.
const MOST: usize = 256;

/// The place where a third party says whose account was connected: its id and its name.
///
/// The id tells accounts apart, so it never changes, and no other account ever has it. The name is shown to the person. Where
/// no id is known, the name is taken for it: then a person who changes it has another account here.
#[derive(Clone)]
pub struct AccountSource(Place);

#[derive(Clone)]
enum Place {
    Constant(String),
    Document {
        url: Url,
        /// The JSON to post; without it, the document is fetched.
        body: Option<Value>,
        name: Vec<String>,
        /// Without any, the name is the id.
        id: Vec<String>,
    },
    Claim(String),
}

pub(super) struct AccountIdentity {
    pub(super) id: String,
    pub(super) name: String,
}

/// The claim with the id of an account: no other account of the issuer ever has it (OpenID Connect Core 1.0, 2).
const SUBJECT: &str = "sub";

impl AccountSource {
    /// The same name for every account, for a third party that does not say. A person then has one account there.
    #[must_use]
    pub fn constant(name: impl Into<String>) -> Self {
        Self(Place::Constant(name.into()))
    }

    /// The name at a pointer (RFC 6901) of a JSON document, which is fetched with the token. [`AccountSource::id`] says where
    /// the id is, and [`AccountSource::and`] adds another part of the name.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] where the URL may not be used.
    pub fn document(url: &str, pointer: impl Into<String>) -> Result<Self, ConnectError> {
        Self::at(url, None, vec![pointer.into()], Vec::new())
    }

    /// The same of the answer to JSON that is posted with the token, such as a query of GraphQL.
    ///
    /// # Errors
    ///
    /// As for [`AccountSource::document`].
    pub fn answer(
        url: &str,
        body: Value,
        pointer: impl Into<String>,
    ) -> Result<Self, ConnectError> {
        Self::at(url, Some(body), vec![pointer.into()], Vec::new())
    }

    /// The name in a claim of the identity token that comes with the tokens, such as `email`. The id is in the claim `sub`. The
    /// scope `openid` must be among the default scopes.
    #[must_use]
    pub fn claim(name: impl Into<String>) -> Self {
        Self(Place::Claim(name.into()))
    }

    /// Adds the value at another pointer of the same document to the name, such as the name of a workspace.
    #[must_use]
    pub fn and(mut self, pointer: impl Into<String>) -> Self {
        if let Place::Document { name, .. } = &mut self.0 {
            name.push(pointer.into());
        }
        self
    }

    /// Says at which pointer of the same document the id is. Where that is one of several parts of it, such as the id of a
    /// workspace beside that of its member, it is called for each.
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
                why: format!("{wrong:?} is no JSON pointer (RFC 6901): write \"/{wrong}\""),
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

    /// Returns the account, as it is told to whoever sends these headers.
    pub(super) async fn with_headers(
        &self,
        fetcher: &Fetcher,
        headers: HeaderMap,
    ) -> Result<AccountIdentity, IdentityError> {
        let (url, name, id) = match &self.0 {
            Place::Constant(name) => {
                let (id, name) = (name.clone(), name.clone());
                return Ok(AccountIdentity { id, name });
            }
            Place::Claim(_) => return Err(IdentityError::NoIdToken),
            Place::Document { url, name, id, .. } => (url, name, id),
        };
        // A key may stand in its query.
        let place = format!("{}{}", url.origin().ascii_serialization(), url.path());
        let answered = |what: String| IdentityError::Setting(format!("{place} {what}"));
        let fetched = match self.asked(fetcher, headers).await {
            Err(FetchError::Redirected) => {
                return Err(answered("redirects, which is not followed".to_owned()));
            }
            asked => asked?.ok_or(IdentityError::Missing)?,
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
            // The others may be about the person, or pass.
            status @ (404 | 405 | 410 | 415) => {
                Err(answered(format!("answers with status {status}")))
            }
            status => Err(IdentityError::Status(status)),
        }
    }

    /// Returns what the document of an account answers to whoever sends these headers; nothing where there is none.
    pub(super) async fn asked(
        &self,
        fetcher: &Fetcher,
        mut headers: HeaderMap,
    ) -> Result<Option<FetchedAnswer>, FetchError> {
        let Place::Document { url, body, .. } = &self.0 else {
            return Ok(None);
        };
        let fetched = match body {
            None => fetcher.get_with(url, headers).await?,
            Some(body) => {
                const JSON: HeaderValue = HeaderValue::from_static("application/json");
                headers.insert(CONTENT_TYPE, JSON);
                let body = body.to_string().into_bytes();
                fetcher.request(Method::POST, url, headers, body).await?
            }
        };
        Ok(Some(fetched))
    }
}

/// Whether an answer says that something went wrong, as APIs do that answer so with a status of success.
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
    /// It is looked for in the wrong place.
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

/// Takes a name as it stands or not at all: two accounts must not become one by what is left out of their names.
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

/// Returns the claims of an identity token that the token endpoint itself gave. It came by TLS from the provider, so
/// that nobody else's word is in it (OpenID Connect Core 1.0, 3.1.3.7, 6); and nobody is let in by it.
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
