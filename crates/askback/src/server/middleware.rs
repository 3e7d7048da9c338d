//! Middleware: code that runs around each call, whatever its transport and revision.
//!
//! A [`Middleware`] sees every request that reaches a handler: `tools/call`, `prompts/get`,
//! `resources/read` and `completion/complete`. It can continue the call, refuse it with an error of
//! its own, and look at its outcome.
//!
//! ```
//! use std::time::Instant;
//!
//! use askback::{Error, Result, Server, Tool, middleware::{HandledCall, Middleware, Next}, ctx::Incoming};
//!
//! /// Says how long each call took.
//! struct Timing;
//!
//! impl Middleware for Timing {
//!     async fn around(&self, call: &Incoming, next: Next<'_>) -> Result<HandledCall> {
//!         let begun = Instant::now();
//!         let handled = next.run().await;
//!         eprintln!("{} {}: {:?}", call.method(), call.target(), begun.elapsed());
//!         handled
//!     }
//! }
//!
//! /// Rejects unknown callers.
//! struct Known;
//!
//! impl Middleware for Known {
//!     async fn around(&self, call: &Incoming, next: Next<'_>) -> Result<HandledCall> {
//!         match call.principal() {
//!             Some(_) => next.run().await,
//!             None => Err(Error::new("Sign in first.")),
//!         }
//!     }
//! }
//!
//! let server = Server::new("agency", "1.0.0")
//!     .tool(Tool::new("hello", async || Ok("Hello!")))
//!     .middleware(Timing)
//!     .middleware(Known)
//!     .build();
//! assert!(server.is_ok());
//! ```

use std::{future::Future, sync::Arc};

use askback_core::protocol::{CompleteResult, Outcome};

use super::{answer::Answer, trace::CallEnd};
use crate::{
    ctx::Incoming,
    error::{Error, Result},
    flow::BoxFuture,
};

/// Code that runs around each call.
///
/// It runs **once per round**, outside the replay of handlers. In 2026-07-28 a call that asks a
/// user comes again with the answer, and passes the middleware each time. In the handshake
/// revisions the questions are sent while the call runs, and it passes once. A client may send a
/// request again if the response was lost: do nothing here that must happen only once.
///
/// Calls of something that does not exist for the caller do not reach middleware, nor do calls that
/// the [rate limit](crate::ServerBuilder::without_rate_limit) refuses. If a call becomes a
/// [task](crate::Tool::task), the middleware sees only how it started.
pub trait Middleware: Send + Sync + 'static {
    /// Handles a call, usually by running [the rest](Next::run).
    ///
    /// # Errors
    ///
    /// The handler's error, or one that refuses the call; clients see either like [a handler's
    /// error](crate::Error).
    fn around(
        &self,
        call: &Incoming,
        next: Next<'_>,
    ) -> impl Future<Output = Result<HandledCall>> + Send;
}

/// The rest of the chain: other middleware, and then the handler.
#[must_use = "a call is handled when what is next is run"]
pub struct Next<'a> {
    rest: &'a [Layer],
    call: &'a Incoming,
    handler: BoxFuture<'a, Result<HandledCall>>,
}

/// A call that its handler has handled. Middleware cannot change the result.
#[derive(Debug)]
pub struct HandledCall(CallEnd);

pub(super) type Layer = Arc<dyn ErasedMiddleware>;

pub(super) trait ErasedMiddleware: Send + Sync {
    fn around<'a>(
        &'a self,
        call: &'a Incoming,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<HandledCall>>;
}

impl<M: Middleware> ErasedMiddleware for M {
    fn around<'a>(
        &'a self,
        call: &'a Incoming,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<HandledCall>> {
        Box::pin(Middleware::around(self, call, next))
    }
}

impl Next<'_> {
    /// Runs the rest of the chain.
    ///
    /// # Errors
    ///
    /// The error of other middleware or of the handler.
    pub async fn run(self) -> Result<HandledCall> {
        match self.rest.split_first() {
            None => self.handler.await,
            Some((first, rest)) => first.around(self.call, Next { rest, ..self }).await,
        }
    }
}

impl HandledCall {
    /// Returns whether a tool returned an error result.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.0 == CallEnd::Failed
    }

    /// Returns whether the call asks a question: this round ends here, and the client sends the
    /// call again with the answer.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.0 == CallEnd::Asked
    }

    /// Returns whether the call became a task.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.0 == CallEnd::Task
    }
}

pub(super) trait HandlerResult: Send {
    fn handled(&self) -> HandledCall;
}

impl<T: Answer> HandlerResult for Outcome<T> {
    fn handled(&self) -> HandledCall {
        HandledCall(match self {
            Self::Done(result) if result.is_error() => CallEnd::Failed,
            outcome => CallEnd::of(outcome),
        })
    }
}

impl HandlerResult for CompleteResult {
    fn handled(&self) -> HandledCall {
        HandledCall(CallEnd::Done)
    }
}

pub(super) async fn around<T: HandlerResult>(
    layers: &[Layer],
    call: &Incoming,
    handler: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    let mut answered = None;
    let handler = async {
        let answer = handler.await?;
        let handled = answer.handled();
        answered = Some(answer);
        Ok(handled)
    };
    let next = Next {
        rest: layers,
        call,
        handler: Box::pin(handler),
    };
    next.run().await?;
    answered.ok_or_else(|| Error::new("a middleware answered a call with what handled another"))
}
