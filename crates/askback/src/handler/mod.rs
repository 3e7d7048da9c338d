//! Handlers: async functions with extracted parameters.
//!
//! The parameters are extracted from the call (see [`Extract`]), and the return value is converted to the method's
//! result (see [`IntoToolResult`], [`IntoPromptResult`], [`IntoReadResult`]).

#[cfg(debug_assertions)]
mod blocking;
#[cfg(feature = "http-server")]
mod extension;
mod extract;
mod json;
#[cfg(feature = "schemars")]
mod nested;
mod output;
mod state;

use std::{future::Future, pin::Pin, sync::Arc, task::Poll};

#[cfg(feature = "http-server")]
pub use extension::Extension;
#[doc(hidden)]
pub use extract::{AskMessage, AskWithMessage, NoForm, Probe, is_asked, is_parameter};
pub use extract::{Extract, Extraction};
#[cfg(feature = "schemars")]
pub use json::Json;
pub use json::{JsonWithText, PlainJson};
#[cfg(feature = "schemars")]
#[doc(hidden)]
pub use nested::{ArgumentReader, CallArguments, NestedArguments, ObjectSchema};
pub use output::{IntoPromptResult, IntoReadResult, IntoToolResult};
pub use state::State;

#[cfg(debug_assertions)]
use self::blocking::BlockingWatch;
use crate::{
    ctx::{Ctx, Parameters},
    error::{Error, Result},
    flow::BoxFuture,
};

/// An async function of up to six parameters that implement [`Extract`].
///
/// `Marker` distinguishes functions with different parameters and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    note = "a handler is an `async fn`; its parameters are \
            `Ctx`, a type with `#[derive(Form)]`, `Json<_>`, `PlainJson<_>`, `Ask<_>` or `State<_>`",
    note = "it owns its parameters: none is a reference; a plain one such as a `String` is for functions \
            under `#[tool]`, `#[prompt]` or `#[resource]`",
    note = "its future is `Send`: nothing like an `Rc` or a lock guard is kept across an `.await`"
)]
pub trait Handler<Marker>: Clone + Send + Sync + 'static {
    /// The return type.
    type Output: Send + 'static;

    /// Returns the arguments and state that the parameters need.
    fn parameters() -> Parameters;

    /// Runs the handler and converts its return value.
    fn call<T: 'static>(
        &self,
        ctx: Ctx,
        convert: fn(Self::Output) -> Result<T>,
    ) -> BoxFuture<'static, Result<T>>;
}

/// Returns a handler's future unchanged. It is the only place with the bounds on that future, so that a future that
/// does not meet them causes only one compiler error.
#[doc(hidden)]
pub fn handling<R, F>(future: F) -> impl Future<Output = R> + Send + 'static
where
    F: Future<Output = R> + Send + 'static,
    R: 'static,
{
    future
}

#[doc(hidden)]
#[expect(
    clippy::manual_async_fn,
    reason = "the bounds of the result have the compiler point at the handler"
)]
pub fn handling_result<R, E, F>(future: F) -> impl Future<Output = Result<R>> + Send + 'static
where
    F: Future<Output = Result<R, E>> + Send + 'static,
    R: 'static,
    E: HandlerError,
{
    async move { future.await.map_err(HandlerError::into_error) }
}

/// An error type that a function with `#[tool]` or a similar attribute may return: one that `?` converts.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return an error of the type `{Self}`",
    label = "no error of a handler",
    note = "the error is `askback::Error` or implements `std::error::Error`; with the feature `anyhow` of askback \
            it may be `anyhow::Error`, too"
)]
pub trait HandlerError: 'static {
    /// Converts to the call's error.
    fn into_error(self) -> Error;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Error> + 'static> HandlerError for E {
    fn into_error(self) -> Error {
        self.into()
    }
}

pub(crate) struct ErasedHandler<T> {
    run: Run<T>,
    parameters: Arc<Parameters>,
}

type Run<T> = Arc<dyn Fn(Ctx) -> BoxFuture<'static, Result<T>> + Send + Sync>;

impl<T> ErasedHandler<T> {
    pub(crate) fn call(&self, ctx: Ctx) -> BoxFuture<'static, Result<T>> {
        (self.run)(ctx)
    }

    pub(crate) fn parameters(&self) -> &Arc<Parameters> {
        &self.parameters
    }
}

impl<T> Clone for ErasedHandler<T> {
    fn clone(&self) -> Self {
        Self {
            run: Arc::clone(&self.run),
            parameters: Arc::clone(&self.parameters),
        }
    }
}

pub(crate) fn erase<M, H, T>(handler: H, convert: fn(H::Output) -> Result<T>) -> ErasedHandler<T>
where
    H: Handler<M>,
    T: 'static,
{
    #[cfg(debug_assertions)]
    let watch = BlockingWatch::default();
    ErasedHandler {
        run: Arc::new(move |ctx| {
            // In release builds, this does not read the clock.
            #[cfg(debug_assertions)]
            let running = Box::pin(watch.run(ctx.clone(), handler.call(ctx, convert)));
            #[cfg(not(debug_assertions))]
            let running = handler.call(ctx, convert);
            running
        }),
        parameters: Arc::new(H::parameters()),
    }
}

macro_rules! handler {
    ($(($parameter:ident, $value:ident)),*) => {
        impl<F, Fut, R, $($parameter),*> Handler<fn($($parameter),*) -> R> for F
        where
            F: Fn($($parameter),*) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future<Output = R> + Send + 'static,
            R: Send + 'static,
            $($parameter: Extract + 'static),*
        {
            type Output = R;

            #[allow(unused_mut, reason = "a handler without parameters wants nothing")]
            fn parameters() -> Parameters {
                let mut parameters = Parameters::default();
                $($parameter::describe(&mut parameters);)*
                parameters
            }

            #[allow(
                unused_mut,
                unused_variables,
                reason = "a handler without parameters takes nothing"
            )]
            fn call<T: 'static>(
                &self,
                ctx: Ctx,
                convert: fn(R) -> Result<T>,
            ) -> BoxFuture<'static, Result<T>> {
                let handler = self.clone();
                Box::pin(async move {
                    $(let mut $value = Pending::new($parameter::extract(&ctx))?;)*
                    // Polled together, so that parameters that ask do so in one round.
                    std::future::poll_fn(|cx| {
                        let mut ready = Poll::Ready(Ok::<(), Error>(()));
                        $(match $value.poll(cx) {
                            Poll::Ready(Ok(())) => {}
                            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                            Poll::Pending => ready = Poll::Pending,
                        })*
                        ready
                    })
                    .await?;
                    convert(handler($($value.take()?),*).await)
                })
            }
        }
    };
}

handler!();
handler!((A, a));
handler!((A, a), (B, b));
handler!((A, a), (B, b), (C, c));
handler!((A, a), (B, b), (C, c), (D, d));
handler!((A, a), (B, b), (C, c), (D, d), (E, e));
handler!((A, a), (B, b), (C, c), (D, d), (E, e), (G, g));

enum Pending<T> {
    Asking(BoxFuture<'static, Result<T>>),
    Ready(Option<T>),
}

impl<T> Pending<T> {
    fn new(extraction: Extraction<T>) -> Result<Self> {
        match extraction {
            Extraction::Ready(value) => Ok(Self::Ready(Some(value?))),
            Extraction::Asking(asking) => Ok(Self::Asking(asking)),
        }
    }

    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Result<()>> {
        if let Self::Asking(asking) = self {
            match Pin::as_mut(asking).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(value)) => *self = Self::Ready(Some(value)),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn take(&mut self) -> Result<T> {
        match self {
            Self::Ready(value) => value.take(),
            Self::Asking(_) => None,
        }
        .ok_or_else(|| Error::new("a parameter was not ready"))
    }
}
