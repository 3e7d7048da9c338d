use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::ask::{CheckedAnswer, Release};

use super::{BoxFuture, QuestionFuture, Scope, scope::COURSE_OF_PAGES};
use crate::error::Result;

/// Waits up to the given time until the user is done with the page, and returns whether they are.
type Wait = Box<dyn FnMut(Duration) -> BoxFuture<'static, Result<bool>> + Send>;

pub(crate) struct Page {
    asking: QuestionFuture,
    wait: Wait,
    /// Set while the answer is held.
    waiting: Option<BoxFuture<'static, Result<bool>>>,
}

impl Page {
    pub(crate) fn new(mut asking: QuestionFuture, wait: Wait) -> Self {
        asking.hold();
        Self {
            asking,
            wait,
            waiting: None,
        }
    }
}

impl Future for Page {
    type Output = Result<CheckedAnswer>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let page = &mut *self;
        loop {
            let Some(waiting) = &mut page.waiting else {
                let polled = Pin::new(&mut page.asking).poll(cx);
                if polled.is_ready() || !page.asking.is_held() {
                    return polled.map_err(Into::into);
                }
                let (_, longest) = page.asking.cell().patience();
                page.waiting = Some(limited((page.wait)(longest), longest));
                continue;
            };
            let polled = {
                let _scope = Scope::aside(COURSE_OF_PAGES);
                waiting.as_mut().poll(cx)
            };
            let Poll::Ready(is_done) = polled else {
                return Poll::Pending;
            };
            page.waiting = None;
            let (can_try_again, _) = page.asking.cell().patience();
            page.asking.release(match is_done? {
                true => Release::Done,
                false if can_try_again => Release::NotYet,
                false => Release::TooLate,
            });
        }
    }
}

fn limited(
    waiting: BoxFuture<'static, Result<bool>>,
    longest: Duration,
) -> BoxFuture<'static, Result<bool>> {
    Box::pin(async move {
        let ended = tokio::time::timeout(longest, waiting).await;
        ended.unwrap_or(Ok(false))
    })
}
