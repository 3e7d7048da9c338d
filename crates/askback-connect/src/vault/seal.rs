//! The seal of secrets: AES-256-GCM-SIV under a separate key for each secret.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format version, now 1 |
//! | 1 | algorithm: 1 is AES-256-GCM-SIV with HKDF-SHA-256 |
//! | 8 | [`KeyId`] of the key that this one is derived from |
//! | 16 | salt |
//! | 12 | nonce |
//! | n | ciphertext |
//! | 16 | tag |
//!
//! The associated data are the header and the secret's [`Place`], so that it opens nowhere else.

use aes_gcm_siv::{Aes256GcmSiv, KeyInit, aead::AeadInOut};
use askback_core::ask::keys::{Key, KeyId};
use zeroize::Zeroizing;

use sha2::{Digest, Sha256};

use super::account::{AccountKey, AccountState, Holder};
use super::error::{VaultError, entropy};
use super::store::{IntentRow, SealedSecrets, VaultRecord};

/// The place of a secret. It opens only for an equal place.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Column(&'a AccountKey, Column),
    TenantKey(Option<&'a str>, KeyId),
    Cookie(&'a str),
    /// The body of an intent. It opens only with the other columns that it was written with.
    Intent(&'a IntentRow),
    /// The columns of a record, including its sealed secrets. Nothing is encrypted: the tag proves that the columns
    /// were written together.
    Record(&'a VaultRecord),
}

#[derive(Clone, Copy)]
pub(super) enum Column {
    Access,
    Refresh,
    ApiKey,
}

impl Column {
    pub(super) fn of_secret(is_api_key: bool) -> Self {
        match is_api_key {
            true => Self::ApiKey,
            false => Self::Access,
        }
    }
}

const VERSION: u8 = 1;
const ALGORITHM: u8 = 1;
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;
const HEADER: usize = 2 + 8 + SALT + NONCE;

/// Separates the vault's keys from others derived from the same secret.
const LABEL: &[u8] = b"askback vault v1";

pub(super) fn seal(key: &Key, place: Place<'_>, secret: &[u8]) -> Result<Vec<u8>, VaultError> {
    let random: [u8; SALT + NONCE] = entropy()?;
    let mut sealed = Vec::with_capacity(HEADER + secret.len() + TAG);
    sealed.extend([VERSION, ALGORITHM]);
    sealed.extend(key.id().0);
    sealed.extend(random);
    let header: [u8; HEADER] = sealed[..].try_into().expect("the header has this length");
    sealed.extend_from_slice(secret);
    let tag = cipher(key, &header)
        .encrypt_inout_detached(
            &nonce(&header).into(),
            &associated_data(&header, place),
            (&mut sealed[HEADER..]).into(),
        )
        // Larger than 64 GiB.
        .map_err(|_| VaultError::NotAuthentic)?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

pub(super) fn key_of(sealed: &[u8]) -> Option<KeyId> {
    let id = sealed.get(2..10)?;
    id.try_into().ok().map(KeyId)
}

/// Opens the output of [`seal`], with the same key and place.
pub(super) fn open(
    key: &Key,
    place: Place<'_>,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    let not_authentic = || VaultError::NotAuthentic;
    let (header, rest) = sealed
        .split_first_chunk::<HEADER>()
        .ok_or_else(not_authentic)?;
    let (ciphertext, tag) = rest.split_last_chunk::<TAG>().ok_or_else(not_authentic)?;
    if header[..2] != [VERSION, ALGORITHM] || header[2..10] != key.id().0 {
        return Err(not_authentic());
    }
    let mut secret = Zeroizing::new(ciphertext.to_vec());
    cipher(key, header)
        .decrypt_inout_detached(
            &nonce(header).into(),
            &associated_data(header, place),
            secret.as_mut_slice().into(),
            &(*tag).into(),
        )
        .map_err(|_| not_authentic())?;
    Ok(secret)
}

fn cipher(key: &Key, header: &[u8; HEADER]) -> Aes256GcmSiv {
    let mut salt = [0; SALT];
    salt.copy_from_slice(&header[10..10 + SALT]);
    Aes256GcmSiv::new(&(*key.derive(LABEL, &salt)).into())
}

fn nonce(header: &[u8; HEADER]) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    nonce.copy_from_slice(&header[HEADER - NONCE..]);
    nonce
}

/// Each text has its length before it, and each optional one a flag, so that no two places have the same encoding. Salt
/// and nonce are bound by their use.
fn associated_data(header: &[u8; HEADER], place: Place<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend(&header[..10]);
    match place {
        Place::Column(account, column) => {
            out.push(1);
            write_account(&mut out, account);
            let column = match column {
                Column::Access => "access",
                Column::Refresh => "refresh",
                Column::ApiKey => "api key",
            };
            write_text(&mut out, column);
        }
        Place::TenantKey(tenant, id) => {
            out.push(2);
            write_optional(&mut out, tenant);
            out.extend(id.0);
        }
        Place::Cookie(name) => {
            out.push(3);
            write_text(&mut out, name);
        }
        // Without `..`: a new column must be written here, or be altered unseen.
        Place::Intent(IntentRow {
            id,
            holder,
            provider,
            expires,
            busy_until,
            version,
            is_open,
            body: _,
        }) => {
            out.push(4);
            out.extend(id);
            write_holder(&mut out, holder);
            write_text(&mut out, provider);
            for number in [*expires, *busy_until, *version] {
                write_number(&mut out, number);
            }
            out.push((*is_open).into());
        }
        Place::Record(VaultRecord {
            account,
            name,
            version,
            state,
            scopes,
            obtained,
            expires,
            is_api_key,
            // The proof is under this key.
            sealed:
                SealedSecrets {
                    key: _,
                    access,
                    refresh,
                },
            proof: _,
            lease: _,
        }) => {
            out.push(5);
            write_account(&mut out, account);
            write_text(&mut out, name);
            let (state, until, failures) = match *state {
                AccountState::Active => (0, 0, 0),
                AccountState::CoolingDown { until, failures } => (1, until, failures),
                AccountState::NeedsReconnect => (2, 0, 0),
                AccountState::Replaced { until } => (3, until, 0),
                AccountState::Reconnected { until } => (4, until, 0),
                AccountState::Revoking => (5, 0, 0),
            };
            out.push(state);
            write_text(&mut out, &scopes.to_string());
            let expiry = expires.unwrap_or_default();
            for number in [*version, until, failures.into(), *obtained, expiry] {
                write_number(&mut out, number);
            }
            out.push(expires.is_some().into());
            out.push((*is_api_key).into());
            out.extend(Sha256::digest(access));
            out.push(refresh.is_some().into());
            out.extend(Sha256::digest(refresh.as_deref().unwrap_or_default()));
        }
    }
    out
}

fn write_account(out: &mut Vec<u8>, account: &AccountKey) {
    write_holder(out, &account.holder);
    write_text(out, &account.provider);
    write_text(out, &account.account);
}

fn write_holder(out: &mut Vec<u8>, holder: &Holder) {
    write_optional(out, holder.tenant.as_deref());
    write_optional(out, holder.issuer.as_deref());
    write_text(out, &holder.subject);
}

/// Databases store signed numbers, so larger numbers are read back as `i64::MAX`.
fn write_number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.min(i64::MAX as u64).to_be_bytes());
}

fn write_optional(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(text.is_some().into());
    write_text(out, text.unwrap_or_default());
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_be_bytes());
    out.extend(text.bytes());
}
