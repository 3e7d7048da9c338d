//! Middleware: code that runs around each call, whatever its transport and revision.
//!
//! A [`Middleware`] sees every request that reaches a handler: `tools/call`, `prompts/get`,
//! `resources/read` and `completion/complete`. It may let it go on, refuse it in words of its own, and
//! look at how it ended.
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
//! /// Refuses whoever is not known.
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

use super::answer::Answer;
use crate::{
    ctx::Incoming,
    error::{Error, Result},
    flow::BoxFuture,
};

/// Code that runs around each call.
///
/// It runs **once a round**, outside of the replay of handlers: in 2026-07-28 a call that asks a person
/// comes again with the answer, and each time passes the middleware; in the handshake revisions the
/// questions travel while the call is under way, and it passes once. A request whose response is lost may
/// be sent again, as any other may: do nothing here that must happen only once.
///
/// A call of something that does not exist for the caller reaches no middleware, nor does a call
/// that the [rate limit](crate::ServerBuilder::without_rate_limit) refuses. Of a call that becomes
/// a [task](crate::Tool::task), the middleware sees how it began.
pub trait Middleware: Send + Sync + 'static {
    /// Handles a call, most often by running what is [next](Next::run).
    ///
    /// # Errors
    ///
    /// The handler's error, or one that refuses the call; clients see either as they see
    /// [those of handlers](crate::Error).
    fn around(
        &self,
        call: &Incoming,
        next: Next<'_>,
    ) -> impl Future<Output = Result<HandledCall>> + Send;
}

/// The rest of what handles a call: other middleware, and then the handler.
#[must_use = "a call is handled when what is next is run"]
pub struct Next<'a> {
    rest: &'a [Layer],
    call: &'a Incoming,
    handler: BoxFuture<'a, Result<HandledCall>>,
}

/// A call that was handled, by its own handler. Its result is not changed on the way.
#[derive(Debug)]
pub struct HandledCall(CallEnding);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallEnding {
    Done,
    /// It is a tool's result that is an error.
    Failed,
    Asking,
    Task,
}

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
    /// Goes on with the call.
    ///
    /// # Errors
    ///
    /// Fails with the refusal of the rest of the middleware, or the handler's error.
    pub async fn run(self) -> Result<HandledCall> {
        match self.rest.split_first() {
            None => self.handler.await,
            Some((first, rest)) => first.around(self.call, Next { rest, ..self }).await,
        }
    }
}

impl HandledCall {
    /// Returns whether a tool answered with a result that is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.0 == CallEnding::Failed
    }

    /// Returns whether the call asks something first: it ends here, and comes again with the answer.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.0 == CallEnding::Asking
    }

    /// Returns whether the call became a task.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.0 == CallEnding::Task
    }
}

pub(super) trait HandlerResult: Send {
    fn handled(&self) -> HandledCall;
}

impl<T: Answer> HandlerResult for Outcome<T> {
    fn handled(&self) -> HandledCall {
        HandledCall(match self {
            Self::Done(result) if result.is_error() => CallEnding::Failed,
            Self::Done(_) => CallEnding::Done,
            Self::NeedInput(_) => CallEnding::Asking,
            Self::Task(_) | Self::CoreTask(_) => CallEnding::Task,
        })
    }
}

impl HandlerResult for CompleteResult {
    fn handled(&self) -> HandledCall {
        HandledCall(CallEnding::Done)
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
