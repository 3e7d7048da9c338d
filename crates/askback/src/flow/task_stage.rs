//! The moment in which a call becomes a task.

use std::task::{Poll, Waker};

/// Whether the call of a handler is a task, or may become one.
#[derive(Debug, Default)]
pub(crate) enum TaskStage {
    /// It was not declared that it may.
    #[default]
    Undeclared,
    /// It may not: the client takes no tasks.
    Unsupported,
    /// It may, when its handler says so.
    Possible,
    /// Its handler waits for it.
    Wanted(Vec<Waker>),
    Is,
}

/// A call may only become a task if that was declared beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this call cannot become a task: only a tool can, and it must be declared with \
     `Tool::may_become_task`"
)]
pub(crate) struct NoTaskSupport;

impl TaskStage {
    /// Ready once the call is a task, and at once where it never will be one.
    pub(super) fn poll(&mut self, waker: &Waker) -> Poll<Result<(), NoTaskSupport>> {
        match self {
            Self::Undeclared => Poll::Ready(Err(NoTaskSupport)),
            Self::Unsupported | Self::Is => Poll::Ready(Ok(())),
            Self::Possible => {
                *self = Self::Wanted(vec![waker.clone()]);
                Poll::Pending
            }
            Self::Wanted(wakers) => {
                if !wakers.iter().any(|known| known.will_wake(waker)) {
                    wakers.push(waker.clone());
                }
                Poll::Pending
            }
        }
    }
}
