//! Keys that sign: for a client that shows who it is, and for proofs that a token is its own.
//!
//! A key is read once and signs many times: each request with a token that is bound to a key has a
//! proof of its own. The signers of `jsonwebtoken` read the key anew for each signature, and cannot
//! be kept in what is shared between threads, so that what is signed is put together here.

use std::fmt;

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
    },
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
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
    /// Which of its keys it is, for whoever checks a signature.
    id: Option<String>,
}

/// How a key signs (RFC 7518, 3.1; RFC 8037).
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
    /// The name in the header of a token.
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

    /// The algorithm of this name.
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
    /// Reads a private key as files hold it: PKCS #8 (`PRIVATE KEY`), or the older forms of their
    /// own for elliptic curves and RSA. The first private key counts; one that is locked with a
    /// password is not read.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Credentials`] if it is no key for this algorithm.
    pub fn from_pem(pem: &Secret, algorithm: Algorithm) -> Result<Self, AuthorizationError> {
        let not_read = || {
            let why = format!("it is no private key for {}, as PEM", algorithm.name());
            AuthorizationError::Credentials(why)
        };
        let der = PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).map(Zeroizing::new);
        let der = der.map_err(|_| not_read())?;
        let ecdsa = |algorithm| {
            EcdsaKeyPair::from_private_key_der(algorithm, der.secret_der()).map(Pair::Ecdsa)
        };
        let pair = match (algorithm, &*der) {
            (Algorithm::Es256, PrivateKeyDer::Pkcs8(_) | PrivateKeyDer::Sec1(_)) => {
                ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING)
            }
            (Algorithm::Es384, PrivateKeyDer::Pkcs8(_) | PrivateKeyDer::Sec1(_)) => {
                ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING)
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

    /// Names the key, so that it is found among others (`kid`).
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// A new key of P-256, and itself as text that [`SigningKey::from_text`] reads.
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
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der);
        Ok(Self {
            pair: Pair::Ecdsa(pair.map_err(|_| failed())?),
            algorithm: Algorithm::Es256,
            id: None,
        })
    }

    /// The public half as a JSON Web Key, for a key of P-256.
    pub(super) fn public(&self) -> Option<Value> {
        let Pair::Ecdsa(pair) = &self.pair else {
            return None;
        };
        // An uncompressed point: a 4, and two halves.
        let point = pair.public_key().as_ref();
        let (x, y) = point.get(1..)?.split_at_checked(32)?;
        let encode = |half: &[u8]| URL_SAFE_NO_PAD.encode(half);
        (self.algorithm == Algorithm::Es256)
            .then(|| json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)}))
    }

    /// A signed token of this type that claims this.
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

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, aws_lc_rs::error::Unspecified> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa(pair) => Ok(pair.sign(&random, message)?.as_ref().to_vec()),
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let padding: &'static dyn RsaEncoding = match self.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, message, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::{AsDer as _, EcPrivateKeyRfc5915Der};

    use super::*;

    #[test]
    fn keys_are_read_as_files_hold_them() {
        let (_, text) = SigningKey::generate().expect("a key");
        let block = |label: &str, body: &str| {
            format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
        };
        let pkcs8 = block("PRIVATE KEY", text.expose());
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let sec1: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().expect("it is written");
        let sec1 = STANDARD.encode(sec1.as_ref());
        let sec1 = block("EC PRIVATE KEY", &sec1);
        // As `openssl ecparam -genkey` writes it: the curve goes before the key.
        let with_curve = block("EC PARAMETERS", "BggqhkjOPQMBBw==") + &sec1;
        for (pem, algorithm, is_read) in [
            (pkcs8.as_str(), Algorithm::Es256, true),
            (&sec1, Algorithm::Es256, true),
            (&with_curve, Algorithm::Es256, true),
            (&pkcs8, Algorithm::Es384, false),
            (&pkcs8, Algorithm::Rs256, false),
            (&pkcs8, Algorithm::EdDsa, false),
            (&sec1, Algorithm::Ps256, false),
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
