//! The bounds on tasks.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on tasks, of the server that keeps them and of the client that follows them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TaskLimits {
    /// The most tasks a server keeps, those at work and those that have ended together. Of them a
    /// principal who is known has its share ([`limits.server.owner_share`](super::ServerLimits::owner_share)).
    pub kept: usize,
    /// How long a task may take, and how long after its beginning what came of it is kept: the
    /// `ttlMs` of a server's tasks.
    #[serde(deserialize_with = "seconds")]
    pub ttl: Duration,
    /// How often a client is told to ask after a task; and how often a client does where the
    /// server does not say.
    #[serde(deserialize_with = "seconds")]
    pub poll: Duration,
    /// The shortest time after which a client asks again after a task, whatever the server says.
    #[serde(deserialize_with = "seconds")]
    pub poll_least: Duration,
    /// The longest such time.
    #[serde(deserialize_with = "seconds")]
    pub poll_most: Duration,
    /// How long a client waits for a task in all, whatever the server says.
    #[serde(deserialize_with = "seconds")]
    pub in_all: Duration,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            kept: 16 << 10,
            ttl: Duration::from_secs(60 * MINUTE),
            poll: Duration::from_secs(1),
            poll_least: Duration::from_millis(100),
            poll_most: Duration::from_secs(MINUTE),
            in_all: Duration::from_secs(24 * 60 * MINUTE),
        }
    }
}
