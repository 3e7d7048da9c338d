//! Tools that log and report progress.

use std::time::Duration;

use askback::{Ctx, Result, ctx::Progress, protocol::LoggingLevel, tool};

/// Long enough that the messages arrive separately.
const PAUSE: Duration = Duration::from_millis(50);

/// Logs three lines.
#[tool(read_only)]
pub(super) async fn test_tool_with_logging(ctx: Ctx) -> Result<&'static str> {
    ctx.log(LoggingLevel::Info, "Tool execution started");
    ctx.sleep(PAUSE).await;
    ctx.log(LoggingLevel::Info, "Tool processing data");
    ctx.sleep(PAUSE).await;
    ctx.log(LoggingLevel::Info, "Tool execution completed");
    Ok("Three lines were logged.")
}

/// Reports how far it has come.
#[tool(read_only)]
pub(super) async fn test_tool_with_progress(ctx: Ctx) -> Result<&'static str> {
    ctx.progress(Progress::of(0.0, 100.0));
    ctx.sleep(PAUSE).await;
    ctx.progress(Progress::of(50.0, 100.0));
    ctx.sleep(PAUSE).await;
    ctx.progress(Progress::of(100.0, 100.0));
    Ok("It is done.")
}

/// Logs a line, for those who want to read it.
#[tool(read_only)]
pub(super) async fn test_logging_tool(ctx: Ctx) -> Result<&'static str> {
    ctx.log(LoggingLevel::Info, "A line for those who asked for it");
    Ok("A line was logged, if it was wanted.")
}
