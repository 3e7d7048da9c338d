use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
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

use super::{BoxFuture, Cell, Scope};
use crate::{error::Error, mutex::Mutex};

/// How many times in a row a handler is polled before other tasks of the runtime may run.
const POLLS_IN_A_ROW: u32 = 128;

pub(crate) struct Drive<T> {
    cell: Arc<Cell>,
    handler: Option<BoxFuture<'static, Result<T, Error>>>,
    children: Vec<BoxFuture<'static, ()>>,
    alarm: Option<Alarm>,
}

pub(crate) enum Turn<T> {
    Done(Result<T, Error>),
    Ask,
    BecomeTask,
}

struct Alarm {
    deadline: Millis,
    sleep: Pin<Box<Sleep>>,
}

/// Distinguishes a wake during the poll of the handler from a later one.
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
                // The handler may just be waiting for this task's next turn.
                break;
            }
            let now = self.cell.clock.now();
            let mut flow = self.cell.flow();
            let verdict = flow.verdict(now);
            let wants_task = flow.wants_task();
            drop(flow);
            match verdict {
                Verdict::Delivered => {}
                // The task will ask the handler's other questions.
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
            // Children that were spawned during this turn are polled in the same turn.
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
            // The two clocks may differ slightly, so the next alarm is set again.
            self.alarm = None;
        }
        rung
    }
}

impl Signal {
    pub(super) fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        if !self.polling.load(Ordering::SeqCst)
            && let Some(task) = self.task.lock().clone()
        {
            task.wake();
        }
    }

    fn listen(&self, waker: &Waker) {
        let mut task = self.task.lock();
        if !task.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *task = Some(waker.clone());
        }
    }

    /// In this order, a wake in between is either seen by [`Signal::end`] or wakes the task.
    fn begin(&self) {
        self.raised.store(false, Ordering::SeqCst);
        self.polling.store(true, Ordering::SeqCst);
    }

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
