//! The reply of a rule in place of a model.

use askback_core::protocol::{
    CreateMessageParams, CreateMessageResult, RawObject, SamplingBlock, ToolUseContent,
};

use super::rule::Said;
use crate::{model::Reply, relay::MODEL};

/// The reply of these parts. The calls in it are told from those of other replies by `number`.
///
/// # Errors
///
/// Says which tool is called that the request does not offer.
pub(super) fn reply(
    parts: &[Said],
    request: &CreateMessageParams,
    number: u64,
) -> Result<Reply, String> {
    if let [Said::Text(text)] = parts {
        return Ok(Reply::Text(text.clone()));
    }
    let numbered = (1_usize..).zip(parts);
    let blocks = numbered.map(|(part, said)| match said {
        Said::Text(text) => Ok(SamplingBlock::text(text)),
        Said::Call { tool, input } => {
            let offered = request.tools.iter().flatten();
            if !offered.into_iter().any(|offered| offered.name == *tool) {
                return Err(format!("the request does not offer the tool `{tool}`"));
            }
            Ok(SamplingBlock::ToolUse(ToolUseContent {
                id: format!("call-{number}-{part}"),
                name: tool.clone(),
                input: RawObject::new(input).map_err(|error| error.to_string())?,
                meta: None,
            }))
        }
    });
    let mut blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let calls = |block: &SamplingBlock| matches!(block, SamplingBlock::ToolUse(_));
    let stop_reason = match blocks.iter().any(calls) {
        true => "toolUse",
        false => "endTurn",
    };
    let content = match blocks.len() {
        1 => blocks.remove(0).into(),
        _ => blocks.into(),
    };
    Ok(Reply::Sampled(Box::new(CreateMessageResult {
        content,
        stop_reason: Some(stop_reason.to_owned()),
        ..CreateMessageResult::text(MODEL, "")
    })))
}
