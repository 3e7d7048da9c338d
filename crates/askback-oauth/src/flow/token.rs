use serde_json::Value;
use url::Url;

use super::{Action, Flow, Next, Site, State, Way};
use crate::{
    AuthorizationError, Secret,
    fetch::{Answer, FetchError},
    identity::{Client, Origin},
    records::{Grant, Registration, StoredClient},
    shown::shown,
    token::{Form, TokenRequest, given, granted},
};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

impl Flow {
    /// The client requests a token for itself (RFC 6749, 4.4).
    pub(super) fn exchange_nothing(&self, site: Site, client: Client) -> Next {
        let form = Form::default().with("grant_type", "client_credentials");
        self.exchange(site, client, form)
    }

    pub(super) fn asserted(
        &self,
        site: Site,
        client: Client,
        assertion: Result<Secret, String>,
    ) -> Next {
        let assertion = assertion.map_err(|why| AuthorizationError::Credentials(shown(&why)))?;
        match &self.plan.way {
            Way::Company(provider) => {
                // The provider is configured by the host, not chosen by the server.
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

    pub(super) fn exchanged(
        &self,
        site: Site,
        client: Client,
        answer: Result<Answer, FetchError>,
        now: u64,
    ) -> Next {
        // The issuer may have forgotten a stored client.
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
            client: StoredClient::of(&client),
            by_hand: client.is_by_hand(),
            access_token: granted.access_token,
            refresh_token: granted.refresh_token,
            expires_at: granted.expires_at,
            asked: site.scopes.unwrap_or_default(),
            granted: granted.scopes,
            key: None,
        };
        let grant = Box::new(grant);
        if client.origin == Origin::Named {
            // The successful request has proved that this is a client of the issuer.
            let named = Registration {
                issuer: grant.issuer.clone(),
                client: grant.client.clone(),
                redirect: None,
                is_named: true,
                scopes: None,
                secret_ends: None,
            };
            return Ok((State::Granted(grant), Action::Keep(named)));
        }
        Ok((State::Over, Action::Done(grant)))
    }
}

fn is_unknown_client(answer: &Answer) -> bool {
    let code = answer.json.as_ref().and_then(|json| json.get("error"));
    !answer.is_success() && code.and_then(Value::as_str) == Some("invalid_client")
}

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
