//! Proof that a person saw a question (feature `witness`).
//!
//! A host that supports receipts signs a [`Receipt`] for each question that it showed, if the server asked for one.
//! Without receipts, a server cannot tell a person's yes from a program's. See `docs/extensions/receipts.md` for the
//! format.
//!
//! ```
//! use askback::{Ctx, Result, Server, tool, witness::WitnessKey};
//!
//! #[tool(description = "Wires money, if a person agrees.", requires_witness)]
//! async fn wire_money(ctx: Ctx, amount: u32) -> Result<String> {
//!     if !ctx.confirm(format!("Wire {amount} USD?")).await? {
//!         return Ok("Nothing was wired.".into());
//!     }
//!     // A receipt does not stop a round that is sent twice: a commit does.
//!     ctx.commit("wire", async move || Ok(format!("{amount} USD are on their way."))).await
//! }
//!
//! # fn build(known: WitnessKey) {
//! let server = Server::new("bank", "1.0")
//!     .tool(wire_money)
//!     // `askback receipts --key bank` prints the key of a user.
//!     .trust_witness(move |key, _| *key == known);
//! # }
//! ```

use std::{fmt, io, str::FromStr, sync::Arc};

use askback_core::{
    ask::{AskError, Millis, Principal},
    protocol::{ElicitParams, ElicitResult, HasMeta},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use zeroize::Zeroizing;

pub use askback_core::{
    ask::receipt::{RECEIPT_VERSION, answer_digest, question_digest},
    protocol::Receipt,
};

use crate::{answer::Answer, entropy::entropy, flow::AnswerRule};

/// The longest challenge that is signed, in bytes. A longer one could fill a user's list of receipts.
const CHALLENGE_MAX_BYTES: usize = 128;

/// The public key of a user's receipts, in base64url as text. A host uses a different key for each server.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WitnessKey([u8; 32]);

/// A receipt with a valid signature, for the question and the answer that it came with.
///
/// The signature proves that the holder of [`Witness::key`] made the receipt. Whether that key belongs to a person is
/// the server's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    receipt: Receipt,
    key: WitnessKey,
}

/// An answer with its receipt, if the client sent one: see [`Elicit::witnessed`](crate::ctx::Elicit::witnessed).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedAnswer<T> {
    /// The answer.
    pub answer: Answer<T>,
    witness: Option<Witness>,
}

/// An invalid receipt in a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("receipt {number}: {reason}")]
pub struct ChainError {
    /// The number of the receipt in the chain of its key, from 1, as its position in the list implies.
    pub number: u64,
    reason: &'static str,
}

/// The secret key with which a host signs a user's receipts for one server.
pub struct ReceiptSigner(Ed25519KeyPair);

/// A user's secret, from which the keys of the receipts are derived. It cannot be printed.
pub struct ReceiptSecret(Zeroizing<[u8; 32]>);

/// The content of a receipt, from the host.
#[derive(Debug, Clone, Copy)]
pub struct ShownQuestion<'a> {
    /// The question, as it was received.
    pub question: &'a ElicitParams,
    /// The answer, as it is sent.
    pub answer: &'a ElicitResult,
    /// When the question was shown, in milliseconds since the Unix epoch.
    pub shown_at: Millis,
    /// When the person answered, in milliseconds since the Unix epoch.
    pub answered_at: Millis,
    /// How the question was shown.
    pub renderer: Renderer,
}

/// How a question was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Renderer {
    /// On the full screen of a terminal.
    Terminal,
    /// As lines of text.
    Lines,
    /// On a page in a browser.
    Page,
    /// Not shown: a file of rules answered.
    Script,
}

type Trust = dyn Fn(&WitnessKey, Option<&Principal>) -> bool + Send + Sync;

#[derive(Clone)]
pub(crate) struct TrustedKeys(Arc<Trust>);

#[derive(Clone)]
pub(crate) struct WitnessRule {
    trusted: TrustedKeys,
    principal: Option<Arc<Principal>>,
}

impl WitnessKey {
    /// Creates a key from its bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WitnessKey({self})")
    }
}

/// The text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a key of 43 characters in base64url, as `askback receipts --key` prints it")]
pub struct WitnessKeyError;

impl FromStr for WitnessKey {
    type Err = WitnessKeyError;

    fn from_str(text: &str) -> Result<Self, WitnessKeyError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| WitnessKeyError)?;
        let bytes = bytes.try_into().map_err(|_| WitnessKeyError)?;
        Ok(Self(bytes))
    }
}

impl Witness {
    /// Checks the signature of a receipt. Returns `None` if it is not valid. Does not check which question the receipt
    /// is for.
    #[must_use]
    pub fn verify(receipt: Receipt) -> Option<Self> {
        let key: WitnessKey = receipt.key.parse().ok()?;
        let signature = URL_SAFE_NO_PAD.decode(&receipt.signature).ok()?;
        let text = receipt.signed_text().ok()?;
        let public = UnparsedPublicKey::new(&ED25519, key.0);
        public.verify(text.as_bytes(), &signature).ok()?;
        Some(Self { receipt, key })
    }

    /// Takes the receipt of an answer. It is for this question, because the flow drops all other receipts.
    pub(crate) fn of(result: &ElicitResult) -> Option<Self> {
        Self::verify(result.meta.as_ref()?.receipt()?)
    }

    /// Returns the key of the user.
    #[must_use]
    pub fn key(&self) -> &WitnessKey {
        &self.key
    }

    /// Returns when the question was shown, by the host's clock, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn shown_at(&self) -> Millis {
        self.receipt.shown_at
    }

    /// Returns when the person answered, by the host's clock, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn answered_at(&self) -> Millis {
        self.receipt.answered_at
    }

    /// Returns whether a person answered, and not a file of rules.
    #[must_use]
    pub fn is_person(&self) -> bool {
        let persons = [Renderer::Terminal, Renderer::Lines, Renderer::Page];
        persons
            .iter()
            .any(|renderer| renderer.as_str() == self.receipt.renderer)
    }

    /// Returns the receipt, to store it as evidence.
    #[must_use]
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }
}

/// Checks all receipts of one key, starting with the first: that their signatures are valid, that none is missing, and
/// that their order is unchanged.
///
/// # Errors
///
/// Returns the first invalid receipt.
pub fn verify_chain(receipts: &[Receipt]) -> Result<(), ChainError> {
    verify_chain_from(1, receipts)
}

/// Like [`verify_chain`], for a list whose older receipts were dropped. `first` is the number of its first receipt.
///
/// # Errors
///
/// Returns the first invalid receipt.
pub fn verify_chain_from(first: u64, receipts: &[Receipt]) -> Result<(), ChainError> {
    let mut previous: Option<&Receipt> = None;
    let mut numbers = first..=u64::MAX;
    for receipt in receipts {
        let Some(number) = numbers.next() else {
            let reason = "there is no number for the next receipt";
            return Err(ChainError {
                number: u64::MAX,
                reason,
            });
        };
        let wrong = |reason| ChainError { number, reason };
        if Witness::verify(receipt.clone()).is_none() {
            return Err(wrong("the signature does not fit"));
        }
        if previous.is_some_and(|previous| previous.key != receipt.key) {
            return Err(wrong("the key is not the key of the receipt before it"));
        }
        let follows = match previous {
            Some(previous) => {
                let digest = previous.digest();
                receipt.previous == Some(digest.map_err(|_| wrong("a number is too large"))?)
            }
            None => receipt.previous.is_some() == (first > 1),
        };
        if !follows {
            return Err(wrong("a receipt before it is missing or was changed"));
        }
        if receipt.sequence != number {
            return Err(wrong("its number does not follow"));
        }
        previous = Some(receipt);
    }
    Ok(())
}

impl ReceiptSecret {
    /// Creates a random secret.
    ///
    /// # Errors
    ///
    /// Fails if the operating system provides no random bytes.
    pub fn random() -> io::Result<Self> {
        Ok(Self(Zeroizing::new(entropy()?)))
    }

    /// Returns the secret as text, to store it in a file that only its user can read.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(URL_SAFE_NO_PAD.encode(*self.0))
    }

    /// Parses the text of [`ReceiptSecret::to_text`]. Returns `None` if it is not valid.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        let read = URL_SAFE_NO_PAD.decode_slice(text, &mut *bytes).ok()?;
        (read == bytes.len()).then_some(Self(bytes))
    }
}

impl fmt::Debug for ReceiptSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReceiptSecret")
    }
}

impl ReceiptSigner {
    /// Derives the key of a user for one server: a name, command or address that stays the same. Each server sees
    /// another key, so that servers cannot recognize the same user.
    #[must_use]
    pub fn new(secret: &ReceiptSecret, server: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &*secret.0);
        let mut context = hmac::Context::with_key(&key);
        context.update(b"askback receipt key v1");
        context.update(server.as_bytes());
        let pair = Ed25519KeyPair::from_seed_unchecked(context.sign().as_ref());
        Self(pair.expect("any 32 bytes are a seed"))
    }

    /// Returns the public key.
    #[must_use]
    pub fn key(&self) -> WitnessKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        WitnessKey(bytes)
    }

    /// Signs a receipt, which follows the previous receipt of the same key. Returns `None` if the server did not ask
    /// for one, or its challenge has more than 128 bytes.
    #[must_use]
    pub fn sign(&self, shown: ShownQuestion<'_>, previous: Option<&Receipt>) -> Option<Receipt> {
        let challenge = shown.question.meta()?.challenge()?;
        if challenge.len() > CHALLENGE_MAX_BYTES {
            return None;
        }
        let previous_digest = match previous {
            Some(previous) => Some(previous.digest().ok()?),
            None => None,
        };
        let mut receipt = Receipt {
            version: RECEIPT_VERSION,
            challenge: challenge.to_owned(),
            question: question_digest(shown.question).ok()?,
            answer: answer_digest(shown.question, shown.answer).ok()?,
            shown_at: shown.shown_at,
            answered_at: shown.answered_at,
            renderer: shown.renderer.as_str().to_owned(),
            sequence: previous.map_or(1, |previous| previous.sequence.saturating_add(1)),
            previous: previous_digest,
            key: self.key().to_string(),
            signature: String::new(),
        };
        let signature = self.0.sign(receipt.signed_text().ok()?.as_bytes());
        receipt.signature = URL_SAFE_NO_PAD.encode(signature);
        Some(receipt)
    }
}

impl fmt::Debug for ReceiptSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiptSigner({})", self.key())
    }
}

impl Renderer {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Lines => "lines",
            Self::Page => "page",
            Self::Script => "script",
        }
    }
}

impl<T> WitnessedAnswer<T> {
    pub(crate) fn new(answer: Answer<T>, witness: Option<Witness>) -> Self {
        Self { answer, witness }
    }

    /// Returns the verified receipt of the answer, if the client sent one.
    #[must_use]
    pub fn witness(&self) -> Option<&Witness> {
        self.witness.as_ref()
    }
}

impl TrustedKeys {
    pub(crate) fn new(
        trust: impl Fn(&WitnessKey, Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(trust))
    }
}

impl WitnessRule {
    pub(crate) fn new(trusted: TrustedKeys, principal: Option<Arc<Principal>>) -> Self {
        Self { trusted, principal }
    }
}

impl AnswerRule for WitnessRule {
    fn check(&self, result: &ElicitResult) -> Result<(), AskError> {
        let witness = Witness::of(result).filter(Witness::is_person);
        match witness.filter(|it| (self.trusted.0)(it.key(), self.principal.as_deref())) {
            Some(_) => Ok(()),
            None => Err(AskError::NoWitness),
        }
    }
}
