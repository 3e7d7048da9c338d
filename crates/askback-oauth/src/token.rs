//! Token requests, and tokens in their responses (RFC 6749, 5).

use askback_core::{
    auth::{AuthorizationError, Scopes},
    json,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, json};
use url::{Url, form_urlencoded};

use crate::{
    Secret,
    fetch::Answer,
    identity::{Client, Method, Proof},
    proof::unique,
    records::Grant,
    shown::shown,
};

pub(crate) const WHAT: &str = "a token";

/// The maximum length of a token, in bytes. It must fit into a header.
const LONGEST: usize = 16 << 10;

/// The lifetime of a client's own assertion, in seconds.
const SIGNATURE_LASTS: u64 = 60;

/// Tokens from an issuer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tokens {
    /// The access token.
    pub access_token: Secret,
    /// The refresh token. If a renewal returns no new one, the old one stays valid.
    pub refresh_token: Option<Secret>,
    /// When the access token expires, in seconds since the Unix epoch, if the issuer said so.
    pub expires_at: Option<u64>,
    /// The granted scopes if the issuer said so, else the requested ones.
    pub scopes: Option<Scopes>,
    /// The OpenID Connect identity token. It has not been verified.
    pub id_token: Option<Secret>,
}

pub(crate) struct TokenRequest {
    pub(crate) endpoint: Url,
    /// The endpoint's issuer: the audience of a client's assertions.
    pub(crate) issuer: String,
    pub(crate) client: Client,
    pub(crate) form: Form,
}

#[derive(Clone, Default)]
pub(crate) struct Form(pub(crate) Vec<(&'static str, Secret)>);

#[derive(Deserialize)]
pub(crate) struct TokenAnswer {
    pub(crate) access_token: String,
    token_type: String,
    #[serde(default, deserialize_with = "json::seconds")]
    expires_in: Option<u64>,
    refresh_token: Option<String>,
    #[serde(default, deserialize_with = "json::optional_texts")]
    scope: Option<Vec<String>>,
    id_token: Option<String>,
    pub(crate) issued_token_type: Option<String>,
}

impl Form {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, Secret::new(value)));
        self
    }

    pub(crate) fn with_secret(mut self, name: &'static str, value: Secret) -> Self {
        self.0.push((name, value));
        self
    }

    pub(crate) fn with_scopes(self, scopes: Option<&Scopes>) -> Self {
        match scopes {
            Some(scopes) => self.with("scope", scopes.to_string()),
            None => self,
        }
    }
}

/// A header value that is never logged.
pub(crate) fn sensitive(value: &str) -> Result<HeaderValue, AuthorizationError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        let why = "they hold what cannot be sent".to_owned();
        AuthorizationError::Credentials(why)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Builds a request: its form and the client's authentication (RFC 6749, 2.3; RFC 7523).
pub(crate) fn dress(
    request: &TokenRequest,
    now: u64,
) -> Result<(HeaderMap, Vec<u8>), AuthorizationError> {
    let client = &request.client;
    let mut headers = HeaderMap::new();
    let mut form = Form(request.form.0.clone());
    match (client.method, &client.proof) {
        (Method::Basic, Proof::Secret(secret)) => {
            let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect();
            let (id, secret): (String, String) = (encode(&client.id), encode(secret.expose()));
            let pair = Secret::new(STANDARD.encode(format!("{id}:{secret}")));
            let value = Secret::new(format!("Basic {}", pair.expose()));
            headers.insert(AUTHORIZATION, sensitive(value.expose())?);
        }
        (Method::Post, Proof::Secret(secret)) => {
            form = form
                .with("client_id", client.id.as_str())
                .with_secret("client_secret", secret.clone());
        }
        (Method::Key, Proof::Key(key)) => {
            let claims = json!({
                "iss": client.id,
                "sub": client.id,
                "aud": request.issuer,
                "iat": now,
                "exp": now + SIGNATURE_LASTS,
                "jti": unique()?,
            });
            let assertion = key.sign("JWT", Map::new(), &claims)?;
            form = form
                .with("client_id", client.id.as_str())
                .with(
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                )
                .with_secret("client_assertion", assertion);
        }
        _ => form = form.with("client_id", client.id.as_str()),
    }
    let pairs = form.0.iter().map(|(name, value)| (*name, value.expose()));
    let encoded = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish();
    Ok((headers, encoded.into_bytes()))
}

/// Builds a renewal request, if there is a refresh token. The token is sent only to its issuer.
pub(crate) fn refresh(grant: &Grant, endpoint: Url, client: Client) -> Option<TokenRequest> {
    let refresh_token = grant.refresh_token.clone()?;
    let form = Form::default()
        .with("grant_type", "refresh_token")
        .with_secret("refresh_token", refresh_token)
        .with("resource", grant.resource.as_str());
    Some(TokenRequest {
        endpoint,
        issuer: grant.issuer.clone(),
        client,
        form,
    })
}

pub(crate) fn granted(answer: Answer, bound: bool, now: u64) -> Result<Tokens, AuthorizationError> {
    let given = given(WHAT, answer)?;
    let wrong = |why: &str| AuthorizationError::Document {
        what: WHAT,
        why: why.to_owned(),
    };
    let wanted = if bound { "DPoP" } else { "Bearer" };
    if !given.token_type.eq_ignore_ascii_case(wanted) {
        return Err(wrong("it is not of the requested type"));
    }
    // Errors in other members must not lose the new tokens: the old ones may be used up.
    Ok(Tokens {
        access_token: Secret::new(given.access_token),
        refresh_token: given.refresh_token.map(Secret::new),
        expires_at: given
            .expires_in
            .map(|lifetime| now.saturating_add(lifetime)),
        scopes: given.scope.and_then(|scopes| Scopes::of(scopes).ok()),
        id_token: given.id_token.map(Secret::new),
    })
}

pub(crate) fn given(what: &'static str, answer: Answer) -> Result<TokenAnswer, AuthorizationError> {
    if is_for_now(&answer) {
        return Err(AuthorizationError::Busy {
            what,
            status: answer.status,
            retry_after: answer.retry_after,
        });
    }
    let has = |name: &str| answer.text(name).is_some();
    // Some third parties send errors with a success status.
    if !answer.is_success() || has("error") && !has("access_token") {
        return Err(refused(what, &answer));
    }
    let may_be_sent = |token: &str| {
        !token.is_empty()
            && token.len() <= LONGEST
            && token.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let wrong = |why| AuthorizationError::Document { what, why };
    let unreadable = |why| wrong(format!("the answer has no token: {why}"));
    let json = answer.json.unwrap_or_default();
    // If `scope` is absent, the requested scopes were granted (RFC 6749, 5.1). If it is empty, no
    // scope was.
    let grants_nothing = json["scope"] == "";
    let mut given: TokenAnswer = json::document(json).map_err(unreadable)?;
    if grants_nothing {
        given.scope = Some(Vec::new());
    }
    let is_usable = |given: &TokenAnswer| {
        may_be_sent(&given.access_token) && given.refresh_token.as_deref().is_none_or(may_be_sent)
    };
    match is_usable(&given) {
        true => Ok(given),
        false => Err(wrong("the answer has no token".to_owned())),
    }
}

/// Whether a response only says that the server is busy.
fn is_for_now(answer: &Answer) -> bool {
    let code = answer.text("error");
    let is_busy = matches!(code, Some("temporarily_unavailable" | "server_error"));
    // A 403 without an error code comes from a firewall, not from the token endpoint.
    let is_blocked = answer.status == 403 && code.is_none();
    matches!(answer.status, 408 | 425 | 429 | 500..)
        || is_blocked
        || is_busy && !answer.is_success()
}

/// The error for an error response (RFC 6749, 5.2; RFC 7591, 3.2.2).
pub(crate) fn refused(what: &'static str, answer: &Answer) -> AuthorizationError {
    let said = |name: &str| answer.text(name).map(shown);
    AuthorizationError::Refused {
        what,
        code: said("error").unwrap_or_else(|| format!("status {}", answer.status)),
        description: said("error_description").unwrap_or_default(),
    }
}
