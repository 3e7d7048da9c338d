//! Serves the expense desk over stdio, or over HTTP to callers with a token.

use std::{env, error::Error, time::Duration};

use askback::{Principal, http::stop_signal};
use askback_expense::{Claims, Tokens, router, server};
use tokio::net::TcpListener;

const USAGE: &str = "usage: expense DATABASE [ADDRESS]\n\
    With an ADDRESS, EXPENSE_TOKENS has the callers: TOKEN=NAME, separated by spaces.";

/// How long to wait for clients that still read their responses after all calls have ended.
const GRACE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = env::args().skip(1);
    let server = server(&Claims::open(arguments.next().ok_or(USAGE)?)?);
    let Some(address) = arguments.next() else {
        return Ok(server.run_stdio().await?);
    };
    let callers = env::var("EXPENSE_TOKENS").map_err(|_| USAGE)?;
    let callers = callers
        .split(' ')
        .filter_map(|caller| caller.split_once('='));
    let tokens = callers.map(|(token, name)| (token.to_owned(), Principal::new(name)));
    let tokens = Tokens::new(tokens.collect());
    let mcp = server.build()?.http().service_until(stop_signal());
    let (stopped, cut_off) = (mcp.stopped(), after(mcp.stopped()));
    let serving = axum::serve(TcpListener::bind(address).await?, router(mcp, tokens));
    tokio::select! {
        served = serving.with_graceful_shutdown(stopped).into_future() => Ok(served?),
        () = cut_off => Ok(()),
    }
}

/// Waits until the server has stopped, and then for [`GRACE`].
async fn after(stopped: impl Future<Output = ()>) {
    stopped.await;
    tokio::time::sleep(GRACE).await;
}
