//! The keys of an issuer (RFC 7517).

use jsonwebtoken::{
    DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;

use super::SigningAlgorithm;
use crate::authorization::server::fetch::UnusableUrl;

/// The most keys of a set that are kept.
const KEYS: usize = 64;

/// Keys that cannot be had; whoever configured them is to blame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadKeys {
    /// A URL cannot be used.
    #[error(transparent)]
    Url(UnusableUrl),
    /// The set is no JSON Web Key Set.
    #[error("the keys are no JSON Web Key Set: {0}")]
    Unreadable(String),
    /// No key of the set signs tokens by an algorithm that is known here.
    #[error("there is no key among them that could sign a token")]
    None,
    /// This machine cannot make requests: the environment is broken.
    #[error(transparent)]
    Requests(#[from] std::io::Error),
}

/// The keys that sign tokens.
#[derive(Debug)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug)]
pub(crate) struct Key {
    id: Option<String>,
    /// The algorithms of the key.
    algorithms: Vec<SigningAlgorithm>,
    public: DecodingKey,
}

impl KeySet {
    /// Reads a set. Keys that are for something else are left out.
    pub(super) fn parse(json: &[u8]) -> Result<Self, BadKeys> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set =
            serde_json::from_slice(json).map_err(|why| BadKeys::Unreadable(why.to_string()))?;
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

    /// The keys that may have signed a token: those it names or, where it names none, the only one
    /// there is.
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
    /// The key written so, if it is one that signs.
    pub(crate) fn of(json: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(json).ok()?;
        let common = &jwk.common;
        let signs =
            !matches!(&common.public_key_use, Some(usage) if *usage != PublicKeyUse::Signature);
        let operations = common.key_operations.as_deref();
        let verifies = operations.is_none_or(|all| all.contains(&KeyOperations::Verify));
        if !signs || !verifies {
            return None;
        }
        let mut algorithms = algorithms(&jwk.algorithm).to_vec();
        if let Some(only) = common.key_algorithm {
            let only = SigningAlgorithm::named(&only.to_string())?;
            algorithms.retain(|algorithm| *algorithm == only);
        }
        if algorithms.is_empty() {
            return None;
        }
        Some(Self {
            id: common.key_id.clone(),
            algorithms,
            public: DecodingKey::from_jwk(&jwk).ok()?,
        })
    }

    /// Whether it may be used with this algorithm.
    pub(crate) fn is_for(&self, algorithm: SigningAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    pub(super) fn public(&self) -> &DecodingKey {
        &self.public
    }
}

/// The algorithms of a key of this kind. A shared secret is no key of an issuer.
fn algorithms(parameters: &AlgorithmParameters) -> &'static [SigningAlgorithm] {
    use SigningAlgorithm as Known;
    match parameters {
        AlgorithmParameters::RSA(_) => &[
            Known::RS256,
            Known::RS384,
            Known::RS512,
            Known::PS256,
            Known::PS384,
            Known::PS512,
        ],
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => &[Known::ES256],
            EllipticCurve::P384 => &[Known::ES384],
            _ => &[],
        },
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            &[Known::EdDSA]
        }
        _ => &[],
    }
}
