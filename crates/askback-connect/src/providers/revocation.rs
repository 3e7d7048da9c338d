use std::error::Error;

use askback_oauth::{
    AuthorizationError, FetchedAnswer, Fetcher, Provider, RegisteredClient, Secret, TokenEndpoint,
};
use http::{
    HeaderMap, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde_json::{Value, json};
use url::Url;

use super::error::ConnectError;
use super::headers::{basic, bearer, operators};
use crate::vault::{RevocationOutcome, TokenKind};

const CLIENT_ID: &str = "{client_id}";

#[derive(Debug, Clone)]
pub(super) enum RevocationWay {
    /// Tokens are deleted here, but stay valid until they expire.
    None,
    /// The standard revocation endpoint (RFC 7009).
    Standard,
    /// An empty POST with the access token in a header (`Authorization: Bearer`).
    Bearer(Url),
    /// A DELETE with the client's credentials (`Authorization: Basic`) and the access token as JSON. `{client_id}` in
    /// the URL is replaced by the client id.
    Client(String),
}

impl RevocationWay {
    pub(super) fn bearer(url: &str) -> Result<Self, ConnectError> {
        Ok(Self::Bearer(operators("the URL of the revocation", url)?))
    }

    pub(super) fn by_client(url: &str) -> Result<Self, ConnectError> {
        operators("the URL of the revocation", &url.replace(CLIENT_ID, "c-1"))?;
        Ok(Self::Client(url.to_owned()))
    }

    pub(super) async fn revoke(
        &self,
        fetcher: &Fetcher,
        provider: &Provider,
        client: &RegisteredClient,
        token: &Secret,
        kind: TokenKind,
    ) -> Result<RevocationOutcome, Failure> {
        match (self, kind) {
            (Self::None, _) => Ok(RevocationOutcome::NotTaken),
            (Self::Standard, _) => {
                let endpoint = TokenEndpoint::new(fetcher, provider, client)?;
                match endpoint.revoke(token).await {
                    Ok(()) => Ok(RevocationOutcome::Revoked),
                    Err(AuthorizationError::Refused { code, .. }) => match &*code {
                        // Some providers return this for a token that has expired or was revoked before.
                        "invalid_token" => Ok(RevocationOutcome::Unknown),
                        "unsupported_token_type" => Ok(RevocationOutcome::NotTaken),
                        _ => Err(format!("it refuses with the code {code:?}").into()),
                    },
                    Err(error) => Err(error.into()),
                }
            }
            // These endpoints revoke access tokens only.
            (Self::Bearer(_) | Self::Client(_), TokenKind::Refresh) => {
                Ok(RevocationOutcome::NotTaken)
            }
            (Self::Bearer(url), TokenKind::Access) => {
                let value = bearer(token).ok_or("the token cannot be sent")?;
                let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
                let sent = fetcher.request(Method::POST, url, headers, Vec::new());
                // The response to a token that was revoked before is one of these.
                judged(&sent.await?, &[400, 401])
            }
            (Self::Client(url), TokenKind::Access) => {
                let answer = as_client(fetcher, url, client, token).await?;
                judged(&answer, &[404])
            }
        }
    }
}

/// Why a token was not revoked, for the log.
type Failure = Box<dyn Error + Send + Sync>;

const NO_CLIENT: &str = "its client has no secret, or an id that no URL may hold";

async fn as_client(
    fetcher: &Fetcher,
    url: &str,
    client: &RegisteredClient,
    token: &Secret,
) -> Result<FetchedAnswer, Failure> {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let id = Some(client.id()).filter(|id| id.bytes().all(is_plain));
    let id = id.ok_or(NO_CLIENT)?;
    let url = fetcher.url(&url.replace(CLIENT_ID, id));
    let url = url.ok_or(NO_CLIENT)?;
    let value = client.secret().and_then(|secret| basic(id, secret));
    let value = value.ok_or(NO_CLIENT)?;
    let headers = HeaderMap::from_iter([(AUTHORIZATION, value), (CONTENT_TYPE, JSON)]);
    let body = Secret::new(json!({"access_token": token.expose()}).to_string());
    let body = body.expose().as_bytes().to_vec();
    Ok(fetcher.request(Method::DELETE, &url, headers, body).await?)
}

/// Reads a response: 2xx means that the token was revoked, `unknown` statuses that there is no such token.
fn judged(answer: &FetchedAnswer, unknown: &[u16]) -> Result<RevocationOutcome, Failure> {
    let json = answer.json().unwrap_or_default();
    match answer.status {
        200..=299 if says_gone(&json) => Ok(RevocationOutcome::Unknown),
        // Some providers send errors with a success status.
        200..=299 if json["ok"] != false => Ok(RevocationOutcome::Revoked),
        status if unknown.contains(&status) => Ok(RevocationOutcome::Unknown),
        status => Err(format!("it answers with status {status}").into()),
    }
}

/// Whether the body says so, as Slack does: <https://docs.slack.dev/reference/methods/auth.test>.
fn says_gone(answer: &Value) -> bool {
    const GONE: [&str; 3] = ["invalid_auth", "token_expired", "token_revoked"];
    answer["error"]
        .as_str()
        .is_some_and(|it| GONE.contains(&it))
}
