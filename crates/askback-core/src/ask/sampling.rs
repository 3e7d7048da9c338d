//! Checks conversations before they are sent to a model.

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
};

use crate::{
    limits::AskingLimits,
    protocol::{CreateMessageParams, Role, SamplingBlock, SamplingMessage},
};

/// Checks that tool uses and results match, and that the model was not offered tools too often.
pub(super) fn check(params: &CreateMessageParams, limits: &AskingLimits) -> Result<(), String> {
    let rounds = check_balance(&params.messages)?;
    if rounds > limits.tool_rounds {
        let most = limits.tool_rounds;
        return Err(format!(
            "the model has used tools {rounds} times (at most {most})"
        ));
    }
    Ok(())
}

/// Checks that each tool use is followed by a message that holds its result and nothing but results
/// (2025-11-25, client/sampling, Message Content Constraints). Returns the number of tool rounds.
pub(crate) fn check_balance(messages: &[SamplingMessage]) -> Result<u32, String> {
    let mut awaited = BTreeSet::new();
    let mut rounds = 0_u32;
    for message in messages {
        let results = results_of(message)?;
        if results != awaited {
            return Err(mismatch(&awaited, &results));
        }
        awaited = uses_of(message)?;
        rounds = rounds.saturating_add(u32::from(!awaited.is_empty()));
    }
    match awaited.is_empty() {
        true => Ok(rounds),
        false => Err(mismatch(&awaited, &BTreeSet::new())),
    }
}

fn results_of(message: &SamplingMessage) -> Result<BTreeSet<&str>, String> {
    let blocks = message.content.blocks();
    let results = blocks.iter().filter_map(|block| match block {
        SamplingBlock::ToolResult(result) => Some(result.tool_use_id.as_str()),
        _ => None,
    });
    let ids: BTreeSet<_> = results.clone().collect();
    let only_results = results.clone().count() == blocks.len() && message.role == Role::User;
    if !ids.is_empty() && !only_results {
        return Err("a message with results of tools is the user's and holds nothing else".into());
    }
    if results.count() > ids.len() {
        return Err("a use of a tool has two results".into());
    }
    Ok(ids)
}

fn uses_of(message: &SamplingMessage) -> Result<BTreeSet<&str>, String> {
    let uses = message
        .content
        .blocks()
        .iter()
        .filter_map(|block| match block {
            SamplingBlock::ToolUse(tool_use) => Some(tool_use.id.as_str()),
            _ => None,
        });
    let ids: BTreeSet<_> = uses.clone().collect();
    if !ids.is_empty() && message.role != Role::Assistant {
        return Err("only the assistant uses tools".into());
    }
    if uses.count() > ids.len() {
        return Err("two uses of tools have the same id".into());
    }
    Ok(ids)
}

fn mismatch(awaited: &BTreeSet<&str>, results: &BTreeSet<&str>) -> String {
    match awaited.symmetric_difference(results).next() {
        Some(id) if awaited.contains(id) => {
            format!("the use `{id}` of a tool is not followed by its result")
        }
        Some(id) => format!("there is a result for `{id}`, which no tool was used for just before"),
        None => "results of tools do not fit".to_string(),
    }
}
