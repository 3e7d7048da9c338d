//! Signed tokens in their compact form (RFC 7515, 3.1).

use askback_core::json;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use super::{Claims, Key, SigningAlgorithm};
use crate::authorization::server::access::TokenError;

/// The members of a header that are read (RFC 7515, 4.1).
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    alg: String,
    pub(crate) typ: Option<String>,
    pub(crate) kid: Option<String>,
    /// A key that it brings along: no reason to trust it, and read of proofs alone.
    pub(crate) jwk: Option<Value>,
    /// Whether it is there, whatever it holds: an empty list or null are no reason to overlook it.
    #[serde(default, rename = "crit", deserialize_with = "is_there")]
    has_crit: bool,
}

/// A token in its three parts. Nothing of it is to be believed yet.
#[derive(Debug)]
pub(crate) struct Compact<'a> {
    pub(crate) header: Header,
    /// The text that is signed: the header and the claims, as they came.
    signed: &'a str,
    claims: &'a str,
    signature: Vec<u8>,
}

impl Header {
    /// The algorithm, if it is one with a public key.
    pub(crate) fn algorithm(&self) -> Option<SigningAlgorithm> {
        SigningAlgorithm::named(&self.alg)
    }

    /// The algorithm, if it is one of these and the header wants nothing else.
    pub(super) fn accepted(
        &self,
        algorithms: &[SigningAlgorithm],
    ) -> Result<SigningAlgorithm, TokenError> {
        let algorithm = self
            .algorithm()
            .filter(|algorithm| algorithms.contains(algorithm))
            .ok_or_else(|| invalid("it is signed by an algorithm that is not accepted"))?;
        if self.has_extensions() {
            return Err(invalid(
                "it wants extensions understood that are not (`crit`)",
            ));
        }
        Ok(algorithm)
    }

    /// Whether it wants extensions understood (`crit`): none is.
    pub(crate) fn has_extensions(&self) -> bool {
        self.has_crit
    }
}

impl<'a> Compact<'a> {
    pub(crate) fn parse(token: &'a str) -> Result<Self, TokenError> {
        let unreadable = || invalid("it is no signed token");
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

    /// The claims, once this key is found to have signed them.
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

/// Whether a member is there, for which a default of none is not enough: null is a value, too.
fn is_there<'de, D: Deserializer<'de>>(member: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(member).map(|_| true)
}

/// The JSON in a part of a token. A dot in it is no letter of the alphabet.
fn decoded<T: DeserializeOwned>(part: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn invalid(why: &str) -> TokenError {
    TokenError::Invalid(why.to_owned())
}
