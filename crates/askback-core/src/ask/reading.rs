//! The members of an answer that are read and kept. The rest of what a client sends is dropped on
//! arrival.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::{
    limits::AskingLimits,
    protocol::{Meta, RawJson},
    quote::clipped,
};

/// The members of an answer that a question of some kind reads, as they came.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop_reason: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    roots: Option<RawJson>,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    meta: Option<Box<Meta>>,
}

/// An answer whose question its handler has not come to again, as it is kept until then; `None`
/// where it is larger than any such answer may be, or no answer at all.
pub(super) fn unread(answer: &RawJson, limits: &AskingLimits) -> Option<RawJson> {
    let mut members: Members = answer.decode().ok()?;
    members.meta = only_reason(members.meta, limits);
    let kept = RawJson::new(&members).ok()?;
    (kept.as_str().len() <= limits.sampled_bytes).then_some(kept)
}

/// Of what travels beside an answer, a person's reason to decline.
pub(super) fn only_reason(meta: Option<Box<Meta>>, limits: &AskingLimits) -> Option<Box<Meta>> {
    let reason = clipped(meta?.reason()?, limits.reason_bytes);
    let mut meta = Box::<Meta>::default();
    meta.set_reason(reason);
    Some(meta)
}
