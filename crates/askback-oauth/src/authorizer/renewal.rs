use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{Authorizer, Pass};
use crate::{
    AuthorizationError, KeyLock,
    identity::{Client, Origin, RegisteredClient},
    key::SigningKey,
    records::{self, Grant},
    store::{locked, not_kept},
    token::{WHAT, granted, refresh},
};

/// Tokens are renewed this many seconds before they expire. The vault of `askback-connect` has its own margin in its
/// settings.
const MARGIN: u64 = 60;
/// After a failed early renewal, the pause before the next attempt, in seconds.
const PAUSE: u64 = 30;

pub(super) enum RenewalOutcome {
    Tokens(Arc<Pass>),
    /// The issuer does not renew the tokens: the user has to sign in again.
    Ended,
    /// The user signed out meanwhile. The tokens must not be used or stored again.
    SignedOut,
}

impl Pass {
    /// Creates credentials in use from `now` on. Renewal is due `MARGIN` before they expire, but
    /// not before half of the remaining time has passed.
    fn new(grant: Grant, now: u64, is_kept: bool) -> Result<Self, AuthorizationError> {
        let key = grant.key.as_ref().map(SigningKey::from_text).transpose()?;
        let end = grant.expires_at.filter(|_| grant.refresh_token.is_some());
        let renew_at = end.map(|end| end - MARGIN.min(end.saturating_sub(now) / 2).min(end));
        Ok(Self {
            grant,
            key,
            sign_in: Arc::default(),
            is_kept,
            renew_at: AtomicU64::new(renew_at.unwrap_or(NEVER)),
        })
    }
}

const NEVER: u64 = u64::MAX;

impl Authorizer {
    /// Renews the tokens. Holds the lock of the stored tokens from reading them to writing them.
    pub(super) async fn refresh(&self, pass: &Pass) -> Result<RenewalOutcome, AuthorizationError> {
        let grant = &pass.grant;
        // Tokens that could not be stored are not shared, so they need no lock.
        let _lock = match pass.is_kept {
            true => {
                let lock = self.lock().await?;
                // Another process may have renewed them: a refresh token must not be used twice.
                match self.load().await? {
                    Some(kept) if kept.grant.access_token != grant.access_token => {
                        return Ok(RenewalOutcome::Tokens(kept));
                    }
                    Some(_) => {}
                    None => {
                        self.set(None);
                        return Ok(RenewalOutcome::SignedOut);
                    }
                }
                Some(lock)
            }
            false => None,
        };
        let endpoint = self.fetcher.url(&grant.token_endpoint);
        let (Some(endpoint), Some(client)) = (endpoint, self.client(grant)) else {
            return Ok(RenewalOutcome::Ended);
        };
        let is_kept = client.origin == Origin::Kept;
        let Some(request) = refresh(grant, endpoint, client) else {
            return Ok(RenewalOutcome::Ended);
        };
        let key = pass.key.as_ref();
        let answer = self.ask(&self.fetcher, WHAT, &request, key).await?;
        let granted = match granted(answer, key.is_some(), self.now()) {
            Ok(granted) => granted,
            Err(AuthorizationError::Refused { code, .. }) => {
                tracing::debug!(code, "a token was not renewed");
                if is_kept && code == "invalid_client" {
                    self.forget_client(&grant.issuer, &grant.client.id).await?;
                }
                return Ok(RenewalOutcome::Ended);
            }
            Err(error) => return Err(error),
        };
        let next = Grant {
            access_token: granted.access_token,
            // A refresh token that is not replaced stays valid.
            refresh_token: granted.refresh_token.or(grant.refresh_token.clone()),
            expires_at: granted.expires_at,
            granted: granted.scopes.or(grant.granted.clone()),
            ..grant.clone()
        };
        self.keep(next, Some(pass))
            .await
            .map(RenewalOutcome::Tokens)
    }

    /// Renews tokens before they expire. If that fails, the old ones are used until the server
    /// rejects them, and the next attempt waits. Returns `None` if the user signed out.
    pub(super) async fn renew_ahead(&self, pass: Arc<Pass>) -> Option<Arc<Pass>> {
        let next = match self.refresh(&pass).await {
            Ok(RenewalOutcome::Tokens(renewed)) => return Some(renewed),
            Ok(RenewalOutcome::SignedOut) => return None,
            Ok(RenewalOutcome::Ended) => NEVER,
            Err(error) => {
                tracing::debug!(%error, "a token was not renewed ahead of its end");
                self.now() + PAUSE
            }
        };
        pass.renew_at.store(next, Ordering::Relaxed);
        Some(pass)
    }

    pub(super) async fn lock(&self) -> Result<KeyLock, AuthorizationError> {
        let (store, most) = self.store();
        locked(store, &self.key(), most).await
    }

    /// Stores the tokens of a new authorization and uses them from now on.
    pub(super) async fn take(&self, grant: Grant) -> Result<Arc<Pass>, AuthorizationError> {
        // The lock keeps a concurrent renewal from overwriting these tokens. If the lock is not
        // released in time, store them anyway: the user has just signed in for them.
        let _lock = self.lock().await;
        self.keep(grant, None).await
    }

    /// Stores tokens, whose lock is held, and then uses them. `renewed` are the tokens they
    /// replace, if any.
    async fn keep(
        &self,
        grant: Grant,
        renewed: Option<&Pass>,
    ) -> Result<Arc<Pass>, AuthorizationError> {
        let record = records::write(&grant)?;
        let saved = self.config.store.save(&self.key(), &record).await;
        if let Err(error) = &saved {
            tracing::warn!(%error, "tokens are not kept; the next start will need another sign-in");
        }
        let mut pass = Pass::new(grant, self.now(), saved.is_ok())?;
        if let Some(before) = renewed.filter(|it| it.grant.granted == pass.grant.granted) {
            pass.sign_in = Arc::clone(&before.sign_in);
        }
        let pass = Arc::new(pass);
        self.set(Some(Arc::clone(&pass)));
        Ok(pass)
    }

    pub(super) async fn load(&self) -> Result<Option<Arc<Pass>>, AuthorizationError> {
        let kept = self
            .config
            .store
            .load(&self.key())
            .await
            .map_err(not_kept)?;
        let grant = kept.and_then(|kept| records::read::<Grant>(&kept).ok());
        // Ignore tokens stored for another server.
        let Some(grant) = grant.filter(|grant| grant.server == self.server.as_str()) else {
            return Ok(None);
        };
        let known = self.current().flatten();
        if let Some(known) = known.filter(|it| it.grant.access_token == grant.access_token) {
            return Ok(Some(known));
        }
        let pass = Arc::new(Pass::new(grant, self.now(), true)?);
        self.set(Some(Arc::clone(&pass)));
        Ok(Some(pass))
    }

    pub(super) fn client(&self, grant: &Grant) -> Option<Client> {
        if !grant.by_hand {
            return Some(grant.client.client(Origin::Kept));
        }
        let mut clients = self.config.clients.iter();
        let is_it = |client: &&RegisteredClient| {
            let mut issuer = client.issuer.iter();
            client.id == grant.client.id && issuer.all(|issuer| *issuer == grant.issuer)
        };
        let client = clients.find(is_it)?;
        let mut client = Client::by_hand(client, None);
        client.method = grant.client.method;
        Some(client)
    }

    pub(super) fn is_ending(&self, pass: &Pass) -> bool {
        self.now() >= pass.renew_at.load(Ordering::Relaxed)
    }
}
