//! The seal on a flow's state while the client carries it.
//!
//! A server of 2026-07-28 hands its state to the client and gets it back with the answers
//! (basic/patterns/mrtr, Server Requirements). What comes back is an attacker's until it is
//! opened. The seal is authenticated encryption, always: AES-256-GCM-SIV (RFC 8452) under a key
//! for this one token, derived from the ring's key with a fresh salt. The token is bound to who
//! asked, for what and with which arguments ([`Binding`]); any other request cannot open it.
//!
//! A token is base64url without padding of these bytes:
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
//! Nothing is compressed: the length of compressed text tells what secret and chosen parts have
//! in common. The padding leaves little for the length to tell.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use aes_gcm_siv::aead::AeadInOut;
use aes_gcm_siv::{Aes256GcmSiv, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use super::keys::{Key, KeyId, KeyRing};

/// The request a sealed state belongs to. It opens for an equal binding only.
///
/// `Debug` prints neither the principal nor what they asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The configured name of the service, not an address: processes that share a key ring and
    /// this name serve one flow.
    pub audience: &'a str,
    /// The tenant the principal belongs to.
    pub tenant: Option<&'a str>,
    /// The issuer of the principal (`iss`).
    pub issuer: Option<&'a str>,
    /// The principal (`sub`).
    pub subject: Option<&'a str>,
    /// The client that acts for the principal.
    pub client_id: Option<&'a str>,
    /// The method of the request.
    pub method: &'a str,
    /// The tool or prompt by name, or the resource by URI.
    pub target: &'a str,
    /// The digest of the arguments ([`canonical::digest`](crate::canonical::digest)); of `{}`
    /// where the request has none.
    pub arguments: [u8; 32],
    /// The protocol revision of the request.
    pub revision: &'a str,
}

/// Fresh random bytes for the salt and the nonce of one token.
///
/// They come from the caller, since the core has no source of randomness, and are used up by one
/// call of [`seal`]. Should they ever repeat, equal states in equal bindings give equal tokens
/// and nothing worse happens; that is why the algorithm was chosen.
pub struct Entropy(pub [u8; 28]);

/// A state that does not fit the longest token allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sealed state would take {chars} characters and may take {max_chars}: \
     keep less in the flow, or configure a store"
)]
pub struct StateTooLong {
    /// The size of the token.
    pub chars: usize,
    /// The largest size allowed.
    pub max_chars: usize,
}

/// A `requestState` that cannot be accepted, whatever the reason.
///
/// `Display` and `Debug` are the same for every reason, so that no reply can tell a client which
/// it was. The JSON-RPC code is -32602.
pub struct SealError {
    cause: SealCause,
}

/// Why a `requestState` cannot be accepted. For logs, never for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealCause {
    /// Longer than any token this server makes.
    TooLong,
    /// Not the shape of a token: another alphabet, padding, or an impossible length.
    Malformed,
    /// Of a format version or algorithm this server does not know.
    UnknownFormat,
    /// Sealed under a key that is not on the ring: retired, or of another deployment.
    UnknownKey,
    /// Altered, or presented with another request or by another principal than it was made for.
    NotAuthentic,
    /// Opened, but too old.
    Expired,
    /// Opened, but its content is not a state this version of the server can go on from.
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
    /// For a state that opened and whose content says that its time is over.
    ///
    /// [`open`] has no clock; whoever reads the content checks this.
    pub fn expired() -> Self {
        SealCause::Expired.into()
    }

    /// For a state that opened and whose content cannot be read.
    pub fn unreadable() -> Self {
        SealCause::Unreadable.into()
    }

    /// The true reason, for logs.
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

/// Seals `state` under the active key of `ring`, for requests of an equal `binding` only.
///
/// # Errors
///
/// When the token would be longer than `max_chars`
/// ([`limits.asking.state_bytes`](crate::limits::AskingLimits::state_bytes)). The handler keeps too
/// much.
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
    let header = Header::new(ring.active().id(), &entropy);
    let mut token = Vec::with_capacity(HEADER + padded(state.len()) + TAG);
    header.write(&mut token);
    token.extend_from_slice(state);
    token.push(PAD);
    token.resize(HEADER + padded(state.len()), 0);
    let tag = header
        .cipher(ring.active())
        .encrypt_inout_detached(
            &header.nonce.into(),
            &header.associated_data(binding),
            (&mut token[HEADER..]).into(),
        )
        // Beyond 64 GiB, which no limit in its right mind allows.
        .map_err(|_| too_long)?;
    token.extend_from_slice(&tag);
    Ok(URL_SAFE_NO_PAD.encode(token))
}

/// Opens a token: the state that [`seal`] was given, if the token is authentic and `binding` is
/// the one it was made with.
///
/// How long a refusal takes tells nothing that the sender does not know. A token that is longer
/// than `max_chars` or does not have the shape of one is refused at once, as anybody can see its
/// shape. Any other goes through the same derivation and decryption, also when its format or its
/// key is unknown, so that time does not tell which keys the server holds.
///
/// # Errors
///
/// [`SealError`], the same for every cause. The caller checks expiry, which stands in the state,
/// and answers with [`SealError::expired`].
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
    let mut bytes = Zeroizing::new(bytes);
    let (header, rest) = Header::read(&mut bytes).ok_or(SealCause::Malformed)?;
    let (state, tag) = rest
        .split_last_chunk_mut::<TAG>()
        .filter(|(state, _)| !state.is_empty() && state.len() % BLOCK == 0)
        .ok_or(SealCause::Malformed)?;

    let known = ring.find(header.key_id);
    let opened = header
        // Without the key any other does the same work; the result is refused below.
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

/// The length in characters of a token that holds `state` bytes.
pub const fn sealed_chars(state: usize) -> usize {
    let bytes = HEADER.saturating_add(padded(state)).saturating_add(TAG);
    // Four characters hold three bytes, and the last are not padded.
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
/// Tells the keys of tokens from others derived from the same secret.
const LABEL: &[u8] = b"askback requestState v2";

/// The header before the ciphertext.
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

    /// Splits a header off the front.
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

    /// The associated data: format, key and binding. Each text is preceded by its length and each
    /// optional one by whether it is there, so that no two bindings are written alike. Salt and
    /// nonce are bound by their use.
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

/// The length of a state with its padding: at least one byte more, and whole blocks.
const fn padded(state: usize) -> usize {
    (state / BLOCK + 1).saturating_mul(BLOCK)
}

/// The state in the bytes of an opened token.
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
