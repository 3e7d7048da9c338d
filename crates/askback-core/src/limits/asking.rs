//! The bounds on questions and on the calls that ask them.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on questions, on the calls that ask them, and on what is kept of both.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AskingLimits {
    /// The longest answer of a model that is read, in bytes of JSON; a longer one is refused. An
    /// answer that waits for its handler to ask for it again may be as long.
    pub sampled_bytes: usize,
    /// The longest list of roots that is read, in bytes of JSON; a longer one is refused.
    pub roots_bytes: usize,
    /// How much is kept of a person's reason to decline, and of what was wrong with an answer, in
    /// bytes.
    pub reason_bytes: usize,
    /// How often an answer that breaks its form is asked again before the question is refused.
    pub attempts: u32,
    /// The most questions in one round.
    pub questions_per_round: usize,
    /// The most rounds of one flow (mainstream clients give up at eight to ten).
    pub rounds: u32,
    /// The most further rounds that only ask for a link again that was opened, while what is behind
    /// it is not done. Each takes at least `page`.
    pub link_rounds: u32,
    /// The round from which a flow is logged as unusually long.
    pub rounds_warned: u32,
    /// How long a question of a handshake revision waits for its answer, and after a link was opened
    /// for what is behind it.
    #[serde(deserialize_with = "seconds")]
    pub answer: Duration,
    /// How long a retry waits for what is behind a link before the link is the answer again.
    #[serde(deserialize_with = "seconds")]
    pub page: Duration,
    /// How often the client of a handshake revision is told of progress while a question waits for
    /// its answer, if it asked for that: some clients end a call that is silent for a minute. Zero for never.
    #[serde(deserialize_with = "seconds")]
    pub progress_interval: Duration,
    /// A question that is declined or cancelled sooner than this, without a reason, was not declined
    /// by a person: no person has read it. Zero means that each answer is a person's.
    #[serde(deserialize_with = "seconds")]
    pub person_reaction: Duration,
    /// How long one `ctx.run` or `ctx.commit` may take.
    #[serde(deserialize_with = "seconds")]
    pub run: Duration,
    /// The most commits that a server runs at the same time. Another one is refused before its effect.
    pub commits: usize,
    /// How long a sealed `requestState` can be answered: a person's time for one round.
    #[serde(deserialize_with = "seconds")]
    pub round_ttl: Duration,
    /// How long a flow may last in all.
    #[serde(deserialize_with = "seconds")]
    pub flow_ttl: Duration,
    /// The longest `requestState`, in characters.
    pub state_bytes: usize,
    /// The size of a sealed state above which it goes to the store, in characters.
    pub spill_bytes: usize,
    /// The longest sealed state that goes to the store, in characters.
    pub spilled_bytes: usize,
    /// The longest value of a `ctx.commit` that a store keeps, in bytes of JSON.
    pub commit_bytes: usize,
    /// The most bytes a store keeps of claims, and again of spilled states, unless it was made with
    /// another bound. A principal who is known may have a 32nd of what claims leave free, and an
    /// eighth of all states.
    pub store_bytes: usize,
    /// The most rounds in which a sampled model may call tools before the loop is ended.
    pub tool_rounds: u32,
}

impl Default for AskingLimits {
    fn default() -> Self {
        Self {
            sampled_bytes: 1 << 20,
            roots_bytes: 64 << 10,
            reason_bytes: 2 << 10,
            attempts: 3,
            questions_per_round: 16,
            rounds: 10,
            link_rounds: 24,
            rounds_warned: 6,
            answer: Duration::from_secs(10 * MINUTE),
            page: Duration::from_secs(25),
            progress_interval: Duration::from_secs(15),
            person_reaction: Duration::from_millis(300),
            run: Duration::from_secs(MINUTE),
            commits: 4096,
            round_ttl: Duration::from_secs(15 * MINUTE),
            flow_ttl: Duration::from_secs(24 * 60 * MINUTE),
            state_bytes: 64 << 10,
            spill_bytes: 32 << 10,
            spilled_bytes: 1 << 20,
            commit_bytes: 64 << 10,
            store_bytes: 64 << 20,
            tool_rounds: 10,
        }
    }
}
