//! A third party as data: a table of a file of providers, or a preset.

use std::collections::BTreeMap;

use askback_core::auth::Scopes;
use askback_oauth::{Fetcher, Provider, RegisteredClient};
use serde::Deserialize;
use serde_json::Value;

use super::account::AccountSource;
use super::api_key::ApiKey;
use super::error::ConnectError;
use super::revocation::RevocationWay;
use super::third_party::ThirdParty;

/// The place in a URL where the name of a tenant goes.
const TENANT: &str = "{tenant}";

/// A table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Entry {
    /// The preset that this is based on.
    pub(super) preset: Option<String>,
    title: Option<String>,
    /// The page of the third party that says how it is used.
    pub(super) page: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<SecretPlace>,
    pub(super) api_key: Option<KeyEntry>,
    tenant: Option<String>,
    single_user_device_flow: bool,
    issuer: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    device_endpoint: Option<String>,
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
    /// The origins of its API.
    pub(super) api: Vec<String>,
}

/// Where a secret is. Never the secret itself, although a text could be one by mistake: so it is not printed.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum SecretPlace {
    Text(String),
    File(BTreeMap<FileKey, String>),
}

/// The one key of a table that says where a secret is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileKey {
    File,
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
#[serde(rename_all = "lowercase", tag = "by", deny_unknown_fields)]
enum RevocationEntry {
    Bearer { url: String },
    Client { url: String },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountEntry {
    claim: Option<String>,
    url: Option<String>,
    body: Option<Value>,
    #[serde(default)]
    pointers: Vec<String>,
}

impl Entry {
    /// Sets the tenant.
    pub(super) fn tenant(mut self, tenant: &str) -> Self {
        self.tenant = Some(tenant.to_owned());
        self
    }

    /// Returns the third party with an authorization server whose endpoints are all given.
    pub(super) fn party(
        &self,
        name: &str,
        client: RegisteredClient,
    ) -> Result<ThirdParty, ConnectError> {
        let lacks = |what: &str| ConnectError::Description {
            provider: name.to_owned(),
            why: format!("it has no `{what}`"),
        };
        let url = |what: &'static str, url: &Option<String>| {
            let url = url.as_deref().ok_or_else(|| lacks(what))?;
            self.with_tenant(name, url)
        };
        let mut provider = Provider::new(
            url("issuer", &self.issuer)?,
            &url("authorization_endpoint", &self.authorization_endpoint)?,
            &url("token_endpoint", &self.token_endpoint)?,
        )?;
        if let Some(device) = &self.device_endpoint {
            provider = provider.device_endpoint(&self.with_tenant(name, device)?)?;
        }
        if let Some(revocation) = &self.revocation_endpoint {
            provider = provider.revocation_endpoint(&self.with_tenant(name, revocation)?)?;
        }
        self.with_provider(name, provider, client)
    }

    /// Returns the third party whose authorization server describes itself, where no endpoints are given.
    pub(super) async fn found(
        &self,
        fetcher: &Fetcher,
        name: &str,
        client: RegisteredClient,
    ) -> Result<ThirdParty, ConnectError> {
        match (
            &self.issuer,
            &self.authorization_endpoint,
            &self.token_endpoint,
        ) {
            (Some(issuer), None, None) => {
                let issuer = self.with_tenant(name, issuer)?;
                let provider = Provider::discover(fetcher, &issuer).await?;
                self.with_provider(name, provider, client)
            }
            _ => self.party(name, client),
        }
    }

    /// Returns the third party with a page for a key.
    pub(super) fn key_party(&self, name: &str, key: &KeyEntry) -> Result<ThirdParty, ConnectError> {
        let mut api_key = ApiKey::new();
        if let Some(hint) = &key.hint {
            api_key = api_key.hint(hint);
        }
        if let Some(page) = &key.page {
            api_key = api_key.page(page)?;
        }
        if let Some(check) = &key.check {
            api_key = api_key.check(&check.url, &check.header, &check.prefix)?;
        }
        let title = self.title.as_deref().unwrap_or(name);
        let party = ThirdParty::api_key(name, title, api_key)?;
        self.with_account(party)
    }

    fn with_provider(
        &self,
        name: &str,
        mut provider: Provider,
        client: RegisteredClient,
    ) -> Result<ThirdParty, ConnectError> {
        if let Some(methods) = &self.client_methods {
            provider = provider.client_methods(methods.iter().cloned());
        }
        if self.require_issuer {
            provider = provider.require_issuer();
        }
        if self.comma_answers {
            provider = provider.comma_scopes();
        }
        if let Some(pointer) = &self.code_tokens_at {
            provider = provider.code_tokens_at(pointer);
        }
        for kind in &self.token_types {
            provider = provider.token_type(kind);
        }
        let title = self.title.as_deref().unwrap_or(name);
        let mut party = ThirdParty::oauth(name, title, provider, client)?
            .scopes(Scopes::of(&self.scopes)?)
            .unlisted_scopes(Scopes::of(&self.unlisted_scopes)?)
            .scope_parameter(
                self.scope_parameter.as_deref().unwrap_or("scope"),
                self.scope_separator.unwrap_or(' '),
            );
        if let Some(prefix) = &self.scope_prefix {
            party = party.scope_prefix(prefix);
        }
        for (scope, implied) in &self.implied_scopes {
            party = party.implied_scopes(scope, implied.iter().cloned());
        }
        for (scope, words) in &self.scope_words {
            party = party.scope_words(scope, words);
        }
        for (parameter, value) in &self.parameters {
            party = party.parameter(parameter, value);
        }
        for code in &self.refresh_refusals {
            party = party.refresh_refusal(code);
        }
        if self.revokes_singly {
            party = party.revokes_singly();
        }
        party = match &self.revocation {
            None => party,
            Some(RevocationEntry::Bearer { url }) => party.revocation(RevocationWay::bearer(url)?),
            Some(RevocationEntry::Client { url }) => {
                party.revocation(RevocationWay::by_client(url)?)
            }
        };
        if self.single_user_device_flow {
            party = party.single_user_device_flow();
        }
        self.with_account(party)
    }

    fn with_account(&self, party: ThirdParty) -> Result<ThirdParty, ConnectError> {
        let party = party.api(&self.api)?;
        let source = match &self.account {
            None => return Ok(party),
            Some(AccountEntry {
                claim: Some(claim),
                url: None,
                body: None,
                pointers,
            }) if pointers.is_empty() => AccountSource::claim(claim),
            Some(AccountEntry {
                claim: None,
                url: Some(url),
                body,
                pointers,
            }) if !pointers.is_empty() => AccountSource::at(url, body.clone(), pointers.clone())?,
            Some(_) => {
                return Err(ConnectError::Description {
                    provider: party.name().to_owned(),
                    why: "`account` has either a `claim`, or a `url` and `pointers`".to_owned(),
                });
            }
        };
        Ok(party.account(source))
    }

    fn with_tenant(&self, name: &str, url: &str) -> Result<String, ConnectError> {
        if !url.contains(TENANT) {
            return Ok(url.to_owned());
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        let is_fit = |it: &&str| it.bytes().all(is_plain) && it.bytes().any(|it| it != b'.');
        let tenant = self.tenant.as_deref().filter(is_fit);
        let tenant = tenant.ok_or_else(|| ConnectError::Description {
            provider: name.to_owned(),
            why: "it needs a `tenant`: its id or its domain, or `common`".to_owned(),
        })?;
        Ok(url.replace(TENANT, tenant))
    }
}

impl std::fmt::Debug for SecretPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretPlace(…)")
    }
}
