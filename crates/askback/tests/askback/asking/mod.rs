//! Handlers that ask, over every revision.

mod attacks;
mod capabilities;
#[cfg(feature = "http-server")]
mod clients;
pub(crate) mod pages;
mod replay;
mod small;
mod transcript;
mod unfit;

use std::task::Poll;

use askback::{
    Form, Server, ServerBuilder, Tool,
    handler::{Handler, IntoToolResult},
    testing::{self, Person, Run},
};
use serde_json::{Value, json};

#[derive(Form, Debug)]
pub(crate) struct Seat {
    /// By the window?
    pub(crate) window: bool,
}

/// A user who accepts every window seat.
pub(crate) fn by_the_window() -> Person {
    Person::new().answer_next(json!({"window": true}))
}

pub(crate) fn serving<M: 'static, H>(handler: H) -> impl Fn() -> ServerBuilder + Clone + Send + Sync
where
    H: Handler<M>,
    H::Output: IntoToolResult,
{
    move || Server::new("tests", "1").tool(Tool::new("tool", handler.clone()))
}

/// Calls a tool in every revision and with every disturbance. The results must be the same.
pub(crate) async fn everywhere<M: 'static, H>(handler: H, person: Person) -> Run
where
    H: Handler<M>,
    H::Output: IntoToolResult,
{
    let trial = testing::call(serving(handler), "tool", json!({})).with(person);
    trial.in_every_revision().await.assert_same().clone()
}

pub(crate) async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut left, mut right) = (None, None);
    std::future::poll_fn(|cx| {
        left = left.take().or_else(|| ready(a.as_mut().poll(cx)));
        right = right.take().or_else(|| ready(b.as_mut().poll(cx)));
        match (left.take(), right.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (left, right) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// The parameters of one round of a call that asks for a seat. With `before`, they answer its
/// question.
pub(crate) fn seat_round(tool: &str, before: Option<&Value>) -> Value {
    let mut params = json!({
        "name": tool,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
    });
    if let Some(before) = before {
        params["requestState"] = before["result"]["requestState"].clone();
        let seat = json!({"action": "accept", "content": {"window": true}});
        params["inputResponses"] = json!({"seat": seat});
    }
    params
}
