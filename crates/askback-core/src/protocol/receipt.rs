//! Receipts: what a host says of a question that it showed to a person, signed with the person's key.
//!
//! The format is described in `docs/extensions/receipts.md`.

use alloc::{format, string::String};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ElicitAction, ElicitParams, ElicitResult, HasMeta};
use crate::{
    ask::Millis,
    canonical::{self, CanonicalError},
};

/// The version of receipts that is written and read.
pub const RECEIPT_VERSION: u32 = 1;

/// The most bytes of a text in a receipt. All of them are digests, keys and signatures.
const TEXT_MAX_BYTES: usize = 128;

/// A host's statement that it showed a question to a person, and what the person did.
///
/// It has digests in place of what was asked and answered. The signature is made with Ed25519 over
/// [`Receipt::signed_text`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// [`RECEIPT_VERSION`].
    pub version: u32,
    /// The challenge of the question ([`Meta::challenge`](super::Meta::challenge)).
    pub challenge: String,
    /// [`question_digest`] of the question.
    pub question: String,
    /// [`answer_digest`] of the answer.
    pub answer: String,
    /// When the question was drawn, in milliseconds since 1970.
    pub shown_at: Millis,
    /// When the person answered, in milliseconds since 1970.
    pub answered_at: Millis,
    /// What drew the question: `terminal`, `lines`, `page` or `script`. A script is no person.
    pub renderer: String,
    /// The number of the receipt among those of its key, from 1.
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
    /// Returns the text that is signed: a label, and the canonical JSON (RFC 8785) of the receipt with an empty signature.
    ///
    /// # Errors
    ///
    /// Fails if a number has no canonical form.
    pub fn signed_text(&self) -> Result<String, CanonicalError> {
        let unsigned = Self {
            signature: String::new(),
            ..self.clone()
        };
        Ok(format!("askback receipt v1\n{}", unsigned.canonical()?))
    }

    /// Returns the digest by which the next receipt names this one.
    ///
    /// # Errors
    ///
    /// Fails if a number has no canonical form.
    pub fn digest(&self) -> Result<String, CanonicalError> {
        Ok(text(&Sha256::digest(self.canonical()?).into()))
    }

    /// Whether it is about this question and this answer. That does not check the signature.
    #[must_use]
    pub fn fits(&self, question: &ElicitParams, answer: &ElicitResult) -> bool {
        let challenge = question.meta().and_then(|meta| meta.challenge());
        self.version == RECEIPT_VERSION
            && challenge == Some(self.challenge.as_str())
            && question_digest(question).is_ok_and(|digest| digest == self.question)
            && answer_digest(question, answer).is_ok_and(|digest| digest == self.answer)
    }

    /// Whether no text of it is longer than any receipt needs.
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

    fn canonical(&self) -> Result<String, CanonicalError> {
        let json = serde_json::to_string(self)
            .map_err(|error| CanonicalError::Unserializable(format!("{error}")))?;
        canonical::canonicalize(&json)
    }
}

/// Returns the digest of a question: of the canonical JSON of its parameters without `_meta`, `task` and `elicitationId`.
///
/// # Errors
///
/// Fails if the question has no canonical form.
pub fn question_digest(question: &ElicitParams) -> Result<String, CanonicalError> {
    let mut question = question.clone();
    *question.meta_slot() = None;
    match &mut question {
        ElicitParams::Form(form) => form.task = None,
        ElicitParams::Url(link) => {
            link.task = None;
            link.elicitation_id = None;
        }
    }
    Ok(text(&canonical::digest_of(&question)?))
}

/// Returns the digest of an answer: of the canonical JSON of its `action` and, if a form was accepted, its `content`. An absent member
/// of the content that has a default counts as the default.
///
/// # Errors
///
/// Fails if the answer has no canonical form.
pub fn answer_digest(
    question: &ElicitParams,
    answer: &ElicitResult,
) -> Result<String, CanonicalError> {
    let content = match question {
        ElicitParams::Form(form) if answer.action == ElicitAction::Accept => {
            let content = answer.content.clone().unwrap_or_default();
            Some(form.requested_schema.with_defaults(content))
        }
        _ => None,
    };
    let answer = ElicitResult {
        action: answer.action,
        content,
        meta: None,
    };
    Ok(text(&canonical::digest_of(&answer)?))
}

/// Returns the challenge of a question of a call: both sides of a receipt name it, so that a receipt fits one question of one call only.
#[must_use]
pub fn challenge(flow: &[u8; 16], key: &str) -> String {
    let digest = Sha256::new()
        .chain_update(b"askback challenge v1")
        .chain_update(flow)
        .chain_update(key)
        .finalize();
    URL_SAFE_NO_PAD.encode(&digest[..16])
}

fn text(digest: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(digest)
}
