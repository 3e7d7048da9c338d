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

/// The id of a flow: one call of a handler, with all its rounds and forks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub [u8; 16]);

/// The id of one sealed state of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenId(pub [u8; 16]);

/// The values that stay the same for the whole flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Identity {
    #[serde(rename = "f")]
    pub flow: FlowId,
    #[serde(rename = "b")]
    pub started: Millis,
    #[serde(rename = "s", with = "super::bytes")]
    pub seed: [u8; 32],
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowState {
    #[serde(rename = "c")]
    pub identity: Identity,
    #[serde(rename = "j")]
    pub token: TokenId,
    #[serde(rename = "n")]
    pub round: u32,
    /// How many of them only repeated links that were already opened.
    #[serde(rename = "w", default, skip_serializing_if = "is_zero")]
    pub link_rounds: u32,
    #[serde(rename = "i")]
    pub issued: Millis,
    #[serde(rename = "l")]
    pub journal: Vec<Entry>,
    #[serde(rename = "q")]
    pub open: Vec<OpenEntry>,
    #[serde(rename = "t", default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerEntry>,
    /// The state of a handler that asks by hand.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenEntry {
    /// Its key in `inputRequests`.
    #[serde(rename = "k")]
    pub key: String,
    #[serde(rename = "d")]
    pub question: QuestionDigest,
    #[serde(rename = "a", default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TimerEntry {
    /// The key under which the handler waits.
    #[serde(rename = "k")]
    pub key: String,
    #[serde(rename = "d")]
    pub deadline: Millis,
}

impl FlowState {
    /// Checks that neither the round nor the flow is too old to be answered.
    ///
    /// # Errors
    ///
    /// [`SealError::expired`].
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

// serde's `skip_serializing_if` passes a reference.
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
