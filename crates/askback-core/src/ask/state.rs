//! The content of a `requestState`: a flow between two rounds.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Millis,
    journal::{Entry, QuestionDigest},
    seal::SealError,
};
use crate::limits::AskingLimits;

/// The name of a flow: one call of a handler, through all its rounds and forks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub [u8; 16]);

/// The name of one sealed state of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenId(pub [u8; 16]);

/// The values that a flow is given at its start and keeps to its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Identity {
    /// The flow's name.
    #[serde(rename = "f")]
    pub flow: FlowId,
    /// When its first round began.
    #[serde(rename = "b")]
    pub started: Millis,
    /// Where its random values come from.
    #[serde(rename = "s", with = "super::bytes")]
    pub seed: [u8; 32],
}

/// A flow between two rounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowState {
    /// Which flow.
    #[serde(rename = "c")]
    pub identity: Identity,
    /// Which of its states.
    #[serde(rename = "j")]
    pub token: TokenId,
    /// How many rounds of questions it has asked.
    #[serde(rename = "n")]
    pub round: u32,
    /// How many of them only asked for links again that were opened before.
    #[serde(rename = "w", default, skip_serializing_if = "is_zero")]
    pub link_rounds: u32,
    /// When this state was sealed.
    #[serde(rename = "i")]
    pub issued: Millis,
    /// The settlements so far.
    #[serde(rename = "l")]
    pub journal: Vec<Entry>,
    /// The questions that wait for an answer, in the order in which they were asked.
    #[serde(rename = "q")]
    pub open: Vec<OpenEntry>,
    /// The timers that run.
    #[serde(rename = "t", default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerEntry>,
    /// The state of a handler that asks by hand.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// A question that waits for its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenEntry {
    /// Its key in `inputRequests`.
    #[serde(rename = "k")]
    pub key: String,
    /// Its digest.
    #[serde(rename = "d")]
    pub question: QuestionDigest,
    /// How many answers were not usable.
    #[serde(rename = "a", default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// The fault of the last answer.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A timer that runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TimerEntry {
    /// The name under which the handler waits.
    #[serde(rename = "k")]
    pub key: String,
    /// When it runs out.
    #[serde(rename = "d")]
    pub deadline: Millis,
}

impl FlowState {
    /// Checks that the state may still be answered: that it is not older than a round may take,
    /// nor its flow than a flow may last.
    ///
    /// # Errors
    ///
    /// The seal's one error.
    pub fn check_fresh(&self, now: Millis, limits: &AskingLimits) -> Result<(), SealError> {
        let fresh = now <= after(self.issued, limits.round_ttl)
            && now <= after(self.identity.started, limits.flow_ttl);
        if fresh {
            Ok(())
        } else {
            Err(SealError::expired())
        }
    }
}

fn after(start: Millis, span: Duration) -> Millis {
    start.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

// serde's `skip_serializing_if` hands a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

macro_rules! as_base64 {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                super::bytes::serialize(&self.0, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                super::bytes::deserialize(d).map(Self)
            }
        }
    )*};
}

as_base64!(FlowId, TokenId);
