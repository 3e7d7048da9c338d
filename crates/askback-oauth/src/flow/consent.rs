//! The user's consent (2026-07-28, basic/authorization, Authorization Response Validation).

use super::{Action, Flow, Next, Site, State, discovery::no_issuer};
use crate::{
    AuthorizationError, Scopes, SignInError, SignInRequest,
    code::{AuthorizationRequest, PendingAuthorization, no_endpoint},
    identity::Client,
    provider::Provider,
    reach::is_plain,
    shape::AnswerShape,
    shown::shown,
    token::TokenRequest,
};

impl Flow {
    pub(super) fn ask(&self, site: Site, client: Client, redirect: &str) -> Next {
        const WHAT: &str = "the authorization endpoint";
        let issuer = &site.issuer.issuer;
        let endpoint = site.issuer.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| no_endpoint(issuer))?;
        let url = self.endpoint(issuer, WHAT, endpoint)?;
        if !is_plain(endpoint) {
            return Err(super::refused_url(WHAT, endpoint));
        }
        let provider = Provider {
            issuer: issuer.clone(),
            authorization_endpoint: Some(url),
            token_endpoint: site.token_endpoint.clone(),
            revocation_endpoint: None,
            names_issuer: site.issuer.authorization_response_iss_parameter_supported,
            methods: None,
            shape: AnswerShape::default(),
        };
        let mut request = AuthorizationRequest::new(&provider, &client.id, redirect)?
            .parameter("resource", &site.resource.name);
        if let Some(scopes) = &site.scopes {
            request = request.scopes(scopes);
            if scopes.contains("offline_access") {
                // OpenID issuers return no refresh token without it (OpenID Connect Core, 11).
                request = request.parameter("prompt", "consent");
            }
        }
        let (url, pending) = request.begin_with(&self.plan.random);
        let request = SignInRequest {
            url,
            state: pending.state().to_owned(),
            server: self.plan.server.to_string(),
            server_name: site.resource.title.as_deref().map(shown),
            issuer: issuer.clone(),
            scopes: site.scopes.clone(),
            more: self.more(&site),
        };
        Ok((State::Asking(site, client, pending), Action::Show(request)))
    }

    /// The scopes that earlier sign-ins did not request.
    fn more(&self, site: &Site) -> Option<Scopes> {
        let before = self.asked_before(&site.issuer.issuer)?;
        let scopes = site.scopes.iter().flat_map(Scopes::iter);
        // `offline_access` only extends the lifetime. It grants no access.
        let more = scopes.filter(|it| !before.contains(it) && *it != "offline_access");
        Scopes::of(more).ok().filter(|more| !more.is_empty())
    }

    pub(super) fn redirected(
        &self,
        site: Site,
        client: Client,
        pending: PendingAuthorization,
        redirected: Result<String, SignInError>,
    ) -> Next {
        let redirected = redirected.map_err(|why| site.not_signed_in(why))?;
        let form = pending.accept(&redirected)?.form();
        let request = TokenRequest {
            endpoint: site.token_endpoint.clone(),
            issuer: site.issuer.issuer.clone(),
            client: client.clone(),
            form: form.with("resource", site.resource.name.as_str()),
            bound: site.bound,
            is_to_company: false,
        };
        Ok((State::Exchanging(site, client), Action::Ask(request)))
    }
}

impl Flow {
    pub(crate) fn not_signed_in(&self, why: SignInError) -> AuthorizationError {
        match &self.state {
            State::Registering(site) | State::Naming(site) => site.not_signed_in(why),
            _ => AuthorizationError::SignIn(told(why)),
        }
    }
}

impl Site {
    fn not_signed_in(&self, why: SignInError) -> AuthorizationError {
        match told(why) {
            // A user could not sign in either.
            SignInError::Unattended if self.is_assumed => no_issuer(),
            why => AuthorizationError::SignIn(why),
        }
    }
}

/// Cleans the error text, which may quote a web page.
fn told(why: SignInError) -> SignInError {
    match why {
        SignInError::Declined(Some(reason)) => SignInError::Declined(Some(shown(&reason))),
        SignInError::Host(why) => SignInError::Host(shown(&why)),
        why => why,
    }
}
