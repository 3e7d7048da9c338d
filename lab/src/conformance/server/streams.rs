//! A tool that closes its connection while it works.

use std::time::Duration;

use askback::{Ctx, Result, tool};

/// Long enough that the client sees the stream end before the result exists.
const WORK: Duration = Duration::from_millis(100);

/// Has the client come back for the result, where the revision has a way to.
#[tool]
pub(super) async fn test_reconnection(ctx: Ctx) -> Result<&'static str> {
    ctx.close_stream();
    ctx.sleep(WORK).await;
    Ok("You came back.")
}
