//! The troubles of a trial.

use std::fmt;

/// The trouble that the client of a call makes. Only in 2026-07-28, where the client carries the
/// call's state, can it make any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Nothing.
    None,
    /// It reaches another process in every round: the server is started anew between any two, with
    /// the same keys and store.
    Restart,
    /// It sends every round twice at once.
    Twice,
    /// When the call is over, it sends again those rounds of its last second that carried a state.
    Again,
    /// It changes the state before it sends it as it was.
    Forgery,
    /// It sends the state with another request before it sends it with the right one.
    Stranger,
}

impl Trouble {
    /// All there are, the first being none.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Restart,
        Self::Twice,
        Self::Again,
        Self::Forgery,
        Self::Stranger,
    ];
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no trouble",
            Self::Restart => "restarts between its rounds",
            Self::Twice => "every round sent twice",
            Self::Again => "every round sent again in the end",
            Self::Forgery => "attempts to change its state",
            Self::Stranger => "attempts to use its state for something else",
        })
    }
}
