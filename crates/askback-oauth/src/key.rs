//! Keys for client authentication and for proofs of possession.
//!
//! A key is parsed once and signs many times: each request with a bound token carries a new proof.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    error::KeyRejected,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
    },
};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject as _};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::AuthorizationError;
use crate::Secret;

/// A private key that signs JSON Web Tokens. It is never printed.
pub struct SigningKey {
    pair: Pair,
    algorithm: Algorithm,
    id: Option<String>,
}

/// The algorithm of a signing key (RFC 7518, 3.1; RFC 8037).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA with P-256.
    Es256,
    /// ECDSA with P-384.
    Es384,
    /// RSA with PKCS #1 v1.5.
    Rs256,
    /// RSA with PSS.
    Ps256,
    /// Ed25519.
    EdDsa,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed25519(Ed25519KeyPair),
}

impl Algorithm {
    /// Returns the `alg` header value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Returns the algorithm with this `alg` value.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Es256,
            Self::Es384,
            Self::Rs256,
            Self::Ps256,
            Self::EdDsa,
        ];
        all.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

impl SigningKey {
    /// Reads the first private key in a PEM file: PKCS #8 (`PRIVATE KEY`), or the older format for RSA.
    /// `openssl pkcs8 -topk8 -nocrypt` converts an older key for elliptic curves (`EC PRIVATE KEY`).
    ///
    /// Rejects encrypted keys, elliptic curve keys without the public half, and RSA keys of less
    /// than 2048 or more than 4096 bits.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Credentials`] if the file has no key for this algorithm.
    pub fn from_pem(pem: &Secret, algorithm: Algorithm) -> Result<Self, AuthorizationError> {
        let not_read = || {
            let why = format!("it is not a PEM private key for {}", algorithm.name());
            AuthorizationError::Credentials(why)
        };
        let der = PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).map(Zeroizing::new);
        let der = der.map_err(|_| not_read())?;
        let pair = match (algorithm, &*der) {
            (Algorithm::Es256 | Algorithm::Es384, PrivateKeyDer::Pkcs8(key)) => {
                ecdsa(algorithm, key.secret_pkcs8_der())
            }
            (_, PrivateKeyDer::Sec1(_)) => {
                return Err(AuthorizationError::Credentials(
                    "expected a key in PKCS #8, found an older EC PRIVATE KEY: convert it with \
                     `openssl pkcs8 -topk8 -nocrypt`"
                        .to_owned(),
                ));
            }
            (Algorithm::Rs256 | Algorithm::Ps256, PrivateKeyDer::Pkcs8(key)) => {
                RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).map(|pair| Pair::Rsa(Box::new(pair)))
            }
            (Algorithm::Rs256 | Algorithm::Ps256, PrivateKeyDer::Pkcs1(key)) => {
                RsaKeyPair::from_der(key.secret_pkcs1_der()).map(|pair| Pair::Rsa(Box::new(pair)))
            }
            (Algorithm::EdDsa, PrivateKeyDer::Pkcs8(key)) => {
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der())
                    .map(Pair::Ed25519)
            }
            _ => return Err(not_read()),
        };
        Ok(Self {
            pair: pair.map_err(|_| not_read())?,
            algorithm,
            id: None,
        })
    }

    /// Sets the key id (`kid`).
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Generates a P-256 key. Also returns it as text for [`SigningKey::from_text`].
    pub(super) fn generate() -> Result<(Self, Secret), AuthorizationError> {
        let failed = |_| AuthorizationError::Credentials("no key can be made".to_owned());
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(failed)?;
        let text = Secret::new(STANDARD.encode(document.as_ref()));
        let key = Self::from_text(&text)?;
        Ok((key, text))
    }

    pub(super) fn from_text(text: &Secret) -> Result<Self, AuthorizationError> {
        let failed = || AuthorizationError::Store("a key among them cannot be read".to_owned());
        let der = STANDARD.decode(text.expose()).map(Zeroizing::new);
        let der = der.map_err(|_| failed())?;
        Ok(Self {
            pair: ecdsa(Algorithm::Es256, &der).map_err(|_| failed())?,
            algorithm: Algorithm::Es256,
            id: None,
        })
    }

    pub(super) fn public(&self) -> Option<Value> {
        let Pair::Ecdsa(pair) = &self.pair else {
            return None;
        };
        // An uncompressed point: the byte 4, then both coordinates.
        let point = pair.public_key().as_ref();
        let (x, y) = point.get(1..)?.split_at_checked(32)?;
        let encode = |half: &[u8]| URL_SAFE_NO_PAD.encode(half);
        (self.algorithm == Algorithm::Es256)
            .then(|| json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)}))
    }

    pub(super) fn sign(
        &self,
        kind: &str,
        more: Map<String, Value>,
        claims: &Value,
    ) -> Result<Secret, AuthorizationError> {
        let mut header = Map::from_iter([
            ("typ".to_owned(), kind.into()),
            ("alg".to_owned(), self.algorithm.name().into()),
        ]);
        header.extend(self.id.clone().map(|id| ("kid".to_owned(), id.into())));
        header.extend(more);
        let header = Value::Object(header).to_string();
        let mut token = URL_SAFE_NO_PAD.encode(header);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims.to_string(), &mut token);
        let signature = self.signature(token.as_bytes()).map_err(|_| {
            let why = "the key does not sign".to_owned();
            AuthorizationError::Credentials(why)
        })?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(Secret::new(token))
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, ring::error::Unspecified> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa(pair) => Ok(pair.sign(&random, message)?.as_ref().to_vec()),
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let padding: &'static dyn RsaEncoding = match self.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

fn ecdsa(algorithm: Algorithm, pkcs8: &[u8]) -> Result<Pair, KeyRejected> {
    let algorithm = match algorithm {
        Algorithm::Es384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
        _ => &ECDSA_P256_SHA256_FIXED_SIGNING,
    };
    EcdsaKeyPair::from_pkcs8(algorithm, pkcs8, &SystemRandom::new()).map(Pair::Ecdsa)
}

askback_core::debug_only!(SigningKey { algorithm, id });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_files_hold_them() {
        let (_, text) = SigningKey::generate().expect("a key");
        let block = |label: &str, body: &str| {
            format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
        };
        let pkcs8 = block("PRIVATE KEY", text.expose());
        let sec1 = block("EC PRIVATE KEY", text.expose());
        for (pem, algorithm, is_read) in [
            (pkcs8.as_str(), Algorithm::Es256, true),
            (&sec1, Algorithm::Es256, false),
            (&pkcs8, Algorithm::Es384, false),
            (&pkcs8, Algorithm::Rs256, false),
            (&pkcs8, Algorithm::EdDsa, false),
            (
                &block("ENCRYPTED PRIVATE KEY", text.expose()),
                Algorithm::Es256,
                false,
            ),
            (&block("PUBLIC KEY", text.expose()), Algorithm::Es256, false),
            (text.expose(), Algorithm::Es256, false),
            ("", Algorithm::Es256, false),
        ] {
            let key = SigningKey::from_pem(&Secret::new(pem), algorithm);
            assert_eq!(key.is_ok(), is_read, "{algorithm:?} {pem}");
        }
    }
}
