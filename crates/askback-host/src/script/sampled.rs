use std::collections::BTreeSet;

use askback::protocol::{
    CreateMessageParams, CreateMessageResult, RawObject, SamplingBlock, ToolChoiceMode,
    ToolUseContent,
};

use super::rule::SampledPart;
use crate::model::{PERSON, Reply, calls, content_of, mode};

/// Builds a reply from parts. Tool calls get ids that are unique in the run: `last` is the number
/// of the last call, and is updated.
///
/// # Errors
///
/// If a part calls a tool that the request does not offer, or if the request requires or forbids
/// tool calls and the parts do not comply.
pub(super) fn reply(
    parts: &[SampledPart],
    request: &CreateMessageParams,
    last: &mut u64,
) -> Result<Reply, String> {
    let has_calls = parts
        .iter()
        .any(|said| matches!(said, SampledPart::Call { .. }));
    match mode(request) {
        ToolChoiceMode::Required if !has_calls => {
            return Err("the request requires a tool call".to_owned());
        }
        ToolChoiceMode::None if has_calls => {
            return Err("the request allows no tool call".to_owned());
        }
        ToolChoiceMode::Auto | ToolChoiceMode::Required | ToolChoiceMode::None => {}
    }
    if let [SampledPart::Text(text)] = parts {
        return Ok(Reply::Text(text.clone()));
    }
    let messages = request.messages.iter();
    let said = messages.flat_map(|message| calls(message.content.blocks()));
    let said: BTreeSet<_> = said.map(|call| call.id.as_str()).collect();
    let mut id = || loop {
        *last = last.saturating_add(1);
        let id = format!("call-{last}");
        if !said.contains(id.as_str()) {
            return id;
        }
    };
    let blocks = parts.iter().map(|said| match said {
        SampledPart::Text(text) => Ok(SamplingBlock::text(text)),
        SampledPart::Call { tool, input } => {
            let offered = request.tools.iter().flatten();
            if !offered.into_iter().any(|offered| offered.name == *tool) {
                return Err(format!("the request does not offer the tool `{tool}`"));
            }
            Ok(SamplingBlock::ToolUse(ToolUseContent {
                id: id(),
                name: tool.clone(),
                input: RawObject::new(input).map_err(|error| error.to_string())?,
                meta: None,
            }))
        }
    });
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let stop_reason = match has_calls {
        true => "toolUse",
        false => "endTurn",
    };
    Ok(Reply::Sampled(Box::new(CreateMessageResult {
        content: content_of(blocks),
        stop_reason: Some(stop_reason.to_owned()),
        ..CreateMessageResult::text(PERSON, "")
    })))
}
