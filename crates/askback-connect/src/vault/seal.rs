//! The seal of secrets: AES-256-GCM-SIV under a separate key for each secret.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format version, now 2 |
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
use askback_sql::Value;
use zeroize::Zeroizing;

use super::account::AccountKey;
use super::error::{VaultError, entropy};
use super::sql::{ToColumns, values};
use super::store::{IntentRow, VaultRecord};

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

const VERSION: u8 = 2;
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

/// The columns of a place, as the database has them. Each has its type before it, and a text its length, so that no two
/// places have the same encoding. Salt and nonce are bound by their use.
fn associated_data(header: &[u8; HEADER], place: Place<'_>) -> Vec<u8> {
    let (kind, columns) = match place {
        Place::Column(account, column) => {
            let column = match column {
                Column::Access => "access",
                Column::Refresh => "refresh",
                Column::ApiKey => "api key",
            };
            (1, values(&[account, &column.to_owned()]))
        }
        Place::TenantKey(tenant, id) => (2, values(&[&tenant, &id])),
        Place::Cookie(name) => (3, values(&[&name.to_owned()])),
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
            let parts: [&dyn ToColumns; 7] =
                [id, holder, provider, expires, busy_until, version, is_open];
            (4, values(&parts))
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
            sealed,
            proof: _,
            lease: _,
        }) => {
            let when: [&dyn ToColumns; 3] = [version, obtained, expires];
            let parts: [&dyn ToColumns; 6] = [account, name, state, scopes, is_api_key, sealed];
            (5, values(&[&when[..], &parts].concat()))
        }
    };
    let mut out = Vec::with_capacity(256);
    out.extend(&header[..10]);
    out.push(kind);
    for column in columns {
        let (kind, bytes) = match column {
            Value::Null => (0, Vec::new()),
            Value::Number(number) => (1, number.to_be_bytes().to_vec()),
            Value::Text(text) => (2, text.into_bytes()),
            Value::Bytes(bytes) => (3, bytes),
        };
        out.push(kind);
        out.extend((bytes.len() as u64).to_be_bytes());
        out.extend(bytes);
    }
    out
}
