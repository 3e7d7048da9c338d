//! Servers over HTTP.

mod beside;
pub(crate) mod client;
mod echo;
mod headers;
#[cfg(all(feature = "macros", feature = "sqlite"))]
mod health;
mod keeping;
mod lifecycle;
mod listening;
mod older;
mod pages;
mod resuming;
mod roots;
pub(crate) mod serving;
mod sessions;
mod sockets;
mod stateless;
mod stopping;

use std::{sync::Arc, time::Duration};

use askback::{
    Ctx, Json, Resource, Result, Server, ServerBuilder, State, Tool,
    ctx::Progress,
    keys::{Key, KeyRing, KeySource},
    schemars,
};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use self::client::Client;
use crate::asking::Seat;

/// Signals between the tests and their server's handlers.
#[derive(Clone, Default)]
pub(crate) struct Stage(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Lets one waiting handler continue.
    go_on: Notify,
    handlers: watch::Sender<Handlers>,
}

/// The number of handlers that began, ended, and were dropped before their end.
pub(crate) type Handlers = (usize, usize, usize);

/// Counts what happens to a handler.
struct Presence(Stage, bool);

impl Stage {
    /// A server with one tool for each behaviour.
    pub(crate) fn builder(&self) -> ServerBuilder {
        Server::new("tests", "1")
            .logging()
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .state(self.clone())
            .changing_tools()
            .changing_resources()
            .tool(Tool::new("hello", async || Ok("Hello!")))
            .tool(Tool::new("echoes", async |text: Json<Value>| {
                Ok(text.0.to_string())
            }))
            .tool(Tool::new("fails", async || -> Result<String> {
                Err(askback::Error::new("it failed"))
            }))
            .tool(Tool::new("panics", async || -> Result<String> {
                panic!("a handler that panics")
            }))
            .tool(Tool::new("asks", asks))
            .tool(Tool::new("waits", waits))
            .tool(Tool::new("commits", commits))
            .tool(Tool::new("tells", tells))
            .tool(Tool::new("lets_go", lets_go))
            .tool(Tool::new("floods", floods))
            .resource(Resource::new("note://one", "one", async || {
                Ok("One.".to_owned())
            }))
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.builder().build().expect("the server is whole");
        Client::of(&server)
    }

    /// Lets a waiting handler continue. If no handler waits, the next one continues at once.
    pub(crate) fn go_on(&self) {
        self.0.go_on.notify_one();
    }

    pub(crate) fn handlers(&self) -> Handlers {
        *self.0.handlers.borrow()
    }

    /// Waits until this many handlers began, ended and were dropped.
    pub(crate) async fn until(&self, handlers: Handlers) {
        let mut changes = self.0.handlers.subscribe();
        let reached = changes.wait_for(|now| *now == handlers);
        let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
        if reached.is_err() {
            panic!("{:?} instead of {handlers:?}", self.handlers());
        }
    }

    fn enter(&self) -> Presence {
        self.0.handlers.send_modify(|(began, ..)| *began += 1);
        Presence(self.clone(), false)
    }
}

impl Presence {
    fn leave(mut self) {
        self.1 = true;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.0.handlers.send_modify(|(_, ended, dropped)| {
            *(if self.1 { ended } else { dropped }) += 1;
        });
    }
}

async fn asks(ctx: Ctx, State(stage): State<Stage>) -> Result<String> {
    let here = stage.enter();
    let seat: Seat = ctx.elicit("A seat?").await?.accepted()?;
    here.leave();
    Ok(format!("by the window: {}", seat.window))
}

async fn waits(State(stage): State<Stage>) -> Result<&'static str> {
    let here = stage.enter();
    stage.0.go_on.notified().await;
    here.leave();
    Ok("It was worth the wait.")
}

/// Waits in a commit, which continues without its call.
async fn commits(ctx: Ctx, State(stage): State<Stage>) -> Result<String> {
    let waits = async move || waits(State(stage)).await.map(str::to_owned);
    ctx.commit("work", waits).await
}

/// Sends progress and log messages before it ends.
async fn tells(ctx: Ctx, State(stage): State<Stage>) -> Result<&'static str> {
    let here = stage.enter();
    ctx.progress(Progress::of(1.0, 2.0).message("half of it"));
    ctx.log(askback::protocol::LoggingLevel::Info, "a line");
    stage.0.go_on.notified().await;
    ctx.progress(Progress::of(2.0, 2.0).message("all of it"));
    here.leave();
    Ok("Told.")
}

/// Closes the stream, so that its client has to reconnect for the result.
async fn lets_go(ctx: Ctx, State(stage): State<Stage>) -> Result<&'static str> {
    let here = stage.enter();
    ctx.progress(Progress::at(1.0));
    ctx.close_stream();
    stage.0.go_on.notified().await;
    ctx.progress(Progress::at(2.0));
    here.leave();
    Ok("You came back.")
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Flood {
    lines: usize,
    bytes: usize,
    result: usize,
}

async fn floods(ctx: Ctx, State(stage): State<Stage>, flood: Json<Flood>) -> Result<String> {
    let here = stage.enter();
    let line = "x".repeat(flood.0.bytes);
    for at in 0..flood.0.lines {
        ctx.progress(Progress::at(at as f64).message(&*line));
        tokio::task::yield_now().await;
    }
    here.leave();
    Ok("y".repeat(flood.0.result))
}
