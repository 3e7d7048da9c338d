//! The bounds on questions and on the calls that ask them.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on questions, on the calls that ask them, and on what is kept of both.
    AskingLimits {
        /// The longest answer of a model that is read, in bytes of JSON; a longer one is refused. An
        /// answer that waits for its handler to ask for it again may be as long.
        sampled_bytes: usize = 1 << 20;
        /// The longest list of roots that is read, in bytes of JSON; a longer one is refused.
        roots_bytes: usize = 64 << 10;
        /// How much is kept of a person's reason to decline, and of what was wrong with an answer, in
        /// bytes.
        reason_bytes: usize = 2 << 10;
        /// How often an answer that breaks its form is asked again before the question is refused.
        attempts: u32 = 3;
        /// The most questions in one round.
        questions_per_round: usize = 16;
        /// The most rounds of one flow (mainstream clients give up at eight to ten).
        rounds: u32 = 10;
        /// The most further rounds that only ask for a link again that was opened, while what is behind
        /// it is not done. Each takes at least `page`.
        link_rounds: u32 = 24;
        /// The round from which a flow is logged as unusually long.
        rounds_warned: u32 = 6;
        /// How long a question of a handshake revision waits for its answer, and after a link was opened
        /// for what is behind it.
        answer: Duration = Duration::from_secs(10 * MINUTE);
        /// How long a retry waits for what is behind a link before the link is the answer again.
        page: Duration = Duration::from_secs(25);
        /// How often the client of a handshake revision is told of progress while a question waits for
        /// its answer, if it asked for that: some clients end a call that is silent for a minute. Zero for never.
        progress_interval: Duration = Duration::from_secs(15);
        /// A question that is declined or cancelled sooner than this, without a reason, was not declined
        /// by a person: no person has read it. Zero means that each answer is a person's.
        person_reaction: Duration = Duration::from_millis(300);
        /// How long one `ctx.run` or `ctx.commit` may take.
        run: Duration = Duration::from_secs(MINUTE);
        /// The most commits that a server runs at the same time. Another one is refused before its effect.
        commits: usize = 4096;
        /// How long a sealed `requestState` can be answered: a person's time for one round.
        round_ttl: Duration = Duration::from_secs(15 * MINUTE);
        /// How long a flow may last in all.
        flow_ttl: Duration = Duration::from_secs(24 * 60 * MINUTE);
        /// The longest `requestState`, in characters.
        state_bytes: usize = 64 << 10;
        /// The size of a sealed state above which it goes to the store, in characters.
        spill_bytes: usize = 32 << 10;
        /// The longest sealed state that goes to the store, in characters.
        spilled_bytes: usize = 1 << 20;
        /// The longest value of a `ctx.commit` that a store keeps, in bytes of JSON.
        commit_bytes: usize = 64 << 10;
        /// The most bytes a store keeps of claims, and again of spilled states, unless it was made with
        /// another bound. A principal who is known may have a 32nd of what claims leave free, and an
        /// eighth of all states.
        store_bytes: usize = 64 << 20;
        /// The most rounds in which a sampled model may call tools before the loop is ended.
        tool_rounds: u32 = 10;
    }
}
