use std::{collections::BTreeMap, sync::Arc};

use askback_core::{auth::Scopes, future::BoxFuture};
use askback_oauth::{AuthorizationError, Fetcher, Secret, TokenEndpoint};

use super::error::ConnectError;
use super::third_party::{Means, ThirdParty};
use crate::vault::{
    AccountKey, Grant, RenewalError, Renewer, RevocationFailure, RevocationOutcome, Revoker,
    TokenKind,
};

/// The third parties of a server by name, and the fetcher that reaches them. It renews and revokes tokens for the
/// vault. Clones share one set.
#[derive(Debug, Clone)]
pub struct Providers {
    fetcher: Fetcher,
    parties: Arc<BTreeMap<String, ThirdParty>>,
}

impl Providers {
    /// Creates an empty set.
    #[must_use]
    pub fn new(fetcher: Fetcher) -> Self {
        Self {
            fetcher,
            parties: Arc::default(),
        }
    }

    /// Adds a third party.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Description`] if the name is taken.
    pub fn with(mut self, party: ThirdParty) -> Result<Self, ConnectError> {
        let parties = Arc::make_mut(&mut self.parties);
        let name = party.name().to_owned();
        if parties.contains_key(&name) {
            return Err(ConnectError::Description {
                provider: name,
                why: "there are two of this name: rename one".to_owned(),
            });
        }
        parties.insert(name, party);
        Ok(self)
    }

    /// Returns the third party with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ThirdParty> {
        self.parties.get(name)
    }

    /// Returns all third parties, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &ThirdParty> {
        self.parties.values()
    }

    /// Returns the fetcher.
    #[must_use]
    pub fn fetcher(&self) -> &Fetcher {
        &self.fetcher
    }

    async fn renewed(&self, provider: &str, refresh: &Secret) -> Result<Grant, RenewalError> {
        const FAILED: RenewalError = RenewalError::Failed { retry_after: None };
        let Some(party) = self.get(provider) else {
            tracing::warn!(
                provider,
                "an account is kept of a provider that is not there"
            );
            return Err(FAILED);
        };
        let Means::OAuth(oauth) = &party.inner.means else {
            return Err(FAILED);
        };
        let renewed = async {
            let endpoint = TokenEndpoint::new(&self.fetcher, &oauth.provider, &oauth.client)?;
            endpoint.refresh(refresh).await
        };
        match renewed.await {
            Ok(tokens) => Ok(tokens.into()),
            Err(AuthorizationError::Refused { code, .. }) if party.refuses(&code) => {
                Err(RenewalError::Refused)
            }
            Err(error) => {
                tracing::warn!(provider, %error, "a token could not be renewed");
                let retry_after = match error {
                    AuthorizationError::Busy { retry_after, .. } => retry_after,
                    _ => None,
                };
                Err(RenewalError::Failed { retry_after })
            }
        }
    }

    async fn revoked(
        &self,
        provider: &str,
        token: &Secret,
        kind: TokenKind,
    ) -> Result<RevocationOutcome, RevocationFailure> {
        let Some(party) = self.get(provider) else {
            tracing::warn!(
                provider,
                "a token is to be revoked at a provider that is not there"
            );
            return Err(RevocationFailure);
        };
        let Means::OAuth(oauth) = &party.inner.means else {
            return Ok(RevocationOutcome::NotTaken);
        };
        let revocation = &party.inner.revocation;
        let revoked = revocation.revoke(&self.fetcher, &oauth.provider, &oauth.client, token, kind);
        revoked.await.map_err(|error| {
            tracing::warn!(provider, %error, "a token could not be revoked");
            RevocationFailure
        })
    }
}

impl ThirdParty {
    fn refuses(&self, code: &str) -> bool {
        code == "invalid_grant" || self.inner.refusals.iter().any(|it| it == code)
    }
}

impl Renewer for Providers {
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        Box::pin(self.renewed(&account.provider, refresh))
    }

    fn scopes_left(&self, provider: &str, before: &Scopes, answered: &Scopes) -> Scopes {
        match self.get(provider) {
            Some(party) => party.inner.rules.left(before, answered),
            None => answered.clone(),
        }
    }
}

impl Revoker for Providers {
    fn revoke<'a>(
        &'a self,
        account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<RevocationOutcome, RevocationFailure>> {
        Box::pin(self.revoked(&account.provider, token, kind))
    }

    fn names_accounts(&self, provider: &str) -> bool {
        let party = self.get(provider);
        party.is_none_or(ThirdParty::names_accounts)
    }

    fn revokes_singly(&self, provider: &str) -> bool {
        let party = self.get(provider);
        party.is_some_and(|party| party.inner.revokes_singly)
    }
}
