//! Proofs of possession of a token's key (RFC 9449).

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use askback_core::ask::Millis;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderName, request::Parts};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use url::Url;

use super::{
    access::{TokenError, invalid},
    jwt::{Compact, Header, Key, SigningAlgorithm},
};
use crate::{
    clock::millis,
    entropy::entropy,
    mutex::Mutex,
    store::{Claim, ClaimRequest, FlowId, Owner, Store, StoreError, owner::half},
};

const DPOP: HeaderName = HeaderName::from_static("dpop");

const TYPE: &str = "dpop+jwt";

const PROOF_BYTES: usize = 8 << 10;

/// The maximum difference between the time of a proof and this machine's clock.
const WINDOW: Duration = Duration::from_secs(60);

/// The maximum number of remembered proofs per time span. When it is reached, new proofs are not accepted.
const PROOFS: usize = 1 << 18;

/// The maximum per key, so that one client cannot use up the total.
const PROOFS_OF_KEY: usize = 1 << 14;

/// How long the server gives out a nonce. The nonce is accepted for twice that time.
const NONCE: Duration = Duration::from_secs(5 * 60);

#[derive(Clone)]
pub(super) struct Proofs {
    url: Url,
    seen: Arc<Mutex<ProofHistory>>,
    nonces: Option<Arc<Nonces>>,
    /// `None` if each process remembers its own proofs.
    shared: Option<Arc<SharedProofs>>,
}

/// Where all processes remember the proofs.
struct SharedProofs {
    store: Box<dyn Store>,
    /// When expired proofs were last removed.
    purged: AtomicU64,
}

/// The name under which a used proof is claimed. Its flow is a part of the digest of the proof.
const CLAIM: &str = "dpop-proof";

/// A proof that may be used once.
struct UsableProof {
    digest: [u8; 32],
    /// The thumbprint of its key, as a digest.
    key: Owner,
}

/// The nonces of this process, computed from a key and the time, so none are stored.
struct Nonces([u8; 32]);

/// Digests of the proofs of the last two time spans.
#[derive(Debug)]
struct ProofHistory {
    most: usize,
    most_of_key: usize,
    since: Millis,
    now: HashSet<[u8; 32]>,
    before: HashSet<[u8; 32]>,
    /// The number of proofs of each key in the current span, by thumbprint.
    of_keys: HashMap<String, usize>,
}

impl Proofs {
    pub(super) fn new(url: Url) -> Self {
        Self {
            url,
            seen: Arc::new(Mutex::new(ProofHistory::new(PROOFS, PROOFS_OF_KEY))),
            nonces: None,
            shared: None,
        }
    }

    pub(super) fn with_nonces(self) -> io::Result<Self> {
        Ok(Self {
            nonces: Some(Arc::new(Nonces(entropy()?))),
            ..self
        })
    }

    pub(super) fn with_store(self, store: impl Store + 'static) -> Self {
        Self {
            shared: Some(Arc::new(SharedProofs {
                store: Box::new(store),
                purged: AtomicU64::new(0),
            })),
            ..self
        }
    }

    pub(super) fn nonce(&self, now: Millis) -> Option<String> {
        let nonces = self.nonces.as_ref()?;
        Some(nonces.of(now / millis(NONCE)))
    }

    pub(super) fn algorithms() -> impl Iterator<Item = &'static str> {
        SigningAlgorithm::ALL
            .into_iter()
            .map(SigningAlgorithm::as_str)
    }

    /// Checks that a request proves possession of the key with this thumbprint (RFC 9449, 4.3).
    pub(super) async fn check(
        &self,
        parts: &Parts,
        token: &str,
        thumbprint: &str,
        now: Millis,
    ) -> Result<(), TokenError> {
        let checked = match self.judge(parts, token, thumbprint, now) {
            Ok(proof) => self.claim(proof, now).await,
            Err(rejected) => Err(rejected),
        };
        checked.map_err(|rejected| match rejected {
            // The error is in the proof, not in the token.
            TokenError::Invalid(why) => TokenError::Proof(why),
            other => other,
        })
    }

    /// Uses the proof for all processes that share the store.
    async fn claim(&self, proof: UsableProof, now: Millis) -> Result<(), TokenError> {
        let Some(SharedProofs { store, purged }) = self.shared.as_deref() else {
            return Ok(());
        };
        let last = purged.load(Ordering::Relaxed);
        if now.abs_diff(last) >= millis(WINDOW) {
            purged.store(now, Ordering::Relaxed);
            // On failure it is tried again after a minute.
            let _ = store.purge(now).await;
        }
        let mut flow = FlowId([0; 16]);
        flow.0.copy_from_slice(&proof.digest[..16]);
        let claim = ClaimRequest {
            owner: Some(proof.key),
            flow,
            name: CLAIM,
            value_bytes: 0,
            now,
            lease: Duration::ZERO,
            // The clock of another process may be behind by as much as the clock of a client.
            expires: now.saturating_add(4 * millis(WINDOW)),
        };
        match store.claim(claim).await {
            Ok(Claim::Granted) => Ok(()),
            Ok(Claim::Done(_) | Claim::Busy | Claim::Abandoned) => Err(used_before()),
            Err(StoreError::ShareFull) => Err(too_many_by_key()),
            // A proof that another process may have seen is not accepted.
            Err(error) => Err(TokenError::Unavailable(error.to_string())),
        }
    }

    fn judge(
        &self,
        Parts {
            method, headers, ..
        }: &Parts,
        token: &str,
        thumbprint: &str,
        now: Millis,
    ) -> Result<UsableProof, TokenError> {
        let mut proofs = headers.get_all(DPOP).iter();
        let (Some(proof), None) = (proofs.next(), proofs.next()) else {
            return Err(invalid("expected exactly one proof"));
        };
        let proof = proof
            .to_str()
            .ok()
            .filter(|proof| proof.len() <= PROOF_BYTES);
        let proof = proof.ok_or_else(|| invalid("the proof cannot be read"))?;
        let proof = Compact::parse(proof).map_err(|_| invalid("the proof cannot be read"))?;
        let (algorithm, jwk) = key_of(&proof.header)?;
        if thumbprint_of(jwk).as_deref() != Some(thumbprint) {
            return Err(invalid("the proof is by another key"));
        }
        let key = Key::of(Value::Object(jwk.clone())).filter(|key| key.is_for(algorithm));
        let key = key.ok_or_else(|| invalid("the key of the proof cannot be used"))?;
        let claims = proof.verify(&key, algorithm)?;
        if claims.text("htm")? != method.as_str() {
            return Err(invalid("the proof is for another method"));
        }
        if !self.is_here(claims.text("htu")?) {
            return Err(invalid("the proof is for another URL"));
        }
        if claims.text("ath")? != digest_of(token) {
            return Err(invalid("the proof is for another token"));
        }
        let made = claims.moment("iat")?;
        let made = made.ok_or_else(|| invalid("the proof does not say when it was made"))?;
        if made.abs_diff(now) > millis(WINDOW) {
            return Err(invalid("the proof is too old or from the future"));
        }
        if let Some(nonces) = &self.nonces
            && !claims
                .text("nonce")
                .is_ok_and(|nonce| nonces.has(nonce, now))
        {
            return Err(TokenError::Nonce);
        }
        self.remember(thumbprint, claims.text("jti")?, now)
    }

    fn is_here(&self, url: &str) -> bool {
        let Ok(mut url) = Url::parse(url) else {
            return false;
        };
        url.set_query(None);
        url.set_fragment(None);
        url == self.url
    }

    fn remember(&self, thumbprint: &str, id: &str, now: Millis) -> Result<UsableProof, TokenError> {
        let mut seen = self.seen.lock();
        let digest = seen.take(thumbprint, id, now)?;
        let key = Owner(half(Sha256::new_with_prefix(thumbprint)));
        Ok(UsableProof { digest, key })
    }
}

impl ProofHistory {
    fn new(most: usize, most_of_key: usize) -> Self {
        Self {
            most,
            most_of_key,
            since: 0,
            now: HashSet::new(),
            before: HashSet::new(),
            of_keys: HashMap::new(),
        }
    }

    /// Remembers a proof and returns its digest.
    fn take(&mut self, thumbprint: &str, id: &str, now: Millis) -> Result<[u8; 32], TokenError> {
        // Thumbprints have a fixed length, so no separator is needed.
        let digest = Sha256::new().chain_update(thumbprint).chain_update(id);
        let digest: [u8; 32] = digest.finalize().into();
        if now >= self.since.saturating_add(2 * millis(WINDOW)) {
            self.since = now;
            self.before = std::mem::take(&mut self.now);
            self.of_keys.clear();
        }
        if self.before.contains(&digest) || self.now.contains(&digest) {
            return Err(used_before());
        }
        let of_key = self.of_keys.get(thumbprint).copied().unwrap_or_default();
        if of_key >= self.most_of_key {
            return Err(too_many_by_key());
        }
        if self.now.len() >= self.most {
            let why = "there are more proofs than can be remembered";
            return Err(TokenError::Unavailable(why.to_owned()));
        }
        self.of_keys.insert(thumbprint.to_owned(), of_key + 1);
        self.now.insert(digest);
        Ok(digest)
    }
}

impl Nonces {
    fn of(&self, span: u64) -> String {
        // The inputs have a fixed length, so no separator is needed.
        let digest = Sha256::new()
            .chain_update(self.0)
            .chain_update(span.to_be_bytes());
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }

    fn has(&self, nonce: &str, now: Millis) -> bool {
        let span = now / millis(NONCE);
        [span, span.saturating_sub(1)]
            .iter()
            .any(|span| self.of(*span) == nonce)
    }
}

askback_core::debug_only!(Nonces {});

fn key_of(header: &Header) -> Result<(SigningAlgorithm, &Map<String, Value>), TokenError> {
    if header.typ.as_deref() != Some(TYPE) || header.has_extensions() {
        return Err(invalid(
            "it is not a proof (`typ`), or has unknown critical extensions (`crit`)",
        ));
    }
    let algorithm = header.algorithm();
    let algorithm = algorithm.ok_or_else(|| invalid("the proof is not signed by a public key"))?;
    match &header.jwk {
        Some(Value::Object(jwk)) if !is_private(jwk) => Ok((algorithm, jwk)),
        _ => Err(invalid("the proof brings no public key")),
    }
}

fn is_private(jwk: &Map<String, Value>) -> bool {
    let private = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
    private.iter().any(|name| jwk.contains_key(*name))
}

fn thumbprint_of(jwk: &Map<String, Value>) -> Option<String> {
    let member = |name: &str| {
        let text = jwk.get(name)?.as_str()?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        text.bytes().all(plain).then_some(text)
    };
    let kind = member("kty")?;
    // In lexicographic order.
    let names: &[&str] = match kind {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        "RSA" => &["e", "kty", "n"],
        _ => return None,
    };
    let members = names
        .iter()
        .map(|name| Some(format!(r#""{name}":"{}""#, member(name)?)));
    let members: Option<Vec<_>> = members.collect();
    Some(digest_of(&format!("{{{}}}", members?.join(","))))
}

fn digest_of(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

fn used_before() -> TokenError {
    invalid("the proof was used before")
}

fn too_many_by_key() -> TokenError {
    invalid("there are too many proofs by this key")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Millis = 1000;

    /// Checks the result of each proof, given as key, id, time in seconds and expected error.
    #[track_caller]
    fn check(seen: &mut ProofHistory, proofs: &[(&str, &str, Millis, &str)]) {
        for (key, id, at, expected) in proofs {
            let taken = seen.take(key, id, at * SECOND);
            let why = taken.err().map(|why| why.to_string()).unwrap_or_default();
            let is_expected = why.contains(expected) && why.is_empty() == expected.is_empty();
            assert!(is_expected, "{key} {id} at {at} s: {why:?}");
        }
    }

    #[test]
    fn a_proof_is_remembered_for_as_long_as_it_could_come() {
        // A proof from a clock one minute ahead is valid for two minutes.
        let mut seen = ProofHistory::new(100, 100);
        check(
            &mut seen,
            &[
                ("a", "1", 1000, ""),
                ("a", "1", 1000, "used before"),
                ("b", "1", 1000, ""),
                ("a", "1", 1119, "used before"),
                ("a", "2", 1119, ""),
                ("a", "3", 1120, ""),
                ("a", "1", 1120, "used before"),
                ("a", "2", 1239, "used before"),
                ("a", "4", 1240, ""),
                ("a", "3", 1240, "used before"),
            ],
        );
        assert_eq!(seen.now.len() + seen.before.len(), 2);
    }

    #[test]
    fn the_holder_of_one_key_does_not_use_up_what_is_for_all() {
        let mut seen = ProofHistory::new(5, 2);
        check(
            &mut seen,
            &[
                ("a", "1", 1000, ""),
                ("a", "2", 1000, ""),
                ("a", "3", 1000, "by this key"),
                ("b", "1", 1000, ""),
                ("b", "2", 1000, ""),
                ("c", "1", 1000, ""),
                ("c", "2", 1000, "than can be remembered"),
                ("a", "3", 1119, "by this key"),
                ("a", "3", 1120, ""),
                ("c", "2", 1120, ""),
            ],
        );
    }
}
