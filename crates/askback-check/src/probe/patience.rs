//! How long a server is borne that does not answer: a count over all of its connections.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{End, Reply};

/// The patience with a server, shared by the probes of one run.
#[derive(Debug, Clone)]
pub struct Patience(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The requests in a row, over all connections, that were not answered. The first of a connection
    /// does not count: a server may know its greeting alone.
    silent: u32,
    /// Whether a process did not end with its input.
    lingers: bool,
    whole: Duration,
    until: Option<Instant>,
    lost: Option<GiveUpReason>,
}

/// Why a server is tried no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveUpReason {
    /// So many requests in a row were not answered, each within this time.
    Unresponsive(u32, Duration),
    /// The time for all of it is over.
    TimedOut(Duration),
}

/// How many requests in a row may be unanswered before a server is given up.
const DEAF: u32 = 6;

/// How long a process may take to end once one was seen that did not end in time.
const SHORT: Duration = Duration::from_millis(500);

impl Patience {
    /// A patience that is over after this time in any case.
    pub fn new(whole: Duration) -> Self {
        Self(Arc::new(Mutex::new(State {
            silent: 0,
            lingers: false,
            whole,
            until: Instant::now().checked_add(whole),
            lost: None,
        })))
    }

    /// Why the server is tried no further, if so.
    pub fn lost(&self) -> Option<GiveUpReason> {
        let mut state = self.lock();
        if state.lost.is_none() && state.until.is_some_and(|until| Instant::now() >= until) {
            state.lost = Some(GiveUpReason::TimedOut(state.whole));
        }
        state.lost.clone()
    }

    /// Notes what came of a request.
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

    /// Notes whether a process ended when its input did.
    pub(super) fn note_end(&self, is_by_itself: bool) {
        self.lock().lingers |= !is_by_itself;
    }

    /// How long a process may take to end: this time, and as long as its slowest answer took, which tells how busy the
    /// machine is.
    pub(super) fn exit(&self, least: Duration, slowest: Duration) -> Duration {
        match self.lock().lingers {
            true => least.min(SHORT),
            false => least.max(slowest),
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

    #[tokio::test]
    async fn a_process_has_as_long_to_end_as_its_slowest_answer_took_until_one_lingers() {
        let patience = Patience::new(SECOND);
        patience.note_end(true);
        assert_eq!(patience.exit(5 * SECOND, SECOND), 5 * SECOND);
        assert_eq!(patience.exit(5 * SECOND, 7 * SECOND), 7 * SECOND);
        patience.note_end(false);
        assert_eq!(patience.exit(5 * SECOND, 7 * SECOND), SHORT);
    }
}
