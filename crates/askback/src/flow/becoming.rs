//! The moment in which a call becomes a task.

use std::{
    sync::Mutex,
    task::{Poll, Waker},
};

use super::lock;

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
    /// It is one.
    Is,
}

/// The stage of one call, shared between its drive and the futures of its handler.
#[derive(Debug)]
pub(crate) struct Becoming(Mutex<TaskStage>);

/// A call may only become a task if that was declared beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this call cannot become a task: only a tool can, and it must be declared with \
     `Tool::may_become_task`"
)]
pub(crate) struct NotDeclared;

impl Becoming {
    pub(super) fn new(stage: TaskStage) -> Self {
        Self(Mutex::new(stage))
    }

    /// Ready once the call is a task, and at once where it never will be one.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Result<(), NotDeclared>> {
        let mut stage = lock(&self.0);
        match &mut *stage {
            TaskStage::Undeclared => Poll::Ready(Err(NotDeclared)),
            TaskStage::Unsupported | TaskStage::Is => Poll::Ready(Ok(())),
            TaskStage::Possible => {
                *stage = TaskStage::Wanted(vec![waker.clone()]);
                Poll::Pending
            }
            TaskStage::Wanted(wakers) => {
                if !wakers.iter().any(|known| known.will_wake(waker)) {
                    wakers.push(waker.clone());
                }
                Poll::Pending
            }
        }
    }

    pub(crate) fn is_task(&self) -> bool {
        matches!(&*lock(&self.0), TaskStage::Is)
    }

    /// Whether the handler waits for its call to become a task.
    pub(super) fn is_wanted(&self) -> bool {
        matches!(&*lock(&self.0), TaskStage::Wanted(_))
    }

    /// The call is a task now.
    pub(crate) fn grant(&self) {
        let before = std::mem::replace(&mut *lock(&self.0), TaskStage::Is);
        if let TaskStage::Wanted(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}
