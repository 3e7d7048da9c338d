//! The keys of an issuer (RFC 7517).

use askback_core::json;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, EcdsaVerificationAlgorithm,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::SigningAlgorithm;
use crate::authorization::server::fetch::UnusableUrl;

const KEYS: usize = 64;

/// The keys cannot be used, and the operator has to correct the configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadKeys {
    /// A URL cannot be used.
    #[error(transparent)]
    Url(UnusableUrl),
    /// The text is not a JSON Web Key Set.
    #[error("the keys are not a JSON Web Key Set: {0}")]
    Unreadable(String),
    /// The set has no signing key for a supported algorithm.
    #[error("none of them can sign a token")]
    None,
    /// This machine cannot make requests.
    #[error(transparent)]
    Requests(#[from] std::io::Error),
}

#[derive(Debug)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug)]
pub(crate) struct Key {
    id: Option<String>,
    algorithms: Vec<SigningAlgorithm>,
    public: PublicKey,
}

/// A key of an issuer in JSON (RFC 7517, 4; RFC 7518, 6).
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    usage: Option<String>,
    #[serde(default, deserialize_with = "json::optional_texts")]
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

#[derive(Debug)]
enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of the curve.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Parses a set. Keys for other purposes are skipped.
    pub(super) fn parse(json: &[u8]) -> Result<Self, BadKeys> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set = json::parse(json).and_then(json::document::<Set>);
        let set = set.map_err(BadKeys::Unreadable)?;
        let keys: Vec<Key> = set
            .keys
            .into_iter()
            .filter_map(Key::of)
            .take(KEYS)
            .collect();
        if keys.is_empty() {
            return Err(BadKeys::None);
        }
        Ok(Self(keys))
    }

    /// Returns the keys that may have signed a token: those with the token's key id or, if it has none, the only key.
    pub(super) fn find<'a>(
        &'a self,
        id: Option<&'a str>,
        algorithm: SigningAlgorithm,
    ) -> impl Iterator<Item = &'a Key> {
        let only = self.0.len() == 1;
        self.0.iter().filter(move |key| {
            let named = match id {
                Some(id) => key.id.as_deref() == Some(id),
                None => only,
            };
            named && key.is_for(algorithm)
        })
    }
}

impl Key {
    pub(crate) fn of(json: Value) -> Option<Self> {
        let jwk: Jwk = json::document(json).ok()?;
        let signs = jwk.usage.as_deref().is_none_or(|usage| usage == "sig");
        let operations = jwk.key_ops.as_deref();
        let verifies = operations.is_none_or(|all| all.iter().any(|one| one == "verify"));
        if !signs || !verifies {
            return None;
        }
        let public = PublicKey::of(&jwk)?;
        let mut algorithms = public.algorithms().to_vec();
        if let Some(only) = &jwk.alg {
            let only = SigningAlgorithm::named(only)?;
            algorithms.retain(|algorithm| *algorithm == only);
        }
        if algorithms.is_empty() {
            return None;
        }
        Some(Self {
            id: jwk.kid,
            algorithms,
            public,
        })
    }

    pub(crate) fn is_for(&self, algorithm: SigningAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    pub(super) fn has_signed(
        &self,
        message: &[u8],
        signature: &[u8],
        algorithm: SigningAlgorithm,
    ) -> bool {
        self.is_for(algorithm) && self.public.has_signed(message, signature, algorithm)
    }
}

impl PublicKey {
    fn of(jwk: &Jwk) -> Option<Self> {
        let member = |member: &Option<String>| URL_SAFE_NO_PAD.decode(member.as_ref()?).ok();
        // Coordinates have their full length (RFC 7518, 6.2.1.2).
        let point = |size: usize| {
            let (x, y) = (member(&jwk.x)?, member(&jwk.y)?);
            let whole = x.len() == size && y.len() == size;
            whole.then(|| [&[4][..], &x, &y].concat())
        };
        match (&*jwk.kty, jwk.crv.as_deref()) {
            ("RSA", _) => Some(Self::Rsa {
                modulus: without_zeros(member(&jwk.n)?),
                exponent: without_zeros(member(&jwk.e)?),
            }),
            ("EC", Some("P-256")) => point(32).map(Self::P256),
            ("EC", Some("P-384")) => point(48).map(Self::P384),
            ("OKP", Some("Ed25519")) => member(&jwk.x).map(Self::Ed25519),
            // For example symmetric keys, which an issuer does not publish.
            _ => None,
        }
    }

    fn algorithms(&self) -> &'static [SigningAlgorithm] {
        use SigningAlgorithm as Known;
        match self {
            Self::Rsa { .. } => &[
                Known::RS256,
                Known::RS384,
                Known::RS512,
                Known::PS256,
                Known::PS384,
                Known::PS512,
            ],
            Self::P256(_) => &[Known::ES256],
            Self::P384(_) => &[Known::ES384],
            Self::Ed25519(_) => &[Known::EdDSA],
        }
    }

    fn has_signed(&self, message: &[u8], signature: &[u8], algorithm: SigningAlgorithm) -> bool {
        let ecdsa = |by: &'static EcdsaVerificationAlgorithm, point: &Vec<u8>| {
            UnparsedPublicKey::new(by, point).verify(message, signature)
        };
        let verified = match self {
            Self::Rsa { modulus, exponent } => {
                let Some(by) = rsa(algorithm) else {
                    return false;
                };
                let (n, e) = (modulus, exponent);
                RsaPublicKeyComponents { n, e }.verify(by, message, signature)
            }
            Self::P256(point) => ecdsa(&ECDSA_P256_SHA256_FIXED, point),
            Self::P384(point) => ecdsa(&ECDSA_P384_SHA384_FIXED, point),
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

/// Returns the parameters to check RSA signatures; `None` for other algorithms.
fn rsa(algorithm: SigningAlgorithm) -> Option<&'static RsaParameters> {
    use SigningAlgorithm as Known;
    match algorithm {
        Known::RS256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        Known::RS384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        Known::RS512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        Known::PS256 => Some(&RSA_PSS_2048_8192_SHA256),
        Known::PS384 => Some(&RSA_PSS_2048_8192_SHA384),
        Known::PS512 => Some(&RSA_PSS_2048_8192_SHA512),
        Known::ES256 | Known::ES384 | Known::EdDSA => None,
    }
}

/// Removes the leading zeros that some issuers write.
fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}
