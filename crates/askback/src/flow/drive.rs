//! The poll loop.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use askback_core::ask::{Millis, Verdict};
use tokio::{
    task::coop,
    time::{Sleep, sleep},
};

use super::{BoxFuture, Cell, Scope, lock};
use crate::error::Error;

/// How often a handler is polled before other tasks of the runtime get their turn.
const POLLS_IN_A_ROW: u32 = 128;

/// A handler on its way.
pub(crate) struct Drive<T> {
    cell: Arc<Cell>,
    handler: Option<BoxFuture<'static, Result<T, Error>>>,
    children: Vec<BoxFuture<'static, ()>>,
    alarm: Option<Alarm>,
}

/// Where a drive came to a stop.
pub(crate) enum Turn<T> {
    /// The handler has ended.
    Done(Result<T, Error>),
    /// Its questions must be asked before it can go on.
    Ask,
    /// It goes on once its call is a task.
    BecomeTask,
}

/// Wakes the drive at a flow's next deadline.
struct Alarm {
    deadline: Millis,
    sleep: Pin<Box<Sleep>>,
}

/// Tells a wake that came while the handler was polled from one that came later.
#[derive(Default)]
pub(super) struct Signal {
    raised: AtomicBool,
    polling: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl<T> Drive<T> {
    pub(crate) fn new(cell: Arc<Cell>, handler: BoxFuture<'static, Result<T, Error>>) -> Self {
        Self {
            cell,
            handler: Some(handler),
            children: Vec::new(),
            alarm: None,
        }
    }

    pub(crate) fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    /// Runs the handler until it ends, or something must be done before it can go on.
    pub(crate) fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Turn<T>> {
        let signal = Arc::clone(&self.cell.signal);
        signal.listen(cx.waker());
        let waker = Waker::from(Arc::clone(&signal));
        let mut cx_inner = Context::from_waker(&waker);
        for _ in 0..POLLS_IN_A_ROW {
            signal.begin();
            if let Poll::Ready(result) = self.poll_handler(&mut cx_inner) {
                return Poll::Ready(Turn::Done(result));
            }
            if signal.end() {
                continue;
            }
            if !coop::has_budget_remaining() {
                // What is pending may only wait for this task to have its next turn.
                break;
            }
            let now = self.cell.clock.now();
            let mut flow = self.cell.flow();
            let verdict = flow.verdict(now);
            let wants_task = flow.wants_task();
            drop(flow);
            match verdict {
                Verdict::Delivered => {}
                // What it asks beside is for the task to ask.
                _ if wants_task => return Poll::Ready(Turn::BecomeTask),
                Verdict::Ask => return Poll::Ready(Turn::Ask),
                Verdict::Wait(deadline) => {
                    if self.poll_alarm(deadline, now, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Drops the handler with all it holds, telling its guards that it will run again.
    pub(crate) fn suspend(mut self) {
        self.cell.suspending.store(true, Ordering::Relaxed);
        self.finish();
    }

    fn poll_handler(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, Error>> {
        let Some(handler) = &mut self.handler else {
            return Poll::Pending;
        };
        let _scope = Scope::handler(&self.cell);
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let polled = handler.as_mut().poll(cx);
            if polled.is_ready() {
                return polled;
            }
            // Children spawned by the handler, or by one another, are polled in the same turn.
            let mut at = 0;
            loop {
                self.children.append(&mut self.cell.take_spawned());
                let Some(child) = self.children.get_mut(at) else {
                    break;
                };
                if child.as_mut().poll(cx).is_ready() {
                    drop(self.children.remove(at));
                } else {
                    at += 1;
                }
            }
            polled
        }));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => {
                self.finish();
                Poll::Ready(result)
            }
            Err(panic) => {
                self.finish();
                Poll::Ready(Err(Error::panicked(&*panic)))
            }
        }
    }

    /// Drops the handler, so that it is not polled again, and its children with it.
    fn finish(&mut self) {
        self.children.clear();
        self.handler = None;
        self.cell.close();
    }

    fn poll_alarm(
        &mut self,
        deadline: Option<Millis>,
        now: Millis,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let Some(deadline) = deadline else {
            self.alarm = None;
            return Poll::Pending;
        };
        let alarm = match &mut self.alarm {
            Some(alarm) if alarm.deadline == deadline => alarm,
            other => {
                let left = Duration::from_millis(deadline.saturating_sub(now));
                other.insert(Alarm {
                    deadline,
                    sleep: Box::pin(sleep(left)),
                })
            }
        };
        let rung = alarm.sleep.as_mut().poll(cx);
        if rung.is_ready() {
            // The two clocks may disagree by a moment: the next alarm is set anew.
            self.alarm = None;
        }
        rung
    }
}

impl Signal {
    pub(super) fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        if !self.polling.load(Ordering::SeqCst)
            && let Some(task) = lock(&self.task).clone()
        {
            task.wake();
        }
    }

    fn listen(&self, waker: &Waker) {
        let mut task = lock(&self.task);
        if !task.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *task = Some(waker.clone());
        }
    }

    /// In this order, a wake that comes in between is seen by [`Signal::end`] or wakes the task.
    fn begin(&self) {
        self.raised.store(false, Ordering::SeqCst);
        self.polling.store(true, Ordering::SeqCst);
    }

    /// Whether a wake came since the poll began.
    fn end(&self) -> bool {
        self.polling.store(false, Ordering::SeqCst);
        self.raised.load(Ordering::SeqCst)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.raise();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.raise();
    }
}
