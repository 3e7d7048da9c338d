//! A fictional airline: an authorization server with the miles that it protects, and flight times for API keys. It is
//! only for trying things out on this machine: it has one passenger, who does not sign in.

mod book;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback::{Clock, SystemClock};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body::Body;
use serde_json::json;
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use self::book::{Book, Granted, random};
use super::web::{Answer, Escaped, Fields, empty, json, page, see_other};

pub(super) const NAME: &str = "Fake Airline";
/// The only client: the agency.
pub(super) const CLIENT: &str = "travel-agency";
/// The only scope.
pub(super) const SCOPE: &str = "miles.read";

const ACCOUNT: &str = "FA-190317";
const MILES: u64 = 48_210;

/// The passenger's API key for flight times.
pub(super) const KEY: &str = "FA-KEY-5127";
pub(super) const KEY_HEADER: &str = "x-api-key";

const CODE: Duration = Duration::from_secs(60);
/// How long a consent page waits for the user.
const CONSENT: Duration = Duration::from_secs(600);
/// The maximum number of consent pages, and of codes, at a time.
const MOST: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Airline {
    url: String,
}

/// The airline's request handler. Clones share its state.
#[derive(Clone)]
pub(super) struct Desk(Arc<Inner>);

struct Inner {
    url: String,
    redirect: String,
    clock: Arc<dyn Clock>,
    book: Book,
    /// The requests for consent, by the random name in the page's form.
    asked: Mutex<HashMap<String, Asked>>,
    codes: Mutex<HashMap<String, Code>>,
}

struct Asked {
    state: String,
    challenge: String,
    ends: u64,
}

/// A code. It is kept after its use, so that a second use is noticed.
struct Code {
    challenge: String,
    ends: u64,
    /// The grant that it was exchanged for.
    family: Option<String>,
}

/// An error code of RFC 6749.
type Refusal = &'static str;

impl Airline {
    pub(super) fn at(url: String) -> Self {
        Self { url }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn miles_url(&self) -> String {
        format!("{}/miles", self.url)
    }

    pub(super) fn key_url(&self) -> String {
        format!("{}/key", self.url)
    }

    pub(super) fn flights_url(&self) -> String {
        format!("{}/flights", self.url)
    }
}

impl Desk {
    /// Creates the airline at `url`. It only redirects browsers to `redirect`.
    pub(super) fn new(url: &str, redirect: &str) -> Self {
        Self::with_clock(url, redirect, Arc::new(SystemClock))
    }

    fn with_clock(url: &str, redirect: &str, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            url: url.to_owned(),
            redirect: redirect.to_owned(),
            book: Book::new(Arc::clone(&clock)),
            clock,
            asked: Mutex::default(),
            codes: Mutex::default(),
        }))
    }

    pub(super) async fn respond<B: Body>(&self, request: Request<B>) -> Answer
    where
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let headers = &parts.headers;
        if !self.0.is_addressed(headers) {
            return empty(StatusCode::MISDIRECTED_REQUEST);
        }
        let path = parts.uri.path();
        match (parts.method, path) {
            (Method::GET, "/authorize") => {
                let query = Fields::of_query(parts.uri.query().unwrap_or_default());
                self.0.ask(&query)
            }
            (Method::GET, "/miles") => self.0.miles(headers),
            (Method::GET, "/key") => {
                let body = format!("<p><code>{KEY}</code></p>\n<p>This is a demonstration.</p>");
                page(StatusCode::OK, "Your API key", &body, "")
            }
            (Method::GET, "/flights") => flights(headers),
            (Method::POST, "/authorize" | "/token" | "/revoke") => {
                let Some(form) = Fields::of_form(headers, body).await else {
                    return empty(StatusCode::UNSUPPORTED_MEDIA_TYPE);
                };
                match path {
                    "/authorize" => self.0.take_answer(headers, &form),
                    "/token" => self.0.tokens(&form),
                    _ => self.0.revoke(&form),
                }
            }
            _ => empty(StatusCode::NOT_FOUND),
        }
    }
}

impl Inner {
    /// Whether the `Host` header is this address: another site's name may resolve to it.
    fn is_addressed(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
        host == self.url.strip_prefix("http://")
    }

    fn ask(&self, query: &Fields) -> Answer {
        if query.get("client_id") != Some(CLIENT)
            || query.get("redirect_uri") != Some(&self.redirect)
        {
            // Never redirect to a URL that is not the client's.
            let body = "<p>Nobody that this airline knows has sent you here.</p>";
            return page(StatusCode::BAD_REQUEST, NAME, body, "");
        }
        let state = query.text("state").to_owned();
        let challenge = query.text("code_challenge").to_owned();
        if let Err(refusal) = check(query, &challenge) {
            return self.send_back(&[("error", refusal), ("state", &state)]);
        }
        let Ok(name) = random() else {
            return self.send_back(&[("error", "server_error"), ("state", &state)]);
        };
        let now = self.clock.now();
        let mut asked = locked(&self.asked);
        asked.retain(|_, asked| now < asked.ends);
        if asked.len() >= MOST {
            let refusal = ("error", "temporarily_unavailable");
            return self.send_back(&[refusal, ("state", &state)]);
        }
        let body = format!(
            "<p>It asks for <code>{SCOPE}</code> of your account <strong>{ACCOUNT}</strong>.</p>\n\
             <form method=\"post\" action=\"/authorize\">\n\
             <input type=\"hidden\" name=\"request\" value=\"{}\">\n\
             <button name=\"answer\" value=\"yes\">Allow</button>\n\
             <button name=\"answer\" value=\"no\">Decline</button>\n</form>",
            Escaped(&name)
        );
        let ends = after(now, CONSENT);
        asked.insert(
            name,
            Asked {
                state,
                challenge,
                ends,
            },
        );
        let title = format!("{NAME}: let the travel agency read your miles?");
        let back = self.redirect.find("/cb/").unwrap_or(self.redirect.len());
        page(StatusCode::OK, &title, &body, &self.redirect[..back])
    }

    fn take_answer(&self, headers: &HeaderMap, form: &Fields) -> Answer {
        let origin = headers.get(header::ORIGIN);
        let is_own = origin.is_none_or(|origin| origin.as_bytes() == self.url.as_bytes());
        let now = self.clock.now();
        let asked = match is_own {
            true => locked(&self.asked).remove(form.text("request")),
            false => None,
        };
        let Some(asked) = asked.filter(|asked| now < asked.ends) else {
            let body = "<p>It was answered, or is too old. Go back to your client and start again there.</p>";
            return page(StatusCode::GONE, "This page is over", body, "");
        };
        let state = ("state", &*asked.state);
        if form.get("answer") != Some("yes") {
            return self.send_back(&[("error", "access_denied"), state]);
        }
        let Ok(code) = random() else {
            return self.send_back(&[("error", "server_error"), state]);
        };
        let mut codes = locked(&self.codes);
        codes.retain(|_, code| now < code.ends);
        if codes.len() >= MOST {
            return self.send_back(&[("error", "temporarily_unavailable"), state]);
        }
        let answer = self.send_back(&[("code", &code), state]);
        codes.insert(
            code,
            Code {
                challenge: asked.challenge,
                ends: after(now, CODE),
                family: None,
            },
        );
        answer
    }

    /// Redirects the browser to the client, with the issuer (RFC 9207).
    fn send_back(&self, parameters: &[(&str, &str)]) -> Answer {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(parameters);
        query.append_pair("iss", &self.url);
        see_other(&format!("{}?{}", self.redirect, query.finish()))
    }

    fn tokens(&self, form: &Fields) -> Answer {
        let granted = match form.text("grant_type") {
            _ if form.get("client_id") != Some(CLIENT) => Err("invalid_client"),
            "authorization_code" => self.exchange(form),
            "refresh_token" => self.book.renew(form.text("refresh_token")),
            _ => Err("unsupported_grant_type"),
        };
        match granted {
            Ok(Granted {
                access,
                refresh,
                seconds,
                ..
            }) => {
                let tokens = json!({
                    "access_token": access, "refresh_token": refresh, "token_type": "Bearer",
                    "expires_in": seconds, "scope": SCOPE,
                });
                json(StatusCode::OK, &tokens)
            }
            Err(refusal) => json(StatusCode::BAD_REQUEST, &json!({"error": refusal})),
        }
    }

    /// Exchanges a code for tokens, once. A second use means that the code was stolen, so all its tokens are revoked.
    fn exchange(&self, form: &Fields) -> Result<Granted, Refusal> {
        const REFUSED: Refusal = "invalid_grant";
        let name = form.text("code");
        let taken = {
            let now = self.clock.now();
            let mut codes = locked(&self.codes);
            let code = codes.get_mut(name).filter(|code| now < code.ends);
            let code = code.ok_or(REFUSED)?;
            let verifier = Sha256::digest(form.text("code_verifier"));
            let is_same = URL_SAFE_NO_PAD.encode(verifier) == code.challenge
                && form.get("redirect_uri") == Some(&self.redirect);
            match code.family.take() {
                None if is_same => {
                    let family = random()?;
                    code.family = Some(family.clone());
                    Ok(family)
                }
                // The code is now used up.
                None => {
                    codes.remove(name);
                    return Err(REFUSED);
                }
                Some(family) => Err(family),
            }
        };
        match taken {
            Ok(family) => self.book.grant(family),
            Err(family) => {
                self.book.revoke(&family);
                Err(REFUSED)
            }
        }
    }

    /// Handles a request to the revocation endpoint (RFC 7009). Revoking an unknown token succeeds.
    fn revoke(&self, form: &Fields) -> Answer {
        if let Some(family) = book::family(form.text("token")) {
            self.book.revoke(family);
        }
        empty(StatusCode::OK)
    }

    fn miles(&self, headers: &HeaderMap) -> Answer {
        let bearer = headers.get(header::AUTHORIZATION);
        let bearer = bearer.and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
        if self.book.knows(bearer.unwrap_or_default()) {
            let miles = json!({"account": ACCOUNT, "miles": MILES});
            return json(StatusCode::OK, &miles);
        }
        let mut answer = empty(StatusCode::UNAUTHORIZED);
        let challenge = header::HeaderValue::from_static("Bearer error=\"invalid_token\"");
        answer
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
        answer
    }
}

fn flights(headers: &HeaderMap) -> Answer {
    let key = headers.get(KEY_HEADER).map(|key| key.as_bytes());
    match key == Some(KEY.as_bytes()) {
        true => json(
            StatusCode::OK,
            &json!({"FA 12": "on time", "FA 34": "30 minutes late"}),
        ),
        false => empty(StatusCode::UNAUTHORIZED),
    }
}

/// Checks a request for consent. PKCE with SHA-256 is required.
fn check(query: &Fields, challenge: &str) -> Result<(), Refusal> {
    /// The length of a SHA-256 digest in base64.
    const CHALLENGE: usize = 43;
    if query.get("response_type") != Some("code") {
        return Err("unsupported_response_type");
    }
    if query.text("scope") != SCOPE {
        return Err("invalid_scope");
    }
    let is_pkce = query.get("code_challenge_method") == Some("S256")
        && challenge.len() == CHALLENGE
        && !query.text("state").is_empty();
    is_pkce.then_some(()).ok_or("invalid_request")
}

fn after(now: u64, duration: Duration) -> u64 {
    now.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
