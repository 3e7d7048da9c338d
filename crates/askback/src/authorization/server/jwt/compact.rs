//! Signed tokens in compact serialization (RFC 7515, 3.1).

use askback_core::json;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use super::{Claims, Key, SigningAlgorithm};
use crate::authorization::server::access::{TokenError, invalid};

/// The header members that are read (RFC 7515, 4.1).
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    alg: String,
    pub(crate) typ: Option<String>,
    pub(crate) kid: Option<String>,
    /// A key in the header. It is not trusted, and only read from proofs.
    pub(crate) jwk: Option<Value>,
    /// Whether `crit` is present with any value: an empty list or null still counts.
    #[serde(default, rename = "crit", deserialize_with = "is_there")]
    has_crit: bool,
}

/// A token split into its three parts, not yet verified.
#[derive(Debug)]
pub(crate) struct Compact<'a> {
    pub(crate) header: Header,
    signed: &'a str,
    claims: &'a str,
    signature: Vec<u8>,
}

impl Header {
    pub(crate) fn algorithm(&self) -> Option<SigningAlgorithm> {
        SigningAlgorithm::named(&self.alg)
    }

    /// Returns the algorithm if it is one of these and the header requires nothing else.
    pub(super) fn accepted(
        &self,
        algorithms: &[SigningAlgorithm],
    ) -> Result<SigningAlgorithm, TokenError> {
        let algorithm = self
            .algorithm()
            .filter(|algorithm| algorithms.contains(algorithm))
            .ok_or_else(|| invalid("it is signed by an algorithm that is not accepted"))?;
        if self.has_extensions() {
            return Err(invalid("it has unknown critical extensions (`crit`)"));
        }
        Ok(algorithm)
    }

    /// No extensions are supported.
    pub(crate) fn has_extensions(&self) -> bool {
        self.has_crit
    }
}

impl<'a> Compact<'a> {
    pub(crate) fn parse(token: &'a str) -> Result<Self, TokenError> {
        let unreadable = || invalid("it is not a signed token");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(unreadable)?;
        let (header, claims) = signed.split_once('.').ok_or_else(unreadable)?;
        let signature = URL_SAFE_NO_PAD.decode(signature);
        Ok(Self {
            header: decoded(header).ok_or_else(unreadable)?,
            signed,
            claims,
            signature: signature.map_err(|_| unreadable())?,
        })
    }

    pub(crate) fn verify(
        &self,
        key: &Key,
        algorithm: SigningAlgorithm,
    ) -> Result<Claims, TokenError> {
        if !key.has_signed(self.signed.as_bytes(), &self.signature, algorithm) {
            return Err(invalid("its signature does not fit"));
        }
        decoded(self.claims)
            .and_then(|claims| json::document(claims).ok())
            .ok_or_else(|| invalid("its claims cannot be read"))
    }
}

/// Whether a member is present. `Option` is not enough, because null also counts as present.
fn is_there<'de, D: Deserializer<'de>>(member: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(member).map(|_| true)
}

/// Decodes the JSON of a token part. A dot is not in the alphabet, so it is an error.
fn decoded<T: DeserializeOwned>(part: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}
