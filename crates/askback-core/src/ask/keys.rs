//! Keys that seal, and the ring they are kept on.
//!
//! A server seals with one key, the active one, and still opens what older keys have sealed, so
//! that a key can be replaced while people are answering. A token names its key by a [`KeyId`].
//! To rotate across several processes: accept the new key everywhere, then make it the active
//! one, and drop the old key when the last token under it has expired
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

/// A secret of 32 random bytes from which the keys of single tokens are derived.
///
/// There is no way to read the secret back; `Debug` prints the id. It is wiped when dropped.
pub struct Key {
    /// HKDF after its extraction, which is the same for all that is derived from the secret.
    extracted: Hkdf<Sha256>,
    id: KeyId,
}

/// The proof that what HKDF keeps of a secret is wiped.
const _: () = {
    const fn is_wiped<T: ZeroizeOnDrop>() {}
    is_wiped::<Sha256>();
};

/// The public name of a [`Key`], derived from its secret and written into each token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; 8]);

/// The key that seals, and the retired keys that still open.
#[derive(Debug)]
pub struct KeyRing {
    active: Key,
    retired: Vec<Key>,
}

/// Why a text is not a key ring. Whoever configured it is to blame; nothing of the text is
/// repeated here, as it may be most of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRingError {
    /// There is no key in the text.
    #[error("there is no key: write one key a line, the active one first")]
    Empty,
    /// A line holds something else than one key.
    #[error(
        "line {line} is not a key: write 32 random bytes as 64 hexadecimal digits or in base64"
    )]
    NotAKey {
        /// The line, counted from 1.
        line: usize,
    },
    /// A key stands on the ring already.
    #[error("line {line} repeats an earlier key")]
    Repeated {
        /// The line, counted from 1.
        line: usize,
    },
}

impl Key {
    /// A key from 32 bytes, which must come from a random source of cryptographic quality.
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

    /// A key for one use, which `label` and `salt` tell from all others.
    ///
    /// The salt belongs to the expansion (RFC 5869, section 3.2): the secret is random all through, and
    /// its extraction needs none (section 3.3). It has one length, so no two uses are written alike.
    pub fn derive(&self, label: &[u8], salt: &[u8; 16]) -> Zeroizing<[u8; 32]> {
        expand(&self.extracted, &[label, salt])
    }

    /// Reads 64 hexadecimal digits, or base64 of 32 bytes in either alphabet, padded or not.
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
    /// A ring that seals with `active` and opens nothing else.
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

    /// The key of this name, if the ring has it.
    pub fn find(&self, id: KeyId) -> Option<&Key> {
        self.all().find(|key| key.id == id)
    }
}

/// Reads one key a line, the active one first. What follows a `#` is a comment.
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
    // 44 characters with padding; the decoder asks for room for all it could mean.
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
