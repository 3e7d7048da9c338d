//! A timer whose deadline survives a suspension.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use super::{Cell, Slot};

/// Ready once its time is over, also where that happened between two rounds.
pub(crate) struct Timer {
    cell: Arc<Cell>,
    name: &'static str,
    span: Duration,
    slot: Option<Slot>,
}

impl Timer {
    pub(crate) fn new(cell: &Arc<Cell>, name: &'static str, span: Duration) -> Self {
        Self {
            cell: Arc::clone(cell),
            name,
            span,
            slot: None,
        }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.slot.is_none() {
            let span = u64::try_from(self.span.as_millis()).unwrap_or(u64::MAX);
            let deadline = self.cell.clock().now().saturating_add(span);
            let id = self.cell.flow().begin_timer(self.name, deadline);
            self.slot = Some(Slot::new(&self.cell, id));
        }
        let Some(slot) = &self.slot else {
            return Poll::Pending;
        };
        self.cell.flow().poll_timer(slot.id, cx.waker())
    }
}
