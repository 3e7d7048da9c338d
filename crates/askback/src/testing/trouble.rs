use std::fmt;

/// The fault between a client and its server during a call. Faults occur only in 2026-07-28, because there the client
/// carries the call's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Nothing goes wrong.
    None,
    /// Every round goes to another process: the server is restarted between rounds, with the same keys, and with the
    /// same store unless that is in memory.
    Restart,
    /// The client sends every round twice at once.
    Twice,
    /// After the call, the client repeats the rounds of the last second that carried a state.
    Again,
    /// The process is killed after the effect of a [commit](crate::Ctx::commit) and before its value is stored. Then
    /// the client sends the round again, to another process. The number is the commit's position in the call, from 0.
    /// If there is no such commit, there is no crash.
    Crash(usize),
}

impl Trouble {
    /// All variants, with `None` first. `Crash` is included with the first commit.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Restart,
        Self::Twice,
        Self::Again,
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
            Self::Crash(commits) => {
                return write!(f, "a crash after the effect of commit {}", commits + 1);
            }
        })
    }
}
