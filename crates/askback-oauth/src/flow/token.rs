//! Tokens: asking for them, and reading the answer (RFC 6749, 5).

use askback_core::auth::Scopes;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    Action, Answer, Flow, Form, Next, Site, State, TokenRequest, Way, registration::refused,
};
use crate::{
    AuthorizationError, Secret,
    fetch::FetchError,
    identity::{Client, Origin},
    records::{Grant, KeptClient},
    shown::shown,
};

const WHAT: &str = "a token";

/// The longest token, in bytes; it must fit into a header.
const LONGEST: usize = 16 << 10;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// What a token endpoint gives.
#[derive(Deserialize)]
struct Given {
    access_token: String,
    token_type: String,
    expires_in: Option<Value>,
    refresh_token: Option<String>,
    scope: Option<String>,
    issued_token_type: Option<String>,
}

/// New tokens, read from an answer.
pub(crate) struct Granted {
    pub(crate) access_token: Secret,
    pub(crate) refresh_token: Option<Secret>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) scopes: Option<Scopes>,
}

impl Flow {
    /// The client asks in its own name (RFC 6749, 4.4).
    pub(super) fn exchange_nothing(&self, site: Site, client: Client) -> Next {
        let form = Form::default().with("grant_type", "client_credentials");
        self.exchange(site, client, form)
    }

    /// Somebody vouched for the client, or for the person.
    pub(super) fn asserted(
        &self,
        site: Site,
        client: Client,
        assertion: Result<Secret, String>,
    ) -> Next {
        let assertion = assertion.map_err(|why| AuthorizationError::Credentials(shown(&why)))?;
        match &self.plan.way {
            Way::Company(provider) => {
                // The provider is the host's own choice, not the server's.
                let endpoint = provider_url(&provider.token_endpoint)?;
                let form = Form::default()
                    .with("grant_type", TOKEN_EXCHANGE)
                    .with("requested_token_type", ID_JAG)
                    .with("audience", site.issuer.issuer.as_str())
                    .with("resource", site.resource.name.as_str())
                    .with_scopes(site.scopes.as_ref())
                    .with_secret("subject_token", assertion)
                    .with("subject_token_type", ID_TOKEN);
                let request = TokenRequest {
                    endpoint,
                    issuer: provider.issuer.clone(),
                    client: Client::by_hand(&provider.client, None),
                    form,
                    bound: false,
                    is_to_company: true,
                };
                Ok((State::Permitting(site, client), Action::Ask(request)))
            }
            Way::Vouched | Way::Person { .. } | Way::Client => {
                self.exchange_assertion(site, client, assertion)
            }
        }
    }

    /// The company's provider permits the use of the server.
    pub(super) fn permitted(
        &self,
        site: Site,
        client: Client,
        answer: Result<Answer, FetchError>,
    ) -> Next {
        const WHAT: &str = "the company's permission";
        let given = given(WHAT, answer)?;
        if given.issued_token_type.as_deref() != Some(ID_JAG) {
            return Err(AuthorizationError::Document {
                what: WHAT,
                why: "it is not what was asked for".to_owned(),
            });
        }
        let permission = Secret::new(given.access_token);
        self.exchange_assertion(site, client, permission)
    }

    fn exchange_assertion(&self, site: Site, client: Client, assertion: Secret) -> Next {
        let form = Form::default()
            .with("grant_type", JWT_BEARER)
            .with_secret("assertion", assertion);
        self.exchange(site, client, form)
    }

    fn exchange(&self, site: Site, client: Client, form: Form) -> Next {
        let form = form
            .with_scopes(site.scopes.as_ref())
            .with("resource", site.resource.name.as_str());
        let request = TokenRequest {
            endpoint: site.token_endpoint.clone(),
            issuer: site.issuer.issuer.clone(),
            client: client.clone(),
            form,
            bound: site.bound,
            is_to_company: false,
        };
        Ok((State::Exchanging(site, client), Action::Ask(request)))
    }

    /// Reads the token.
    pub(super) fn exchanged(
        &self,
        site: Site,
        client: Client,
        answer: Result<Answer, FetchError>,
        now: u64,
    ) -> Next {
        // What was kept may be known no more.
        if client.origin == Origin::Kept && answer.as_ref().is_ok_and(is_unknown_client) {
            let forget = Action::Forget(site.issuer.issuer);
            return Ok((State::Forgetting, forget));
        }
        let granted = granted(answer, site.bound, now)?;
        let issuer = &site.issuer.issuer;
        let may_be_used =
            |it: &String| (self.endpoint(issuer, "the revocation endpoint", it)).is_ok();
        let revocation_endpoint = site.issuer.revocation_endpoint.filter(may_be_used);
        let grant = Grant {
            server: self.plan.server.to_string(),
            resource: site.resource.name,
            issuer: site.issuer.issuer,
            token_endpoint: site.token_endpoint.into(),
            revocation_endpoint,
            client: KeptClient::of(&client),
            by_hand: client.is_by_hand(),
            access_token: granted.access_token,
            refresh_token: granted.refresh_token,
            expires_at: granted.expires_at,
            asked: site.scopes.unwrap_or_default(),
            granted: granted.scopes,
            key: None,
        };
        Ok((State::Over, Action::Done(Box::new(grant))))
    }
}

/// Asks for the next tokens with the refresh token of the last ones, if there is one. Nothing but
/// the issuer that gave it ever sees it.
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
        bound: grant.key.is_some(),
        is_to_company: false,
    })
}

/// Reads tokens from the answer of a token endpoint.
pub(crate) fn granted(
    answer: Result<Answer, FetchError>,
    bound: bool,
    now: u64,
) -> Result<Granted, AuthorizationError> {
    let given = given(WHAT, answer)?;
    let wrong = |why: &str| AuthorizationError::Document {
        what: WHAT,
        why: why.to_owned(),
    };
    let wanted = if bound { "DPoP" } else { "Bearer" };
    if !given.token_type.eq_ignore_ascii_case(wanted) {
        return Err(wrong("it is of another type than was asked for"));
    }
    let lifetime = given.expires_in.as_ref().and_then(seconds);
    // Tokens that were given must not be lost for words about them: the old ones may be used up.
    let scopes = given.scope.as_deref();
    Ok(Granted {
        access_token: Secret::new(given.access_token),
        refresh_token: given.refresh_token.map(Secret::new),
        expires_at: lifetime.map(|lifetime| now.saturating_add(lifetime)),
        scopes: scopes.and_then(|scopes| Scopes::parse(scopes).ok()),
    })
}

fn given(
    what: &'static str,
    answer: Result<Answer, FetchError>,
) -> Result<Given, AuthorizationError> {
    let answer = answer.map_err(|error| AuthorizationError::Fetch {
        what,
        why: error.to_string(),
    })?;
    if is_for_now(&answer) {
        let why = format!("it answers with status {}", answer.status);
        return Err(AuthorizationError::Fetch { what, why });
    }
    if !answer.is_success() {
        return Err(refused(what, &answer));
    }
    let may_be_sent = |token: &str| {
        !token.is_empty()
            && token.len() <= LONGEST
            && token.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let given: Option<Given> = answer.json.and_then(|json| Given::deserialize(json).ok());
    let is_usable = |given: &Given| {
        may_be_sent(&given.access_token) && given.refresh_token.as_deref().is_none_or(may_be_sent)
    };
    given.filter(is_usable).ok_or(AuthorizationError::Document {
        what,
        why: "the answer holds none".to_owned(),
    })
}

/// Some write the number as text.
fn seconds(value: &Value) -> Option<u64> {
    let written = || value.as_str().and_then(|text| text.parse().ok());
    value.as_u64().or_else(written)
}

/// Whether an answer says nothing of what was asked, only that it is not a good time.
fn is_for_now(answer: &Answer) -> bool {
    let code = answer.json.as_ref().and_then(|json| json.get("error"));
    let code = code.and_then(Value::as_str);
    let is_busy = matches!(code, Some("temporarily_unavailable" | "server_error"));
    // Without a code, it is not the token endpoint that forbids.
    let is_blocked = answer.status == 403 && code.is_none();
    matches!(answer.status, 408 | 425 | 429 | 500..)
        || is_blocked
        || is_busy && !answer.is_success()
}

fn is_unknown_client(answer: &Answer) -> bool {
    let code = answer.json.as_ref().and_then(|json| json.get("error"));
    !answer.is_success() && code.and_then(Value::as_str) == Some("invalid_client")
}

/// The URL of a provider that the host configured.
fn provider_url(url: &str) -> Result<Url, AuthorizationError> {
    let is_safe = |url: &Url| {
        let is_local = url.scheme() == "http" && crate::reach::is_loopback(url);
        url.scheme() == "https" || is_local
    };
    let parsed = Url::parse(url).ok().filter(is_safe);
    parsed.ok_or_else(|| AuthorizationError::Url {
        what: "the identity provider",
        url: shown(url),
    })
}
