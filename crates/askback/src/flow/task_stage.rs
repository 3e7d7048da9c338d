use std::task::{Poll, Waker};

#[derive(Debug, Default)]
pub(crate) enum TaskStage {
    #[default]
    Undeclared,
    Unsupported,
    Possible,
    Wanted(Vec<Waker>),
    Is,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this call cannot become a task: only a tool can, and it must be declared with \
     `Tool::may_become_task`"
)]
pub(crate) struct NoTaskSupport;

impl TaskStage {
    /// Ready once the call is a task, or at once if it cannot become one.
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
