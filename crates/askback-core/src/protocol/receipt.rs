//! Receipts: what a host says of a question that it showed to a person, signed with the person's key.
//!
//! The format is described in `docs/extensions/receipts.md`.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// The maximum length of a text in a receipt, in bytes. All texts are digests, keys and signatures.
const TEXT_MAX_BYTES: usize = 128;

/// A host's statement that it showed a question to a person, and what the person did.
///
/// It holds digests of the question and the answer, not their text. The signature is made with
/// Ed25519 over the [text that is signed](Receipt::signed_text).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// [`RECEIPT_VERSION`](crate::ask::receipt::RECEIPT_VERSION).
    pub version: u32,
    /// The challenge of the question ([`Meta::challenge`](super::Meta::challenge)).
    pub challenge: String,
    /// The [digest](crate::ask::receipt::question_digest) of the question.
    pub question: String,
    /// The [digest](crate::ask::receipt::answer_digest) of the answer.
    pub answer: String,
    /// When the question was drawn, in milliseconds since 1970.
    pub shown_at: u64,
    /// When the person answered, in milliseconds since 1970.
    pub answered_at: u64,
    /// What drew the question: `terminal`, `lines`, `page` or `script`. `script` means that no person saw the question.
    pub renderer: String,
    /// The number of the receipt in the chain of its key, from 1.
    pub sequence: u64,
    /// [`Receipt::digest`] of the receipt before it, absent in the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The public key, in base64url.
    pub key: String,
    /// The signature, in base64url.
    #[serde(default)]
    pub signature: String,
}

impl Receipt {
    /// Whether all of its texts are short enough for a valid receipt.
    pub(super) fn is_short(&self) -> bool {
        let previous = self.previous.as_deref().unwrap_or_default();
        [
            &*self.challenge,
            &*self.question,
            &*self.answer,
            &*self.renderer,
            previous,
            &*self.key,
            &*self.signature,
        ]
        .iter()
        .all(|text| text.len() <= TEXT_MAX_BYTES)
    }
}
