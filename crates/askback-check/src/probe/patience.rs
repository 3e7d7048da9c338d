//! Decides when to give up a server that does not answer, over all of its connections.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{End, Reply};

/// The patience with a server, shared by all probes of a run.
#[derive(Debug, Clone)]
pub struct Patience(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The number of unanswered requests in a row. The first request of a connection does not
    /// count, because the server may not know this handshake.
    silent: u32,
    whole: Duration,
    until: Option<Instant>,
    lost: Option<GiveUpReason>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveUpReason {
    /// This many requests in a row were not answered, each within this time.
    Unresponsive(u32, Duration),
    TimedOut(Duration),
    Interrupted,
}

const DEAF: u32 = 6;

impl Patience {
    pub fn new(whole: Duration) -> Self {
        Self(Arc::new(Mutex::new(State {
            silent: 0,
            whole,
            until: Instant::now().checked_add(whole),
            lost: None,
        })))
    }

    pub fn lost(&self) -> Option<GiveUpReason> {
        let mut state = self.lock();
        if state.lost.is_none() && state.until.is_some_and(|until| Instant::now() >= until) {
            state.lost = Some(GiveUpReason::TimedOut(state.whole));
        }
        state.lost.clone()
    }

    pub(super) fn note(&self, reply: &Reply, is_first: bool) {
        let mut state = self.lock();
        match &reply.end {
            End::Silent(time) if !is_first => {
                state.silent = state.silent.saturating_add(1);
                if state.silent >= DEAF && state.lost.is_none() {
                    state.lost = Some(GiveUpReason::Unresponsive(state.silent, *time));
                }
            }
            _ if reply.answer.is_some() && !is_first => state.silent = 0,
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_server_is_given_up_after_so_many_silences_in_a_row() {
        let patience = Patience::new(60 * SECOND);
        let (mut silent, mut answered) = (Reply::default(), Reply::default());
        silent.end = End::Silent(SECOND);
        answered.answer = Some(json!({}));
        let silences = |times, is_first| (0..times).for_each(|_| patience.note(&silent, is_first));
        silences(DEAF, true);
        silences(DEAF - 1, false);
        patience.note(&answered, true);
        assert_eq!(patience.lost(), None);
        patience.note(&answered, false);
        silences(DEAF - 1, false);
        assert_eq!(patience.lost(), None);
        silences(1, false);
        assert_eq!(
            patience.lost(),
            Some(GiveUpReason::Unresponsive(DEAF, SECOND))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_for_all_of_it_ends() {
        let patience = Patience::new(SECOND);
        assert_eq!(patience.lost(), None);
        tokio::time::advance(SECOND).await;
        assert_eq!(patience.lost(), Some(GiveUpReason::TimedOut(SECOND)));
    }
}
