//! How long a server is waited for, in words.

use std::time::Duration;

use crate::{
    model::Desk,
    text::{Words, given},
    words,
};

/// How long a person waits before the screen says for what.
const SILENCE: Duration = Duration::from_secs(1);

/// How often it is said how long a server is waited for.
const WORK: Duration = Duration::from_secs(30);

/// Whether it is said that something is waited for.
pub(crate) enum Aloud {
    /// After a second so, and then as below.
    First(Words),
    /// How long it may take, again and again.
    Later,
    /// Not at all.
    Never,
}

impl Aloud {
    /// After how long something is said.
    pub(crate) fn after(&self) -> Duration {
        match self {
            Self::First(_) => SILENCE,
            Self::Later | Self::Never => WORK,
        }
    }
}

/// Says for whom there was a wait so far, and when it is over.
pub(crate) fn waited(desk: &Desk, so_far: Duration) -> Words {
    words!(
        "Waiting for {}: {} s of at most {} s without a sign.",
        given(&desk.asker().name).short(),
        so_far.as_secs(),
        desk.patience().as_secs()
    )
}
