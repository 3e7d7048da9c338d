//! The members of an answer that are read and stored. All others are dropped on arrival.

use alloc::boxed::Box;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::Millis;
use crate::{
    limits::AskingLimits,
    protocol::{AnswerSource, ElicitAction, ElicitResult, Implementation, Meta, RawJson},
    quote::clipped,
};

/// The members of an answer that any kind of question reads, unparsed.
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

/// Reduces an answer whose question the handler has not asked again yet. Returns `None` if it is
/// larger than any answer may be, or is not an answer.
pub(super) fn unread(answer: &RawJson, limits: &AskingLimits) -> Option<RawJson> {
    let mut members: Members = answer.decode().ok()?;
    members.meta = only_of_answer(members.meta, limits);
    let kept = RawJson::new(&members).ok()?;
    (kept.as_str().len() <= limits.sampled_bytes).then_some(kept)
}

/// Reduces `_meta` to the user's reason to decline and who declined.
pub(super) fn only_of_answer(meta: Option<Box<Meta>>, limits: &AskingLimits) -> Option<Box<Meta>> {
    let mut kept = meta?.of_answer();
    if let Some(reason) = kept.reason() {
        let reason = clipped(reason, limits.reason_bytes);
        kept.set_reason(reason);
    }
    kept.boxed()
}

/// Marks a refusal as the client's own if it came faster than a person can react and the client
/// does not say who declined: clients that declare elicitation but have no user decline by
/// themselves. `took` is the time from the question to the answer, if known. For some clients it
/// may be longer: see [`unshown_refusal`].
#[must_use]
pub fn mark_refusal(
    answer: RawJson,
    took: Option<Millis>,
    client: Option<&Implementation>,
    limits: &AskingLimits,
) -> RawJson {
    let Some(took) = took.map(Duration::from_millis) else {
        return answer;
    };
    let reaction = limits.person_reaction;
    let slow =
        unshown_refusal(client).filter(|(_, longest)| !reaction.is_zero() && took < *longest);
    if took >= reaction && slow.is_none() {
        return answer;
    }
    let Ok(result) = answer.decode::<ElicitResult>() else {
        return answer;
    };
    let meta = result.meta.as_deref();
    let is_persons = meta.is_some_and(|meta| !meta.of_answer().is_empty());
    if result.action == ElicitAction::Accept || result.content.is_some() || is_persons {
        return answer;
    }
    let is_known = slow.is_some_and(|(action, _)| action == result.action);
    if took >= reaction && !is_known {
        return answer;
    }
    RawJson::new(&result.answered_by(AnswerSource::Client)).unwrap_or(answer)
}

/// The time within which a known client refuses questions by itself. Without a user, Claude Code,
/// Codex and Copilot CLI take 10 to 30 ms, but 0.4 s on a busy machine. fast-agent prepares a form
/// for 0.1 to 0.6 s before it notices that it has no terminal. At a terminal, the fastest seen
/// refusal of a person took 2.6 s.
const UNSHOWN_REFUSAL: Duration = Duration::from_millis(1500);

/// Returns how a client refuses a question that it does not show, and within what time, if it is
/// known to take longer than [`AskingLimits::person_reaction`].
#[must_use]
pub fn unshown_refusal(client: Option<&Implementation>) -> Option<(ElicitAction, Duration)> {
    match client?.name.as_str() {
        "claude-code" | "fast-agent-mcp" => Some((ElicitAction::Cancel, UNSHOWN_REFUSAL)),
        "codex-mcp-client" | "copilot-cli" => Some((ElicitAction::Decline, UNSHOWN_REFUSAL)),
        _ => None,
    }
}
