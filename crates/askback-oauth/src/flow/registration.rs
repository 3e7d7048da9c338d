//! Client registration (2026-07-28, basic/authorization/client-registration).

use askback_core::{auth::Scopes, json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Action, Flow, Next, Site, State, Way, discovery::no_issuer};
use crate::{
    AuthorizationError, Secret,
    fetch::{Answer, FetchError},
    identity::{Client, Method, Origin, Proof, RegisteredClient},
    reach::is_loopback,
    records::{Registration, StoredClient},
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

impl Flow {
    /// Identifies the client by the first of these: a hand-registered client, a metadata document,
    /// dynamic registration, or a client that the user names.
    pub(super) fn identify(&self, site: Site) -> Next {
        let taken = site.issuer.token_endpoint_auth_methods_supported.as_deref();
        let issuer = &site.issuer.issuer;
        // A client for exactly this issuer takes precedence over one without an issuer.
        let at = |place: Option<&String>| {
            let mut clients = self.plan.clients.iter();
            clients.find(|client| client.issuer.as_ref() == place)
        };
        if let Some(client) = at(Some(issuer)).or_else(|| at(None)) {
            let client = Client::by_hand(client, taken);
            return self.identified(site, client);
        }
        if let Some(registered) = self.plan.clients.iter().find_map(|it| it.issuer.clone()) {
            // Never show credentials for one issuer to another.
            return Err(AuthorizationError::NotRegisteredThere {
                registered,
                wanted: issuer.clone(),
            });
        }
        if let Some(document) = &self.plan.document
            && site.issuer.client_id_metadata_document_supported
        {
            let client = Client {
                id: document.clone(),
                method: Method::None,
                proof: Proof::None,
                origin: Origin::Document,
            };
            return self.identified(site, client);
        }
        if site.issuer.registration_endpoint.is_none() && self.redirect().is_none() {
            return Err(AuthorizationError::NoRegistration(issuer.clone()));
        }
        let recall = Action::Recall(issuer.clone());
        Ok((State::Recalling(site), recall))
    }

    /// Uses the stored registration if it is still valid: same issuer, same redirect URI, not
    /// expired, and registered for all the scopes that will be requested.
    pub(super) fn recalled(&self, site: Site, kept: Option<Registration>, now: u64) -> Next {
        let asked = site.scopes.as_ref();
        let is_for_all = |known: &Scopes| asked.is_none_or(|asked| known.contains_all(asked));
        let holds = |kept: &Registration| {
            kept.issuer == site.issuer.issuer
                && (kept.is_named || kept.redirect.as_deref() == self.redirect())
                && kept.secret_ends.is_none_or(|end| end > now)
                && kept.scopes.as_ref().is_none_or(is_for_all)
        };
        match kept.filter(holds) {
            Some(kept) => {
                let client = kept.client.client(Origin::Kept);
                self.identified(site, client)
            }
            None => self.register(site),
        }
    }

    pub(super) fn register(&self, site: Site) -> Next {
        let endpoint = match &site.issuer.registration_endpoint {
            Some(endpoint) => {
                self.endpoint(&site.issuer.issuer, "the registration endpoint", endpoint)?
            }
            None => {
                let ask = Action::AskClient(site.issuer.issuer.clone());
                return Ok((State::Naming(site), ask));
            }
        };
        let request = self.introduction(&site);
        let issuer = site.issuer.issuer.clone();
        let register = Action::Register {
            issuer,
            endpoint,
            request,
        };
        Ok((State::Registering(site), register))
    }

    /// Uses the client that the user named, for this issuer only.
    pub(super) fn named(&self, site: Site, client: Option<RegisteredClient>) -> Next {
        let Some(client) = client else {
            return Err(AuthorizationError::NoRegistration(site.issuer.issuer));
        };
        let taken = site.issuer.token_endpoint_auth_methods_supported.as_deref();
        let client = client.with_issuer(&site.issuer.issuer);
        let mut client = Client::by_hand(&client, taken);
        // A key is not stored: the host passes it again.
        if client.method != Method::Key {
            client.origin = Origin::Named;
        }
        self.identified(site, client)
    }

    fn introduction(&self, site: &Site) -> Value {
        let known = site.issuer.grant_types_supported.as_deref();
        let refreshes = known.is_none_or(|known| known.iter().any(|it| it == "refresh_token"));
        let mut grants = vec!["authorization_code"];
        if refreshes {
            grants.push("refresh_token");
        }
        // A client that runs on a user's machine cannot keep a secret.
        let taken = site.issuer.token_endpoint_auth_methods_supported.as_deref();
        let takes = |method: Method| taken.is_none_or(|it| it.iter().any(|it| it == method.name()));
        let method = [Method::None, Method::for_secret(taken)];
        let method = method.into_iter().find(|method| takes(*method));
        let redirect = self.redirect().unwrap_or_default();
        let native = url::Url::parse(redirect).is_ok_and(|url| is_loopback(&url));
        let mut request = json!({
            "client_name": self.plan.introduction.name,
            "redirect_uris": [redirect],
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": method.unwrap_or(Method::None).name(),
            "application_type": if native { "native" } else { "web" },
        });
        if let Some(uri) = &self.plan.introduction.uri {
            request["client_uri"] = uri.as_str().into();
        }
        if let Some(scopes) = &site.scopes {
            request["scope"] = scopes.to_string().into();
        }
        request
    }

    pub(super) fn registered(&self, site: Site, answer: Result<Answer, FetchError>) -> Next {
        let answer = answer.map_err(|error| AuthorizationError::Fetch {
            what: WHAT,
            why: error.to_string(),
        })?;
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
        let taken = site.issuer.token_endpoint_auth_methods_supported.as_deref();
        let named = registered.token_endpoint_auth_method;
        let method = match (named.as_deref().map(Method::named), &secret) {
            (Some(Some(method @ (Method::Basic | Method::Post))), Some(_)) => method,
            (Some(Some(Method::None)), _) | (None, None) => Method::None,
            (None, Some(_)) => Method::for_secret(taken),
            (Some(_), _) => {
                return Err(AuthorizationError::Unsupported {
                    issuer: site.issuer.issuer,
                    lacks: "registered the client with a method it did not offer".to_owned(),
                });
            }
        };
        let client = StoredClient {
            id: registered.client_id,
            method,
            secret: secret.filter(|_| method != Method::None),
        };
        let registration = Registration {
            issuer: site.issuer.issuer.clone(),
            client: client.clone(),
            redirect: self.redirect().map(str::to_owned),
            is_named: false,
            scopes: site.scopes.clone(),
            secret_ends: registered.client_secret_expires_at.filter(|end| *end > 0),
        };
        let client = client.client(Origin::New);
        Ok((State::Keeping(site, client), Action::Keep(registration)))
    }

    fn redirect(&self) -> Option<&str> {
        match &self.plan.way {
            Way::Person { redirect } => Some(redirect),
            Way::Client | Way::Company(_) | Way::Vouched => None,
        }
    }
}
