//! Client registration (2026-07-28, basic/authorization/client-registration).

use askback_core::{auth::Scopes, json};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{Flow, Site, User, ask_user, discovery::no_issuer};
use crate::{
    AuthorizationError, CredentialKey, Secret,
    authorizer::Authorizer,
    fetch::{Answer, fetch_failed},
    identity::{Client, Method, Origin, Proof},
    reach::is_loopback,
    records::{self, Registration, StoredClient},
    store::{locked, not_kept},
    token::refused,
};

const WHAT: &str = "the registration";

/// The maximum length of a client id or secret, in bytes.
const LONGEST: usize = 4 << 10;

#[derive(Deserialize)]
struct RegistrationAnswer {
    client_id: String,
    client_secret: Option<String>,
    /// 0 means that it does not expire.
    #[serde(default, deserialize_with = "json::seconds")]
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<String>,
}

impl Flow<'_> {
    /// Identifies the client by the first of these: a hand-registered client, a metadata document,
    /// a stored registration, dynamic registration, or a client that the user names.
    pub(super) async fn identify(
        &self,
        site: &Site,
        user: Option<&mut User<'_>>,
    ) -> Result<Client, AuthorizationError> {
        let issuer = &site.issuer.issuer;
        // A client for exactly this issuer takes precedence over one without an issuer.
        let at = |place: Option<&String>| {
            let mut clients = self.clients.iter();
            clients.find(|client| client.issuer.as_ref() == place)
        };
        if let Some(client) = at(Some(issuer)).or_else(|| at(None)) {
            return Ok(Client::by_hand(client, site.methods()));
        }
        if let Some(registered) = self.clients.iter().find_map(|it| it.issuer.clone()) {
            // Never show credentials for one issuer to another.
            return Err(AuthorizationError::NotRegisteredThere {
                registered,
                wanted: issuer.clone(),
            });
        }
        if let Some(document) = &self.authorizer.config.document
            && site.issuer.client_id_metadata_document_supported
        {
            return Ok(Client {
                id: document.clone(),
                method: Method::None,
                proof: Proof::None,
                origin: Origin::Document,
            });
        }
        let Some(user) = user else {
            return Err(AuthorizationError::NoRegistration(issuer.clone()));
        };
        if let Some(kept) = self.authorizer.registration(issuer).await?
            && self.is_valid(&kept, site)
        {
            return Ok(kept.client.client(Origin::Kept));
        }
        match &site.issuer.registration_endpoint {
            Some(endpoint) => {
                let endpoint = self.endpoint(issuer, "the registration endpoint", endpoint)?;
                self.register(site, &endpoint, user).await
            }
            None => named(site, user).await,
        }
    }

    /// Whether a stored registration is still valid: same issuer, same redirect URI, not expired,
    /// and registered for all the scopes that will be requested.
    fn is_valid(&self, kept: &Registration, site: &Site) -> bool {
        let asked = site.scopes.as_ref();
        let is_for_all = |known: &Scopes| asked.is_none_or(|asked| known.contains_all(asked));
        kept.issuer == site.issuer.issuer
            && (kept.is_named || kept.redirect == self.redirect)
            && kept
                .secret_ends
                .is_none_or(|end| end > self.authorizer.now())
            && kept.scopes.as_ref().is_none_or(is_for_all)
    }

    async fn register(
        &self,
        site: &Site,
        endpoint: &Url,
        user: &mut User<'_>,
    ) -> Result<Client, AuthorizationError> {
        let issuer = &site.issuer.issuer;
        let agreed = ask_user(user.redirect.agree(issuer), user.patience, user.waiting);
        agreed.await.map_err(|why| site.not_signed_in(why))?;
        let fetcher = &self.authorizer.fetcher;
        let fetched = fetcher.post(endpoint, &self.introduction(site)).await;
        let answer = fetched.map_err(fetch_failed(WHAT))?;
        let registration = self.registered(site, answer.into())?;
        self.authorizer.keep_registration(&registration).await?;
        Ok(registration.client.client(Origin::New))
    }

    fn introduction(&self, site: &Site) -> Value {
        let known = site.issuer.grant_types_supported.as_deref();
        let refreshes = known.is_none_or(|known| known.iter().any(|it| it == "refresh_token"));
        let mut grants = vec!["authorization_code"];
        if refreshes {
            grants.push("refresh_token");
        }
        // A client that runs on a user's machine cannot keep a secret.
        let taken = site.methods();
        let takes = |method: Method| taken.is_none_or(|it| it.iter().any(|it| it == method.name()));
        let method = [Method::None, Method::for_secret(taken)];
        let method = method.into_iter().find(|method| takes(*method));
        let redirect = self.redirect.as_deref().unwrap_or_default();
        let native = url::Url::parse(redirect).is_ok_and(|url| is_loopback(&url));
        let mut request = json!({
            "client_name": self.authorizer.config.introduction.name,
            "redirect_uris": [redirect],
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": method.unwrap_or(Method::None).name(),
            "application_type": if native { "native" } else { "web" },
        });
        if let Some(uri) = &self.authorizer.config.introduction.uri {
            request["client_uri"] = uri.as_str().into();
        }
        if let Some(scopes) = &site.scopes {
            request["scope"] = scopes.to_string().into();
        }
        request
    }

    /// Reads the response to a registration (RFC 7591, 3.2).
    fn registered(&self, site: &Site, answer: Answer) -> Result<Registration, AuthorizationError> {
        if !answer.is_success() {
            return Err(match (site.is_assumed, answer.status) {
                // There is no registration endpoint.
                (true, 401 | 404 | 405) => no_issuer(),
                _ => refused(WHAT, &answer),
            });
        }
        let wrong = |why| AuthorizationError::Document { what: WHAT, why };
        let registered = json::document(answer.json.unwrap_or_default()).map_err(wrong)?;
        let usable = |text: &str| {
            !text.is_empty() && text.len() <= LONGEST && !text.chars().any(char::is_control)
        };
        let is_usable = |it: &RegistrationAnswer| {
            usable(&it.client_id) && it.client_secret.as_deref().is_none_or(usable)
        };
        if !is_usable(&registered) {
            return Err(wrong("the answer holds no client".to_owned()));
        }
        let secret = registered.client_secret.map(Secret::new);
        let named = registered.token_endpoint_auth_method;
        let method = match (named.as_deref().map(Method::named), &secret) {
            (Some(Some(method @ (Method::Basic | Method::Post))), Some(_)) => method,
            (Some(Some(Method::None)), _) | (None, None) => Method::None,
            (None, Some(_)) => Method::for_secret(site.methods()),
            (Some(_), _) => {
                return Err(AuthorizationError::Unsupported {
                    issuer: site.issuer.issuer.clone(),
                    lacks: "registered the client with a method it did not offer".to_owned(),
                });
            }
        };
        let client = StoredClient {
            id: registered.client_id,
            method,
            secret: secret.filter(|_| method != Method::None),
        };
        Ok(Registration {
            issuer: site.issuer.issuer.clone(),
            client,
            redirect: self.redirect.clone(),
            is_named: false,
            scopes: site.scopes.clone(),
            secret_ends: registered.client_secret_expires_at.filter(|end| *end > 0),
        })
    }
}

impl Site {
    /// The methods of client authentication that the issuer supports.
    fn methods(&self) -> Option<&[String]> {
        self.issuer.token_endpoint_auth_methods_supported.as_deref()
    }
}

/// Asks the user for a client of their own, which is used with this issuer only.
async fn named(site: &Site, user: &mut User<'_>) -> Result<Client, AuthorizationError> {
    let issuer = &site.issuer.issuer;
    let named = ask_user(user.redirect.client(issuer), user.patience, user.waiting).await;
    let named = named.map_err(|why| site.not_signed_in(why))?;
    let client = named.ok_or_else(|| AuthorizationError::NoRegistration(issuer.clone()))?;
    let mut client = Client::by_hand(&client.with_issuer(issuer), site.methods());
    // A key is not stored: the host passes it again.
    if client.method != Method::Key {
        client.origin = Origin::Named;
    }
    Ok(client)
}

impl Authorizer {
    async fn registration(&self, issuer: &str) -> Result<Option<Registration>, AuthorizationError> {
        let key = CredentialKey::Registration(issuer.to_owned());
        let kept = self.config.store.load(&key).await.map_err(not_kept)?;
        // An unreadable record counts as missing.
        Ok(kept.and_then(|kept| records::read(&kept).ok()))
    }

    pub(super) async fn keep_registration(
        &self,
        registration: &Registration,
    ) -> Result<(), AuthorizationError> {
        let key = CredentialKey::Registration(registration.issuer.clone());
        let record = records::write(registration)?;
        let saved = self.config.store.save(&key, &record).await;
        saved.map_err(not_kept)
    }

    pub(super) async fn forget_registration(&self, issuer: &str) -> Result<(), AuthorizationError> {
        let key = CredentialKey::Registration(issuer.to_owned());
        self.config.store.remove(&key).await.map_err(not_kept)
    }

    /// Deletes a registration unless it was replaced meanwhile.
    pub(crate) async fn forget_client(
        &self,
        issuer: &str,
        id: &str,
    ) -> Result<(), AuthorizationError> {
        let key = CredentialKey::Registration(issuer.to_owned());
        let (store, most) = self.store();
        let _lock = locked(store, &key, most).await?;
        let kept = self.registration(issuer).await?;
        match kept.filter(|kept| kept.client.id == id) {
            Some(_) => self.forget_registration(issuer).await,
            None => Ok(()),
        }
    }
}
