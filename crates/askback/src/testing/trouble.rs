//! The troubles of a trial.

use std::fmt;

/// The trouble that the client of a call makes, or its server. Only in 2026-07-28, where the client carries
/// the call's state, can there be any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Nothing.
    None,
    /// It reaches another process in every round: the server is started anew between any two, with
    /// the same keys, and with the same store unless that is in memory.
    Restart,
    /// It sends every round twice at once.
    Twice,
    /// When the call is over, it sends again those rounds of its last second that carried a state.
    Again,
    /// It changes the state before it sends it as it was.
    Forgery,
    /// It sends the state with another request before it sends it with the right one.
    Stranger,
    /// The process is killed after the effect of a [commit](crate::Ctx::commit) and before its value is kept;
    /// the client sends the round again, to another process. So many commits have been made before: 0 is the
    /// first of the call. Without that commit, there is no crash.
    Crash(usize),
}

impl Trouble {
    /// All there are, the first being none. Of the crashes, that at the first commit.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Restart,
        Self::Twice,
        Self::Again,
        Self::Forgery,
        Self::Stranger,
        Self::Crash(0),
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
            Self::Crash(commits) => {
                return write!(f, "a crash after the effect of commit {}", commits + 1);
            }
        })
    }
}
