//! Seals a flow's state while the client carries it.
//!
//! A server of 2026-07-28 hands its state to the client and gets it back with the answers
//! (basic/patterns/mrtr, Server Requirements). Until it is opened, the returned state is untrusted
//! input. The seal is always authenticated encryption: AES-256-GCM-SIV (RFC 8452) under a key for
//! this token only, derived from the ring's key with a fresh salt. The token is bound to the
//! principal, the request and its arguments ([`Binding`]); no other request can open it.
//!
//! A token is unpadded base64url of these bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format version, now 2 |
//! | 1 | algorithm: 1 is AES-256-GCM-SIV with HKDF-SHA-256 |
//! | 8 | [`KeyId`] |
//! | 16 | salt |
//! | 12 | nonce |
//! | 256 × n | ciphertext of the state, a byte `0x80` and zeros up to the next multiple of 256 |
//! | 16 | tag |
//!
//! Nothing is compressed, because the length of compressed text reveals how much secret and chosen
//! parts have in common. The padding hides most of the length.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use aes_gcm_siv::aead::AeadInOut;
use aes_gcm_siv::{Aes256GcmSiv, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use super::keys::{Key, KeyId, KeyRing};

/// The request a sealed state belongs to. It opens only for an equal binding.
///
/// `Debug` prints neither the principal nor the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The configured name of the service, not an address: processes with the same key ring and
    /// name serve the same flows.
    pub audience: &'a str,
    pub tenant: Option<&'a str>,
    pub issuer: Option<&'a str>,
    pub subject: Option<&'a str>,
    pub client_id: Option<&'a str>,
    pub method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub target: &'a str,
    /// The digest of the arguments ([`canonical::digest`](crate::canonical::digest)), or of `{}` if
    /// the request has none.
    pub arguments: [u8; 32],
    pub revision: &'a str,
}

/// Fresh random bytes for the salt and the nonce of one token.
///
/// The caller supplies them, since the core has no source of randomness. One call of [`seal`] uses
/// them up. If they ever repeat, equal states with equal bindings give equal tokens and nothing
/// worse happens; the algorithm was chosen for this.
pub struct Entropy(pub [u8; 28]);

/// The sealed state is longer than the longest token allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sealed state would take {chars} characters and may take {max_chars}: \
     keep less in the flow, or configure a store"
)]
pub struct StateTooLong {
    pub chars: usize,
    pub max_chars: usize,
}

/// A `requestState` that cannot be accepted.
///
/// `Display` and `Debug` do not tell the cause, so that no response can reveal it to a client. The
/// JSON-RPC code is -32602.
pub struct SealError {
    cause: SealCause,
}

/// Why a `requestState` cannot be accepted. For logs, never for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealCause {
    /// Longer than any token that this server makes.
    TooLong,
    /// Not a token: another alphabet, padding, or an impossible length.
    Malformed,
    /// The format version or algorithm is unknown to this server.
    UnknownFormat,
    /// Sealed with a key that is not on the ring: retired, or from another deployment.
    UnknownKey,
    /// Altered, or presented with another request or by another principal.
    NotAuthentic,
    Expired,
    Unreadable,
}

impl fmt::Debug for Binding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding")
            .field("audience", &self.audience)
            .field("method", &self.method)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy(..)")
    }
}

impl SealError {
    /// The error for a state that opened but has expired.
    ///
    /// [`open`] has no clock; the reader of the content checks this.
    pub fn expired() -> Self {
        SealCause::Expired.into()
    }

    pub fn unreadable() -> Self {
        SealCause::Unreadable.into()
    }

    pub fn cause(&self) -> SealCause {
        self.cause
    }
}

impl From<SealCause> for SealError {
    fn from(cause: SealCause) -> Self {
        Self { cause }
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Invalid or expired requestState")
    }
}

impl fmt::Debug for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealError(..)")
    }
}

impl core::error::Error for SealError {}

/// Seals `state` with the active key of `ring`. It opens only with an equal `binding`.
///
/// # Errors
///
/// Fails if the token would be longer than `max_chars`
/// ([`limits.asking.state_bytes`](crate::limits::AskingLimits::state_bytes)): the handler stores
/// too much.
pub fn seal(
    ring: &KeyRing,
    binding: &Binding<'_>,
    state: &[u8],
    entropy: Entropy,
    max_chars: usize,
) -> Result<String, StateTooLong> {
    let chars = sealed_chars(state.len());
    let too_long = StateTooLong { chars, max_chars };
    if chars > max_chars {
        return Err(too_long);
    }
    // More than 64 GiB, which no sensible limit allows.
    let sealed = seal_bytes(ring, binding, state, entropy).ok_or(too_long)?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// Seals like [`seal`], for a place that takes any bytes: returns the bytes of the token. `None` if the state is longer than
/// the algorithm allows.
pub fn seal_bytes(
    ring: &KeyRing,
    binding: &Binding<'_>,
    state: &[u8],
    entropy: Entropy,
) -> Option<Vec<u8>> {
    let header = Header::new(ring.active().id(), &entropy);
    let mut token = Vec::with_capacity(HEADER + padded(state.len()) + TAG);
    header.write(&mut token);
    token.extend_from_slice(state);
    token.push(PAD);
    token.resize(HEADER + padded(state.len()), 0);
    let sealed = header.cipher(ring.active()).encrypt_inout_detached(
        &header.nonce.into(),
        &header.associated_data(binding),
        (&mut token[HEADER..]).into(),
    );
    token.extend_from_slice(&sealed.ok()?);
    Some(token)
}

/// Opens a token that [`seal`] made with an equal `binding` and returns the state.
///
/// Timing reveals nothing that the sender does not know. A token that is longer than `max_chars` or
/// malformed is rejected at once, since its shape is visible. Any other token goes through the same
/// derivation and decryption, even if its format or key is unknown, so that time does not reveal
/// which keys the server holds.
///
/// # Errors
///
/// [`SealError`] does not tell the cause. The caller checks the expiry, which is part of the state,
/// and returns [`SealError::expired`].
pub fn open(
    ring: &KeyRing,
    binding: &Binding<'_>,
    token: &str,
    max_chars: usize,
) -> Result<Zeroizing<Vec<u8>>, SealError> {
    if token.len() > max_chars {
        return Err(SealCause::TooLong.into());
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| SealCause::Malformed)?;
    open_bytes(ring, binding, bytes)
}

/// Opens what [`seal_bytes`] made, like [`open`].
///
/// # Errors
///
/// The same as of [`open`].
pub fn open_bytes(
    ring: &KeyRing,
    binding: &Binding<'_>,
    sealed: Vec<u8>,
) -> Result<Zeroizing<Vec<u8>>, SealError> {
    let mut bytes = Zeroizing::new(sealed);
    let (header, rest) = Header::read(&mut bytes).ok_or(SealCause::Malformed)?;
    let (state, tag) = rest
        .split_last_chunk_mut::<TAG>()
        .filter(|(state, _)| !state.is_empty() && state.len() % BLOCK == 0)
        .ok_or(SealCause::Malformed)?;

    let known = ring.find(header.key_id);
    let opened = header
        // An unknown key is replaced by another for the same work; the result is rejected below.
        .cipher(known.unwrap_or(ring.active()))
        .decrypt_inout_detached(
            &header.nonce.into(),
            &header.associated_data(binding),
            state.into(),
            &(*tag).into(),
        );
    let is_known_format = (header.version, header.algorithm) == (VERSION, ALGORITHM);
    match (is_known_format, known, opened) {
        (false, ..) => Err(SealCause::UnknownFormat.into()),
        (true, None, _) => Err(SealCause::UnknownKey.into()),
        (true, Some(_), Err(_)) => Err(SealCause::NotAuthentic.into()),
        (true, Some(_), Ok(())) => unpad(bytes).ok_or(SealCause::Unreadable.into()),
    }
}

pub const fn sealed_chars(state: usize) -> usize {
    let bytes = HEADER.saturating_add(padded(state)).saturating_add(TAG);
    // Four characters hold three bytes, without padding at the end.
    (bytes / 3)
        .saturating_mul(4)
        .saturating_add([0, 2, 3][bytes % 3])
}

const VERSION: u8 = 2;
const ALGORITHM: u8 = 1;
const SALT: usize = 16;
const NONCE: usize = 12;
const HEADER: usize = 2 + 8 + SALT + NONCE;
const TAG: usize = 16;
const BLOCK: usize = 256;
const PAD: u8 = 0x80;
/// Separates the keys of tokens from other keys derived from the same secret.
const LABEL: &[u8] = b"askback requestState v2";

struct Header {
    version: u8,
    algorithm: u8,
    key_id: KeyId,
    salt: [u8; SALT],
    nonce: [u8; NONCE],
}

impl Header {
    fn new(key_id: KeyId, Entropy(random): &Entropy) -> Self {
        let mut salt = [0; SALT];
        let mut nonce = [0; NONCE];
        salt.copy_from_slice(&random[..SALT]);
        nonce.copy_from_slice(&random[SALT..]);
        Self {
            version: VERSION,
            algorithm: ALGORITHM,
            key_id,
            salt,
            nonce,
        }
    }

    fn read(bytes: &mut [u8]) -> Option<(Self, &mut [u8])> {
        let ([version, algorithm], rest) = bytes.split_first_chunk_mut()?;
        let (key_id, rest) = rest.split_first_chunk_mut()?;
        let (salt, rest) = rest.split_first_chunk_mut()?;
        let (nonce, rest) = rest.split_first_chunk_mut()?;
        let header = Self {
            version: *version,
            algorithm: *algorithm,
            key_id: KeyId(*key_id),
            salt: *salt,
            nonce: *nonce,
        };
        Some((header, rest))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend([self.version, self.algorithm]);
        out.extend(self.key_id.0);
        out.extend(self.salt);
        out.extend(self.nonce);
    }

    fn cipher(&self, key: &Key) -> Aes256GcmSiv {
        Aes256GcmSiv::new(&(*key.derive(LABEL, &self.salt)).into())
    }

    /// The associated data: format, key and binding. A length precedes each string, and a presence
    /// flag each optional one, so that the encoding is unambiguous. Salt and nonce are bound
    /// through their use.
    fn associated_data(&self, binding: &Binding<'_>) -> Vec<u8> {
        let Binding {
            audience,
            tenant,
            issuer,
            subject,
            client_id,
            method,
            target,
            arguments,
            revision,
        } = *binding;
        let mut out = Vec::with_capacity(256);
        out.extend([self.version, self.algorithm]);
        out.extend(self.key_id.0);
        write_text(&mut out, audience);
        for text in [tenant, issuer, subject, client_id] {
            out.push(text.is_some().into());
            write_text(&mut out, text.unwrap_or_default());
        }
        write_text(&mut out, method);
        write_text(&mut out, target);
        out.extend(arguments);
        write_text(&mut out, revision);
        out
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_be_bytes());
    out.extend(text.bytes());
}

/// The length of a padded state: at least one byte more, in whole blocks.
const fn padded(state: usize) -> usize {
    (state / BLOCK + 1).saturating_mul(BLOCK)
}

fn unpad(mut bytes: Zeroizing<Vec<u8>>) -> Option<Zeroizing<Vec<u8>>> {
    let tag = bytes.len().saturating_sub(TAG);
    bytes.truncate(tag);
    let end = bytes.iter().rposition(|byte| *byte != 0)?;
    if end < HEADER || bytes[end] != PAD {
        return None;
    }
    bytes.truncate(end);
    bytes.drain(..HEADER);
    Some(bytes)
}
