//! The second server for the clients of the interop suite: it reports progress, can be cancelled, and shows the
//! client's folders.

use std::{sync::Arc, time::Duration};

use askback::{Ctx, Result, Server, ServerBuilder, State, ctx::Progress, tool};
use tokio::{sync::watch, time::timeout};

/// Longer than any test waits.
const SLOW: Duration = Duration::from_secs(60);

/// The time limit to notice a cancelled call.
const SETTLED: Duration = Duration::from_secs(5);

/// Long enough that the messages arrive separately.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns the server's builder.
pub fn server() -> ServerBuilder {
    let (calls, _) = watch::channel(0);
    Server::new("askback-interop", env!("CARGO_PKG_VERSION"))
        .tool(progress)
        .tool(slow)
        .tool(stopped)
        .tool(shared)
        .state(Stopped(Arc::new(calls)))
}

#[derive(Clone)]
struct Stopped(Arc<watch::Sender<u32>>);

/// A running call. If it is dropped early, it counts as cancelled.
struct UnderWay {
    stopped: Option<Stopped>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(Stopped(stopped)) = &self.stopped {
            stopped.send_modify(|calls| *calls += 1);
        }
    }
}

/// Tells three times how far it has come.
#[tool]
async fn progress(ctx: Ctx) -> Result<&'static str> {
    for step in [1.0, 2.0, 3.0] {
        ctx.progress(Progress::of(step, 3.0).message("a step"));
        ctx.sleep(PAUSE).await;
    }
    Ok("done")
}

/// Takes longer than anybody waits.
#[tool]
async fn slow(ctx: Ctx, State(stopped): State<Stopped>) -> Result<&'static str> {
    let mut call = UnderWay {
        stopped: Some(stopped),
    };
    ctx.progress(Progress::at(1.0).message("it begins"));
    ctx.sleep(SLOW).await;
    call.stopped = None;
    Ok("it was slow")
}

/// The folders the client shares, which over HTTP are shown and nothing else.
#[tool]
async fn shared(ctx: Ctx) -> Result<String> {
    let roots = ctx.roots().await?;
    let uris: Vec<_> = roots
        .as_client_says()
        .iter()
        .map(|root| &*root.uri)
        .collect();
    Ok(uris.join("\n"))
}

/// How many calls were stopped, once one was.
#[tool]
async fn stopped(State(Stopped(stopped)): State<Stopped>) -> Result<String> {
    let mut stopped = stopped.subscribe();
    // If no call was cancelled, the answer is zero.
    let _ = timeout(SETTLED, stopped.wait_for(|calls| *calls > 0)).await;
    let calls = *stopped.borrow();
    Ok(calls.to_string())
}
