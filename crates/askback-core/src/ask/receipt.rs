//! Digests of questions and answers, challenges, and the signed text of receipts.

use alloc::{format, string::String};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::{
    canonical::{self, CanonicalError},
    protocol::{ElicitAction, ElicitParams, ElicitResult, HasMeta, Receipt},
};

/// The version of receipts that is written and read.
pub const RECEIPT_VERSION: u32 = 1;

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
