use askback_oauth::{Reach, Secret};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;
use url::{Origin, Url};

use super::error::ConnectError;

/// Returns a header value that is never logged, or `None` if the secret cannot be sent.
pub(super) fn secret(text: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text.expose()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The value of `Authorization` for a token (RFC 6750, 2.1).
pub(super) fn bearer(token: &Secret) -> Option<HeaderValue> {
    secret(&Secret::new(format!("Bearer {}", token.expose())))
}

/// The value of `Authorization` for a name and a password (RFC 7617).
pub(super) fn basic(name: &str, password: &Secret) -> Option<HeaderValue> {
    let pair = Secret::new(format!("{name}:{}", password.expose()));
    let pair = Secret::new(STANDARD.encode(pair.expose()));
    secret(&Secret::new(format!("Basic {}", pair.expose())))
}

/// Parses an operator's URL: `https`, or on this machine.
pub(super) fn operators(what: &'static str, url: &str) -> Result<Url, ConnectError> {
    Reach::anywhere()
        .url(url)
        .ok_or_else(|| ConnectError::Setting {
            what,
            // Not quoted, because the URL may contain a key or a password.
            why: "its URL is neither https nor on this machine".to_owned(),
        })
}

/// Parses an operator's origin: scheme, host and port only.
pub(super) fn origin(text: &str) -> Result<Origin, ConnectError> {
    let url = operators("the origin of the API", text)?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    match is_bare && url.username().is_empty() && url.password().is_none() {
        true => Ok(url.origin()),
        false => Err(ConnectError::Setting {
            what: "the origin of the API",
            why: "it is not an origin: leave out what is before and after the host and its port"
                .to_owned(),
        }),
    }
}
