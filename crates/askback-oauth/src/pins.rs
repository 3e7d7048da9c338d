//! Records which issuer a hand-registered client belongs to. The record outlives tokens and
//! processes, because an issuer that a server names later must never see the client's credentials.

use std::time::Duration;

use super::{
    AuthorizationError, CredentialKey, CredentialStore,
    store::{locked, not_kept},
};
use crate::Secret;

/// The issuer a client belongs to, if it was used.
pub(super) async fn issuer(
    store: &dyn CredentialStore,
    id: &str,
) -> Result<Option<String>, AuthorizationError> {
    let kept = store.load(&CredentialKey::Issuer(id.to_owned())).await;
    let kept = kept.map_err(not_kept)?;
    Ok(kept.map(|kept| kept.expose().to_owned()))
}

/// Binds a client to an issuer before the issuer sees its credentials. Only the host (`is_told`)
/// may replace an earlier issuer. The record is locked from reading to writing, because several
/// servers may use the same new client at once. Waits at most `most` for the lock.
pub(super) async fn pin(
    store: &dyn CredentialStore,
    most: Duration,
    id: &str,
    wanted: &str,
    is_told: bool,
) -> Result<(), AuthorizationError> {
    let key = CredentialKey::Issuer(id.to_owned());
    let _lock = locked(store, &key, most).await?;
    match issuer(store, id).await? {
        Some(known) if known == wanted => Ok(()),
        Some(registered) if !is_told => Err(AuthorizationError::NotRegisteredThere {
            registered,
            wanted: wanted.to_owned(),
        }),
        _ => {
            let saved = store.save(&key, &Secret::new(wanted)).await;
            saved.map_err(not_kept)
        }
    }
}
