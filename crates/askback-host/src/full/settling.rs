//! The moment in which a question takes no keys.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};

/// How long nothing is pressed before a question takes keys: those that were on their way were meant for what stood
/// there before, and a key that is held down comes again and again.
const SILENCE: Duration = Duration::from_millis(600);

/// Whether the question on the screen is too new to take keys.
#[derive(Debug, Default)]
pub(super) struct Settling(Option<Pin<Box<Sleep>>>);

impl Settling {
    /// A question that takes no keys yet, or one that the person asked for.
    pub(super) fn of(settles: bool) -> Self {
        Self(settles.then(|| Box::pin(sleep(SILENCE))))
    }

    pub(super) fn goes_on(&self) -> bool {
        self.0.is_some()
    }

    /// Takes note of a key that was not taken.
    pub(super) fn pressed(&mut self) {
        *self = Self::of(self.goes_on());
    }

    /// Waits until it is over; for ever where nothing settles.
    pub(super) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let over = match &mut self.0 {
            Some(silence) => silence.as_mut().poll(context),
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
    async fn a_key_that_is_held_down_is_none_of_the_person() {
        let is_over = async |settling: &mut Settling, within| {
            let over = poll_fn(|context| settling.poll_over(context));
            timeout(within, over).await.is_ok()
        };
        let soon = Duration::from_millis(1);
        let mut settling = Settling::of(true);
        for _ in 0..100 {
            assert!(!is_over(&mut settling, soon).await);
            advance(Duration::from_millis(500)).await;
            settling.pressed();
        }
        assert!(is_over(&mut settling, SILENCE * 2).await);
        assert!(!settling.goes_on());
        settling.pressed();
        assert!(!settling.goes_on());
        assert!(!is_over(&mut Settling::of(false), SILENCE * 2).await);
    }
}
