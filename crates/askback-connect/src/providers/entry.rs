//! A third party as data: a table of a providers file, or a preset.

use std::{collections::BTreeMap, fmt};

use askback_core::auth::Scopes;
use askback_oauth::{AnswerShape, AuthorizationError, Fetcher, Provider, RegisteredClient};
use serde::Deserialize;
use serde_json::Value;

use super::account::AccountSource;
use super::api_key::ApiKey;
use super::error::ConnectError;
use super::revocation::RevocationWay;
use super::scopes::ScopeRules;
use super::third_party::ThirdParty;

const TENANT: &str = "{tenant}";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) preset: Option<String>,
    title: Option<String>,
    /// Where an operator registers a client.
    #[serde(rename = "page")]
    _page: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<SecretPlace>,
    pub(super) api_key: Option<KeyEntry>,
    tenant: Option<String>,
    issuer: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    revocation: Option<RevocationEntry>,
    client_methods: Option<Vec<String>>,
    require_issuer: bool,
    comma_answers: bool,
    code_tokens_at: Option<String>,
    token_types: Vec<String>,
    scopes: Vec<String>,
    scope_parameter: Option<String>,
    scope_separator: Option<char>,
    scope_prefix: Option<String>,
    unlisted_scopes: Vec<String>,
    implied_scopes: BTreeMap<String, Vec<String>>,
    scope_words: BTreeMap<String, String>,
    parameters: BTreeMap<String, String>,
    refresh_refusals: Vec<String>,
    revokes_singly: bool,
    account: Option<AccountEntry>,
    /// The origins of its API. An empty list means that handlers send tokens themselves.
    pub(super) api: Option<Vec<String>>,
}

/// Where a secret is stored. Not printed, because the operator may have put the secret itself here.
#[derive(Clone, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "another value, expected \"${NAME}\" for a variable, or { file = \"…\" }"
)]
pub(super) enum SecretPlace {
    Text(String),
    File { file: String },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyEntry {
    hint: Option<String>,
    page: Option<String>,
    check: Option<CheckEntry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckEntry {
    url: String,
    header: String,
    #[serde(default)]
    prefix: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RevocationEntry {
    by: Authentication,
    url: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Authentication {
    Bearer,
    Client,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountEntry {
    claim: Option<String>,
    url: Option<String>,
    body: Option<Value>,
    #[serde(default)]
    name: Vec<String>,
    #[serde(default)]
    id: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Fault {
    pub(super) key: Option<&'static str>,
    pub(super) why: ConnectError,
}

impl Fault {
    pub(super) fn of(provider: &str, key: Option<&'static str>, why: &str) -> Self {
        Self {
            key,
            why: ConnectError::Description {
                provider: provider.to_owned(),
                why: why.to_owned(),
            },
        }
    }
}

/// Follows the name of the provider in an error.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = self.key {
            write!(f, ", `{key}`")?;
        }
        match &self.why {
            ConnectError::Description { why, .. } | ConnectError::Setting { why, .. } => {
                write!(f, ": {why}")
            }
            other => write!(f, ": {other}"),
        }
    }
}

fn of<E: Into<ConnectError>>(key: &'static str) -> impl Fn(E) -> Fault {
    move |error| Fault {
        key: Some(key),
        why: error.into(),
    }
}

/// Like [`of`], for a URL of an authorization server. Does not quote the URL, because it may
/// contain a key or a password.
fn of_url(key: &'static str) -> impl Fn(AuthorizationError) -> Fault {
    move |error| {
        of(key)(match error {
            AuthorizationError::Url { what, .. } => ConnectError::Setting {
                what,
                why: format!("the URL of {what} must be https, or on this machine"),
            },
            error => error.into(),
        })
    }
}

impl Entry {
    pub(super) fn tenant(mut self, tenant: &str) -> Self {
        self.tenant = Some(tenant.to_owned());
        self
    }

    /// Returns the third party of a table with all endpoints.
    pub(super) fn party(&self, name: &str, client: RegisteredClient) -> Result<ThirdParty, Fault> {
        let url = |what: &'static str, url: &Option<String>| {
            let missing = || Fault::of(name, None, &format!("it has no `{what}`"));
            let url = url.as_deref().ok_or_else(missing)?;
            self.with_tenant(name, url)
        };
        let authorization = url("authorization_endpoint", &self.authorization_endpoint);
        let token = url("token_endpoint", &self.token_endpoint);
        let issuer = url("issuer", &self.issuer)?;
        let (authorization, token) = (authorization?, token?);
        let provider = Provider::new(issuer, &authorization, &token);
        // Find out which of the two is invalid.
        let key = match Provider::new("", &authorization, &authorization) {
            Ok(_) => "token_endpoint",
            Err(_) => "authorization_endpoint",
        };
        self.with_provider(name, provider.map_err(of_url(key))?, client)
    }

    /// Returns the third party of a table without endpoints, by discovery.
    pub(super) async fn found(
        &self,
        fetcher: &Fetcher,
        name: &str,
        client: RegisteredClient,
    ) -> Result<ThirdParty, Fault> {
        match (
            &self.issuer,
            &self.authorization_endpoint,
            &self.token_endpoint,
        ) {
            (Some(issuer), None, None) => {
                let issuer = self.with_tenant(name, issuer)?;
                let provider = Provider::discover(fetcher, &issuer).await;
                self.with_provider(name, provider.map_err(of_url("issuer"))?, client)
            }
            _ => self.party(name, client),
        }
    }

    pub(super) fn key_party(&self, name: &str, key: &KeyEntry) -> Result<ThirdParty, Fault> {
        let mut api_key = ApiKey::new();
        if let Some(hint) = &key.hint {
            api_key = api_key.hint(hint);
        }
        if let Some(page) = &key.page {
            api_key = api_key.page(page).map_err(of("api_key.page"))?;
        }
        if let Some(check) = &key.check {
            let checked = api_key.check(&check.url, &check.header, &check.prefix);
            api_key = checked.map_err(of("api_key.check"))?;
        }
        let title = self.title.as_deref().unwrap_or(name);
        let party = ThirdParty::api_key(name, title, api_key);
        self.with_account(party.map_err(|why| Fault { key: None, why })?)
    }

    fn with_provider(
        &self,
        name: &str,
        mut provider: Provider,
        client: RegisteredClient,
    ) -> Result<ThirdParty, Fault> {
        // A configured endpoint takes precedence over the metadata.
        if let Some(revocation) = &self.revocation_endpoint {
            let revocation = provider.revocation_endpoint(&self.with_tenant(name, revocation)?);
            provider = revocation.map_err(of_url("revocation_endpoint"))?;
        }
        if let Some(methods) = &self.client_methods {
            provider = provider.client_methods(methods.iter().cloned());
        }
        if self.require_issuer {
            provider = provider.require_issuer();
        }
        provider = provider.answers(AnswerShape {
            code_tokens_at: self.code_tokens_at.clone(),
            has_commas: self.comma_answers,
            types: self.token_types.clone(),
        });
        let title = self.title.as_deref().unwrap_or(name);
        let rules = ScopeRules {
            parameter: self
                .scope_parameter
                .as_deref()
                .unwrap_or("scope")
                .to_owned(),
            separator: self.scope_separator.unwrap_or(' '),
            implied: self.implied_scopes.clone(),
            unlisted: Scopes::of(&self.unlisted_scopes).map_err(of("unlisted_scopes"))?,
            words: self.scope_words.clone(),
            prefix: self.scope_prefix.clone(),
        };
        let scopes = Scopes::of(&self.scopes).map_err(of("scopes"))?;
        let revocation = match &self.revocation {
            None => None,
            Some(RevocationEntry { by, url }) => Some(
                match by {
                    Authentication::Bearer => RevocationWay::bearer(url),
                    Authentication::Client => RevocationWay::by_client(url),
                }
                .map_err(of("revocation.url"))?,
            ),
        };
        let party = ThirdParty::oauth(name, title, provider, client)
            .map_err(|why| Fault { key: None, why })?
            .with(|party| {
                party.rules = rules;
                party.scopes = scopes;
                party.parameters = self.parameters.clone().into_iter().collect();
                party.refusals = self.refresh_refusals.clone();
                party.revokes_singly = self.revokes_singly;
                party.revocation = revocation.unwrap_or(party.revocation.clone());
            });
        self.with_account(party)
    }

    fn with_account(&self, party: ThirdParty) -> Result<ThirdParty, Fault> {
        let party = match &self.api {
            None => party,
            Some(origins) => party.api(origins).map_err(of("api"))?,
        };
        let source = match &self.account {
            None => return Ok(party),
            Some(AccountEntry {
                claim: Some(claim),
                url: None,
                body: None,
                name,
                id,
            }) if name.is_empty() && id.is_empty() => AccountSource::claim(claim),
            Some(AccountEntry {
                claim: None,
                url: Some(url),
                body,
                name,
                id,
            }) if !name.is_empty() => {
                AccountSource::at(url, None, Vec::new(), Vec::new()).map_err(of("account.url"))?;
                let source = AccountSource::at(url, body.clone(), name.clone(), id.clone());
                source.map_err(of("account"))?
            }
            Some(_) => {
                let why = "it must have either a `claim`, or a `url` and a `name`";
                return Err(Fault::of(party.name(), Some("account"), why));
            }
        };
        Ok(party.account(source))
    }

    fn with_tenant(&self, name: &str, url: &str) -> Result<String, Fault> {
        if !url.contains(TENANT) {
            return Ok(url.to_owned());
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        let is_fit = |it: &&str| it.bytes().all(is_plain) && it.bytes().any(|it| it != b'.');
        let tenant = self.tenant.as_deref().filter(is_fit);
        let tenant = tenant.ok_or_else(|| {
            let why = "its tenant must be an id, a domain, or `common`";
            Fault::of(name, Some("tenant"), why)
        })?;
        Ok(url.replace(TENANT, tenant))
    }
}

impl fmt::Debug for SecretPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretPlace(…)")
    }
}
