//! Questions that were just sent to a client of 2026-07-28, to notice refusals that came too fast for a person.

use std::time::Duration;

use askback_core::protocol::{InputRequests, InputRequiredResult};
use tokio::time::Instant;

use super::hold::CallKey;
use crate::mutex::Mutex;

/// A refusal after a longer time may be a person's: [`AskingLimits::person_reaction`] is less by default.
///
/// [`AskingLimits::person_reaction`]: askback_core::limits::AskingLimits::person_reaction
const ROUND_TTL: Duration = Duration::from_secs(10);

const RECENT_ROUNDS: usize = 64;

/// The rounds of one client whose answers are due, the oldest first.
#[derive(Default)]
pub(super) struct RecentRounds(Mutex<Vec<RecentRound>>);

struct RecentRound {
    call: CallKey,
    state: Option<String>,
    questions: InputRequests,
    sent: Instant,
}

impl RecentRounds {
    pub(super) fn add(&self, call: CallKey, round: InputRequiredResult, now: Instant) {
        let mut rounds = self.0.lock();
        rounds.retain(|round| now.duration_since(round.sent) < ROUND_TTL);
        if rounds.len() >= RECENT_ROUNDS {
            rounds.remove(0);
        }
        rounds.push(RecentRound {
            call,
            state: round.request_state,
            questions: round.input_requests.unwrap_or_default(),
            sent: now,
        });
    }

    /// Returns the questions of the round that a request answers, once, and how long ago they were sent.
    pub(super) fn take(
        &self,
        call: &CallKey,
        state: Option<&str>,
        now: Instant,
    ) -> Option<(InputRequests, Duration)> {
        let mut rounds = self.0.lock();
        let is_answered =
            |round: &RecentRound| round.call == *call && round.state.as_deref() == state;
        let at = rounds.iter().position(is_answered)?;
        let round = rounds.remove(at);
        Some((round.questions, now.duration_since(round.sent)))
    }
}
