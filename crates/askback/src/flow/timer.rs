use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};

use super::{Cell, Scope, Slot};
use crate::clock::millis;

/// Ready once the time has passed, even if that happened between two rounds.
pub(crate) struct Timer {
    cell: Arc<Cell>,
    name: &'static str,
    span: Duration,
    state: State,
}

enum State {
    New,
    /// Recorded, in the handler's own course.
    Recorded(Slot),
    /// Not recorded, in a step or outside the handler.
    Aside(Pin<Box<Sleep>>),
}

impl Timer {
    pub(crate) fn new(cell: &Arc<Cell>, name: &'static str, span: Duration) -> Self {
        Self {
            cell: Arc::clone(cell),
            name,
            span,
            state: State::New,
        }
    }
}

impl Timer {
    fn begin(&self) -> State {
        if !Scope::may_ask(&self.cell) {
            return State::Aside(Box::pin(sleep(self.span)));
        }
        let deadline = self.cell.clock().now().saturating_add(millis(self.span));
        let id = self.cell.flow().begin_timer(self.name, deadline);
        State::Recorded(Slot::new(&self.cell, id))
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let State::New = self.state {
            self.state = self.begin();
        }
        let Self { cell, state, .. } = &mut *self;
        match state {
            State::New => Poll::Pending,
            State::Recorded(slot) => cell.flow().poll_timer(slot.id, cx.waker()),
            State::Aside(sleep) => sleep.as_mut().poll(cx),
        }
    }
}
