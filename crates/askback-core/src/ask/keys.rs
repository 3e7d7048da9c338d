//! Sealing keys and their key ring.
//!
//! A server seals with one active key and still opens states sealed with older keys, so that a key
//! can be replaced while users are answering. A token names its key by a [`KeyId`]. To rotate keys
//! across several processes: accept the new key everywhere, then make it the active key, and drop
//! the old key when its last token has expired
//! ([`limits.asking.round_ttl`](crate::limits::AskingLimits::round_ttl)).

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// A secret of 32 random bytes from which the key of each token is derived.
///
/// The secret cannot be read back; `Debug` prints the id. It is wiped when dropped.
pub struct Key {
    /// HKDF after its extract step, which is the same for all derived keys.
    extracted: Hkdf<Sha256>,
    id: KeyId,
}

/// Proof that HKDF wipes the secret when dropped.
const _: () = {
    const fn is_wiped<T: ZeroizeOnDrop>() {}
    is_wiped::<Sha256>();
};

/// The public name of a [`Key`], derived from its secret and written into each token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; 8]);

/// The active key, which seals, and retired keys that still open.
#[derive(Debug)]
pub struct KeyRing {
    active: Key,
    retired: Vec<Key>,
}

/// Why a text is not a key ring. The operator is to blame. The error does not repeat the text,
/// which may be most of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRingError {
    /// The text contains no key.
    #[error("there is no key: write one key a line, the active one first")]
    Empty,
    /// A line is not a key.
    #[error(
        "line {line} is not a key: write 32 random bytes as 64 hexadecimal digits or in base64"
    )]
    NotAKey {
        /// The line, counted from 1.
        line: usize,
    },
    /// A key is on the ring already.
    #[error("line {line} repeats an earlier key")]
    Repeated {
        /// The line, counted from 1.
        line: usize,
    },
}

impl Key {
    /// Makes a key of 32 bytes, which must come from a cryptographically secure random source.
    pub fn new(secret: &[u8; 32]) -> Self {
        let extracted = Hkdf::new(None, secret);
        Self {
            id: KeyId(*expand(&extracted, &[b"askback key id v1"])),
            extracted,
        }
    }

    /// The name of this key in tokens.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Derives a key for one use. `label` and `salt` separate it from all others.
    ///
    /// The salt is an input of the expand step (RFC 5869, section 3.2): the secret is uniformly
    /// random, so the extract step needs no salt (section 3.3). The salt has a fixed length, so the
    /// encoding is unambiguous.
    pub fn derive(&self, label: &[u8], salt: &[u8; 16]) -> Zeroizing<[u8; 32]> {
        expand(&self.extracted, &[label, salt])
    }

    /// Reads 64 hexadecimal digits, or base64 of 32 bytes in either alphabet, with or without
    /// padding.
    fn parse(text: &str) -> Option<Self> {
        parse_hex(text)
            .or_else(|| parse_base64(text))
            .map(|secret| Self::new(&secret))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl KeyRing {
    /// Makes a ring with `active` as its only key.
    pub fn new(active: Key) -> Self {
        Self {
            active,
            retired: Vec::new(),
        }
    }

    /// Adds a key that opens but does not seal.
    #[must_use]
    pub fn and_accept(mut self, key: Key) -> Self {
        if self.find(key.id).is_none() {
            self.retired.push(key);
        }
        self
    }

    /// The key that seals.
    pub fn active(&self) -> &Key {
        &self.active
    }

    /// All keys, the one that seals first.
    pub fn all(&self) -> impl Iterator<Item = &Key> {
        core::iter::once(&self.active).chain(&self.retired)
    }

    /// Returns the key with this id, if it is on the ring.
    pub fn find(&self, id: KeyId) -> Option<&Key> {
        self.all().find(|key| key.id == id)
    }
}

/// Reads one key per line, the active key first. A `#` begins a comment.
impl FromStr for KeyRing {
    type Err = KeyRingError;

    fn from_str(text: &str) -> Result<Self, KeyRingError> {
        let mut ring: Option<Self> = None;
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let written = line.split('#').next().unwrap_or_default().trim();
            if written.is_empty() {
                continue;
            }
            let key = Key::parse(written).ok_or(KeyRingError::NotAKey { line: line_number })?;
            ring = Some(match ring {
                None => Self::new(key),
                Some(ring) if ring.find(key.id).is_some() => {
                    return Err(KeyRingError::Repeated { line: line_number });
                }
                Some(ring) => ring.and_accept(key),
            });
        }
        ring.ok_or(KeyRingError::Empty)
    }
}

/// HKDF-Expand with SHA-256 (RFC 5869).
fn expand<const N: usize>(extracted: &Hkdf<Sha256>, info: &[&[u8]]) -> Zeroizing<[u8; N]> {
    const { assert!(N <= 255 * 32, "more than HKDF-SHA-256 can give") }
    let mut out = Zeroizing::new([0; N]);
    extracted
        .expand_multi_info(info, out.as_mut_slice())
        .expect("the length is checked above, and nothing else can fail");
    out
}

fn parse_hex(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut secret = Zeroizing::new([0; 32]);
    if text.len() != 2 * secret.len() {
        return None;
    }
    for (byte, digits) in secret.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        for digit in digits {
            let value = char::from(*digit).to_digit(16)?;
            *byte = *byte << 4 | u8::try_from(value).ok()?;
        }
    }
    Some(secret)
}

fn parse_base64(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    const CONFIG: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    // 44 characters with padding; the decoder asks for the largest output possible.
    let mut room = Zeroizing::new([0; 33]);
    [alphabet::STANDARD, alphabet::URL_SAFE]
        .iter()
        .find_map(|alphabet| {
            let length = GeneralPurpose::new(alphabet, CONFIG)
                .decode_slice(text, room.as_mut_slice())
                .ok()?;
            let secret: &[u8; 32] = room[..length].try_into().ok()?;
            Some(Zeroizing::new(*secret))
        })
}
