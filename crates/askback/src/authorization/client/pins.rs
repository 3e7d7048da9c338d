//! To which issuers clients belong that were registered by hand.

use tokio::sync::Mutex;

use super::{AuthorizationError, CredentialStore, Key, drive::not_kept};
use crate::authorization::Secret;

/// Where clients belong, by their ids. What is kept of it outlives tokens and processes: an issuer
/// that a server names later must not be shown what proves a client to another.
#[derive(Debug, Default)]
pub(super) struct Pins {
    /// Held from the look to the change, since servers that share a client may be new at once.
    changing: Mutex<()>,
}

impl Pins {
    /// The issuer a client belongs to, if it was used.
    pub(super) async fn of(
        store: &dyn CredentialStore,
        id: &str,
    ) -> Result<Option<String>, AuthorizationError> {
        let kept = store.load(&Key::Issuer(id.to_owned())).await;
        let kept = kept.map_err(not_kept)?;
        Ok(kept.map(|kept| kept.expose().to_owned()))
    }

    /// Lets a client belong to an issuer, before that is shown anything of it. Only where the host
    /// said so (`is_told`) it may have belonged to another.
    pub(super) async fn pin(
        &self,
        store: &dyn CredentialStore,
        id: &str,
        issuer: &str,
        is_told: bool,
    ) -> Result<(), AuthorizationError> {
        let _changing = self.changing.lock().await;
        match Self::of(store, id).await? {
            Some(known) if known == issuer => Ok(()),
            Some(registered) if !is_told => Err(AuthorizationError::NotRegisteredThere {
                registered,
                wanted: issuer.to_owned(),
            }),
            _ => {
                let key = Key::Issuer(id.to_owned());
                let saved = store.save(&key, &Secret::new(issuer)).await;
                saved.map_err(not_kept)
            }
        }
    }
}
