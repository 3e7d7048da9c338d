//! Proofs of possession for bound tokens (DPoP, RFC 9449).

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};
use url::{Position, Url};

use super::{AuthorizationError, key::SigningKey};
use crate::{Secret, entropy::entropy};

const LONGEST_NONCE: usize = 1 << 10;
/// The maximum number of servers whose nonce is remembered: a server and its issuers.
const MOST_NONCES: usize = 16;

/// The last nonce of each origin. A nonce is valid only there.
#[derive(Debug, Default)]
pub(super) struct Nonces(Mutex<HashMap<String, String>>);

impl Nonces {
    pub(super) fn get(&self, url: &Url) -> Option<String> {
        let nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.get(&url.origin().ascii_serialization()).cloned()
    }

    /// Remembers the nonce of a response. Returns whether it can be sent.
    pub(super) fn learn(&self, url: &Url, nonce: &str) -> bool {
        let is_sound = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if nonce.is_empty() || nonce.len() > LONGEST_NONCE || !nonce.bytes().all(is_sound) {
            return false;
        }
        let mut nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = url.origin().ascii_serialization();
        if nonces.len() >= MOST_NONCES && !nonces.contains_key(&origin) {
            nonces.clear();
        }
        nonces.insert(origin, nonce.to_owned());
        true
    }
}

/// A DPoP proof (RFC 9449, 4.2).
pub(super) fn prove(
    key: &SigningKey,
    method: &str,
    url: &Url,
    token: Option<&Secret>,
    nonce: Option<String>,
    now: u64,
) -> Result<Secret, AuthorizationError> {
    let no_key = || AuthorizationError::Credentials("the key makes no proofs".to_owned());
    let header = Map::from_iter([("jwk".to_owned(), key.public().ok_or_else(no_key)?)]);
    let mut claims = json!({
        "jti": unique()?,
        "htm": method,
        "htu": &url[..Position::AfterPath],
        "iat": now,
    });
    if let Some(token) = token {
        let digest = Sha256::digest(token.expose());
        claims["ath"] = URL_SAFE_NO_PAD.encode(digest).into();
    }
    if let Some(nonce) = nonce {
        claims["nonce"] = nonce.into();
    }
    key.sign("dpop+jwt", header, &claims)
}

pub(super) fn unique() -> Result<String, AuthorizationError> {
    Ok(URL_SAFE_NO_PAD.encode(entropy::<16>()?))
}
