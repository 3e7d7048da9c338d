//! Consents, assertions, and the token that they are exchanged for.

use url::Url;

use super::{Flow, Site, User, ask_user, refused_url};
use crate::{
    AssertionSource, AuthorizationError, IdentityProvider, Scopes, Secret, SignInRequest,
    code::{AuthorizationRequest, no_endpoint},
    fetch::Answer,
    identity::{Client, Origin},
    key::SigningKey,
    pins,
    provider::Provider,
    reach::{Reach, is_plain},
    records::{Grant, Registration, StoredClient},
    shape::AnswerShape,
    shown::shown,
    token::{Form, TokenRequest, WHAT, given, granted},
};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

impl Flow<'_> {
    /// Asks the user (2026-07-28, basic/authorization, Authorization Response Validation).
    pub(super) async fn consent(
        &self,
        site: &Site,
        client: &Client,
        user: User<'_>,
    ) -> Result<Form, AuthorizationError> {
        const WHAT: &str = "the authorization endpoint";
        let issuer = &site.issuer.issuer;
        let endpoint = site.issuer.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| no_endpoint(issuer))?;
        let url = self.endpoint(issuer, WHAT, endpoint)?;
        if !is_plain(endpoint) {
            return Err(refused_url(WHAT, endpoint));
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
        let mut request = AuthorizationRequest::new(&provider, &client.id, user.redirect.uri())?
            .parameter("resource", &site.resource.name);
        if let Some(scopes) = &site.scopes {
            request = request.scopes(scopes);
            if scopes.contains("offline_access") {
                // OpenID issuers return no refresh token without it (OpenID Connect Core, 11).
                request = request.parameter("prompt", "consent");
            }
        }
        let (url, pending) = request.begin()?;
        let request = SignInRequest {
            url,
            state: pending.state().to_owned(),
            server: self.authorizer.server.to_string(),
            server_name: site.resource.title.as_deref().map(shown),
            issuer: issuer.clone(),
            scopes: site.scopes.clone(),
            more: self.more(site),
        };
        let redirected = ask_user(user.redirect.show(request), user.patience, user.waiting).await;
        let redirected = redirected.map_err(|why| site.not_signed_in(why))?;
        Ok(pending.accept(&redirected)?.form())
    }

    /// The scopes that earlier sign-ins did not request.
    fn more(&self, site: &Site) -> Option<Scopes> {
        let before = self.asked_before(&site.issuer.issuer)?;
        let scopes = site.scopes.iter().flat_map(Scopes::iter);
        // `offline_access` only extends the lifetime. It grants no access.
        let more = scopes.filter(|it| !before.contains(it) && *it != "offline_access");
        Scopes::of(more).ok().filter(|more| !more.is_empty())
    }

    /// Asks the company's provider, which the host configured, for its permission.
    pub(super) async fn permission(
        &self,
        site: &Site,
        provider: &IdentityProvider,
        identity: Secret,
    ) -> Result<Secret, AuthorizationError> {
        const WHAT: &str = "the company's permission";
        let form = Form::default()
            .with("grant_type", TOKEN_EXCHANGE)
            .with("requested_token_type", ID_JAG)
            .with("audience", site.issuer.issuer.as_str())
            .with("resource", site.resource.name.as_str())
            .with_scopes(site.scopes.as_ref())
            .with_secret("subject_token", identity)
            .with("subject_token_type", ID_TOKEN);
        let request = TokenRequest {
            endpoint: provider_url(&provider.token_endpoint)?,
            issuer: provider.issuer.clone(),
            client: Client::by_hand(&provider.client, None),
            form,
        };
        let authorizer = self.authorizer;
        let fetcher = authorizer.company.as_ref().unwrap_or(&authorizer.fetcher);
        let given = given(WHAT, authorizer.ask(fetcher, WHAT, &request, None).await?)?;
        match given.issued_token_type.as_deref() {
            Some(ID_JAG) => Ok(Secret::new(given.access_token)),
            _ => Err(AuthorizationError::Document {
                what: WHAT,
                why: "it is not what was asked for".to_owned(),
            }),
        }
    }

    /// Exchanges a grant for a token. Returns `None` if the issuer has forgotten the client.
    pub(super) async fn exchange(
        &self,
        site: Site,
        client: Client,
        form: Form,
    ) -> Result<Option<Grant>, AuthorizationError> {
        let authorizer = self.authorizer;
        let request = TokenRequest {
            endpoint: site.token_endpoint.clone(),
            issuer: site.issuer.issuer.clone(),
            client: client.clone(),
            form: form.with("resource", site.resource.name.as_str()),
        };
        if let Origin::ByHand { is_told } = client.origin {
            // Before the issuer sees the client's credentials.
            let (store, lock) = authorizer.store();
            pins::pin(store, lock, &client.id, &request.issuer, is_told).await?;
        }
        let key = site.bound.then(SigningKey::generate).transpose()?;
        let (key, key_text) = key.unzip();
        let fetcher = &authorizer.fetcher;
        let answer = authorizer
            .ask(fetcher, WHAT, &request, key.as_ref())
            .await?;
        if client.origin == Origin::Kept && is_unknown_client(&answer) {
            authorizer.forget_registration(&request.issuer).await?;
            return Ok(None);
        }
        let granted = granted(answer, site.bound, authorizer.now())?;
        let may_be_used = |it: &String| {
            let url = self.endpoint(&request.issuer, "the revocation endpoint", it);
            url.is_ok()
        };
        let grant = Grant {
            server: authorizer.server.to_string(),
            resource: site.resource.name,
            revocation_endpoint: site.issuer.revocation_endpoint.filter(may_be_used),
            issuer: request.issuer,
            token_endpoint: site.token_endpoint.into(),
            client: StoredClient::of(&client),
            by_hand: client.is_by_hand(),
            access_token: granted.access_token,
            refresh_token: granted.refresh_token,
            expires_at: granted.expires_at,
            asked: site.scopes.unwrap_or_default(),
            granted: granted.scopes,
            key: key_text,
        };
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
            // The code is used. So the tokens are kept even if this fails.
            if let Err(error) = authorizer.keep_registration(&named).await {
                tracing::warn!(%error, "the client cannot be saved: the next sign-in asks for it again");
            }
        }
        Ok(Some(grant))
    }
}

pub(super) async fn assertion(
    source: &dyn AssertionSource,
    audience: &str,
) -> Result<Secret, AuthorizationError> {
    let assertion = source.assertion(audience).await;
    assertion.map_err(|why| AuthorizationError::Credentials(shown(&why)))
}

pub(super) fn jwt_bearer(site: &Site, assertion: Secret) -> Form {
    Form::default()
        .with("grant_type", JWT_BEARER)
        .with_secret("assertion", assertion)
        .with_scopes(site.scopes.as_ref())
}

fn is_unknown_client(answer: &Answer) -> bool {
    !answer.is_success() && answer.text("error") == Some("invalid_client")
}

fn provider_url(url: &str) -> Result<Url, AuthorizationError> {
    let parsed = Url::parse(url).ok();
    let parsed = parsed.filter(|url| Reach::anywhere().allows(url));
    parsed.ok_or_else(|| AuthorizationError::Url {
        what: "the identity provider",
        url: shown(url),
    })
}
