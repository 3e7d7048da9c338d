//! To which issuers clients belong that were registered by hand, by their ids. What is kept of it
//! outlives tokens and processes: an issuer that a server names later must not be shown what proves
//! a client to another.

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

/// Lets a client belong to an issuer, before that is shown anything of it. Only where the host said
/// so (`is_told`) it may have belonged to another. It is locked from the look to the change, since
/// servers that share a client may be new at once; that is waited for no longer than `most`.
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
