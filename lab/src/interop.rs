//! The second server for the clients of the interop suite: it reports progress, can be cancelled, asks, says what was
//! answered, and crashes.

use std::{process, sync::Arc, time::Duration};

use askback::{
    Answer, Ctx, Form, Result, Server, ServerBuilder, State, ctx::Progress,
    protocol::CreateMessageParams, tool,
};
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
        .tool(two)
        .tool(link)
        .tool(sampling)
        .tool(roots)
        .tool(crash)
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

#[derive(Form)]
struct Place {
    place: String,
}

#[derive(Form)]
struct When {
    month: String,
}

/// Asks twice.
#[tool]
async fn two(ctx: Ctx) -> Result<String> {
    let place = match ctx.elicit::<Place>("Where to?").await? {
        Answer::Accepted(answer) => answer.place,
        other => return Ok(format!("no place: {}", action(&other))),
    };
    Ok(
        match ctx.elicit::<When>(format!("When to {place}?")).await? {
            Answer::Accepted(answer) => format!("{place} in {}", answer.month),
            other => format!("no month: {}", action(&other)),
        },
    )
}

/// Asks to open a page.
#[tool]
async fn link(ctx: Ctx) -> Result<String> {
    let answer = ctx
        .elicit_url("Please pay.", "https://example.com/pay")
        .await?;
    Ok(format!("the link: {}", action(&answer)))
}

/// The name of an answer in the protocol.
fn action<T>(answer: &Answer<T>) -> &'static str {
    match answer {
        Answer::Accepted(_) => "accept",
        Answer::Declined { .. } => "decline",
        Answer::Cancelled => "cancel",
        Answer::DeclinedByClient { .. } => "declined by the client itself",
    }
}

/// Asks the client's model.
#[tool]
async fn sampling(ctx: Ctx) -> Result<String> {
    let answer = ctx
        .sample(CreateMessageParams::new("What is best?", 100))
        .await?;
    Ok(format!("the model said: {}", answer.content.text()))
}

/// Crashes after it has begun.
#[tool]
async fn crash(ctx: Ctx) -> Result<&'static str> {
    ctx.progress(Progress::at(1.0).message("it begins"));
    ctx.sleep(PAUSE).await;
    process::abort()
}

/// The folders the client shares, which over HTTP are shown and nothing else.
#[tool]
async fn roots(ctx: Ctx) -> Result<String> {
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
