//! Hides the question while the terminal changes its size.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};

/// How long the size must stay the same before the question is drawn again. While a window is being
/// resized, each drawn frame would be wrapped and pushed into the scrollback.
const SAME: Duration = Duration::from_millis(60);

#[derive(Debug, Default)]
pub(super) struct Resizing(Option<Pin<Box<Sleep>>>);

impl Resizing {
    pub(super) fn changed(&mut self) {
        self.0 = Some(Box::pin(sleep(SAME)));
    }

    /// Whether the size may still change.
    pub(super) fn goes_on(&self) -> bool {
        self.0.is_some()
    }

    /// Waits until the size stays the same; pending forever if it did not change.
    pub(super) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let over = match &mut self.0 {
            Some(same) => same.as_mut().poll(context),
            None => Poll::Pending,
        };
        if over.is_ready() {
            self.0 = None;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::{advance, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_question_is_drawn_once_the_size_stays_the_same() {
        let mut resizing = Resizing::default();
        assert!(!resizing.goes_on());
        let soon = Duration::from_millis(1);
        for _ in 0..10 {
            resizing.changed();
            advance(SAME / 2).await;
            let over = poll_fn(|context| resizing.poll_over(context));
            assert!(timeout(soon, over).await.is_err());
            assert!(resizing.goes_on());
        }
        let over = poll_fn(|context| resizing.poll_over(context));
        assert!(timeout(SAME, over).await.is_ok());
        assert!(!resizing.goes_on());
    }
}
