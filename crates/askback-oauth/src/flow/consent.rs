//! The person's consent: the request that goes through the browser, and the answer
//! (2026-07-28, basic/authorization, Authorization Response Validation).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{Action, Flow, Form, Next, Random, Site, State, TokenRequest};
use crate::{
    AuthorizationError, Secret, SignInRequest, identity::Client, reach::is_loopback, shown::shown,
};

/// The longest URL a browser comes back with, in bytes.
const LONGEST: usize = 16 << 10;

/// What is remembered of a request until its answer comes.
#[derive(Debug)]
pub(super) struct Pending {
    verifier: Secret,
    state: String,
    redirect: String,
    /// From the issuer's own, checked document.
    issuer: String,
    names_issuer: bool,
}

/// What the browser came back with.
#[derive(Default)]
struct Answer {
    code: Option<Secret>,
    state: Option<String>,
    issuer: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

impl Flow {
    pub(super) fn ask(&self, site: Site, client: Client, redirect: &str) -> Next {
        let lacks = || AuthorizationError::Unsupported {
            issuer: site.issuer.issuer.clone(),
            lacks: "has no authorization endpoint".to_owned(),
        };
        let endpoint = site.issuer.authorization_endpoint.as_deref();
        let mut url =
            self.authorization_endpoint(&site.issuer.issuer, endpoint.ok_or_else(lacks)?)?;
        check_redirect(redirect)?;
        let Random(random) = &self.plan.random;
        let (verifier, state) = random.split_at(32);
        let pending = Pending {
            verifier: Secret::new(URL_SAFE_NO_PAD.encode(verifier)),
            state: URL_SAFE_NO_PAD.encode(state),
            redirect: redirect.to_owned(),
            issuer: site.issuer.issuer.clone(),
            names_issuer: site.issuer.authorization_response_iss_parameter_supported,
        };
        let challenge = Sha256::digest(pending.verifier.expose());
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.id)
                .append_pair("redirect_uri", redirect)
                .append_pair("state", &pending.state)
                .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &site.resource.name);
            if let Some(scopes) = &site.scopes {
                query.append_pair("scope", &scopes.to_string());
                if scopes.contains("offline_access") {
                    // OpenID gives no refresh token without it (OpenID Connect Core, 11).
                    query.append_pair("prompt", "consent");
                }
            }
        }
        let request = SignInRequest::new(
            url,
            pending.state.clone(),
            self.plan.server.to_string(),
            site.resource.title.as_deref().map(shown),
            site.issuer.issuer.clone(),
            site.scopes.clone(),
        );
        Ok((State::Asking(site, client, pending), Action::Show(request)))
    }

    /// Checks the answer in the one order that gives nothing away: whether it is to this request,
    /// whether it is from this issuer, and only then what it says.
    pub(super) fn redirected(
        &self,
        site: Site,
        client: Client,
        pending: &Pending,
        redirected: Result<String, String>,
    ) -> Next {
        let redirected = redirected.map_err(|why| AuthorizationError::SignIn(shown(&why)))?;
        let answer = read(&redirected, &pending.redirect)?;
        let not_accepted = |why: &str| AuthorizationError::Answer(why.to_owned());
        if answer.state.as_deref() != Some(&pending.state) {
            return Err(not_accepted("it is not the answer to this sign-in"));
        }
        match &answer.issuer {
            // Letter by letter: no other way of writing it is the same.
            Some(issuer) if *issuer == pending.issuer => {}
            Some(_) => return Err(not_accepted("it comes from another authorization server")),
            None if pending.names_issuer => {
                return Err(not_accepted(
                    "it does not say which authorization server it is from",
                ));
            }
            None => {}
        }
        if let Some(error) = answer.error {
            return Err(AuthorizationError::Refused {
                what: "the sign-in",
                code: shown(&error),
                description: shown(&answer.description.unwrap_or_default()),
            });
        }
        let Some(code) = answer.code else {
            return Err(not_accepted("it holds no code"));
        };
        let form = Form::default()
            .with("grant_type", "authorization_code")
            .with_secret("code", code)
            .with("redirect_uri", pending.redirect.as_str())
            .with_secret("code_verifier", pending.verifier.clone())
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

    /// The URL a person is sent to. What opens it must have nothing to interpret in it, wherever it
    /// passes it on.
    fn authorization_endpoint(
        &self,
        issuer: &str,
        endpoint: &str,
    ) -> Result<Url, AuthorizationError> {
        const WHAT: &str = "the authorization endpoint";
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?&=%@+,[]".contains(&byte);
        let url = self.endpoint(issuer, WHAT, endpoint)?;
        if endpoint.bytes().all(is_plain) {
            Ok(url)
        } else {
            Err(super::refused_url(WHAT, endpoint))
        }
    }
}

/// Whether a host may be sent back there: to the own machine, or to an `https` URL
/// (2026-07-28, basic/authorization/security-considerations, Communication Security).
fn check_redirect(redirect: &str) -> Result<(), AuthorizationError> {
    let url = Url::parse(redirect).ok();
    let may_be = |url: &Url| {
        let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_loopback(url);
        is_safe && url.fragment().is_none()
    };
    if url.as_ref().is_some_and(may_be) {
        return Ok(());
    }
    let why = "the redirect URI is neither on this machine nor https";
    Err(AuthorizationError::SignIn(why.to_owned()))
}

/// Takes the answer apart. One that says something twice says nothing.
fn read(redirected: &str, redirect: &str) -> Result<Answer, AuthorizationError> {
    let unreadable = || AuthorizationError::Answer("it is not the URL of an answer".to_owned());
    let url = Url::parse(redirected).ok();
    let url = url
        .filter(|_| redirected.len() <= LONGEST)
        .ok_or_else(unreadable)?;
    let expected = Url::parse(redirect).map_err(|_| unreadable())?;
    if url.origin() != expected.origin() || url.path() != expected.path() {
        return Err(unreadable());
    }
    let mut answer = Answer::default();
    for (name, value) in url.query_pairs() {
        let place = match &*name {
            "state" => &mut answer.state,
            "iss" => &mut answer.issuer,
            "error" => &mut answer.error,
            "error_description" => &mut answer.description,
            "code" if answer.code.is_none() => {
                answer.code = Some(Secret::new(value.into_owned()));
                continue;
            }
            "code" => return Err(unreadable()),
            _ => continue,
        };
        if place.replace(value.into_owned()).is_some() {
            return Err(unreadable());
        }
    }
    answer.code = answer.code.filter(|code| !code.expose().is_empty());
    Ok(answer)
}
