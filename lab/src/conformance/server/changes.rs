//! Tools that announce changes of what the server offers.

use askback::{Change, Ctx, Result, tool};

/// Tells that the tools have changed.
#[tool]
pub(super) async fn test_trigger_tool_change(ctx: Ctx) -> Result<&'static str> {
    ctx.changed(Change::Tools);
    Ok("The tools have changed.")
}

/// Tells that the prompts have changed.
#[tool]
pub(super) async fn test_trigger_prompt_change(ctx: Ctx) -> Result<&'static str> {
    ctx.changed(Change::Prompts);
    Ok("The prompts have changed.")
}
