//! The bounds on tasks.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on tasks, of the server that keeps them and of the client that follows them.
    TaskLimits {
        /// The most tasks a server keeps, those at work and those that have ended together. Of them a
        /// principal who is known has its share ([`limits.server.owner_share`](super::ServerLimits::owner_share)).
        kept: usize = 16 << 10;
        /// How long a task may take, and how long after its beginning what came of it is kept: the
        /// `ttlMs` of a server's tasks.
        ttl: Duration = Duration::from_secs(60 * MINUTE);
        /// How often a client is told to ask after a task; and how often a client does where the
        /// server does not say.
        poll: Duration = Duration::from_secs(1);
        /// The shortest time after which a client asks again after a task, whatever the server says.
        poll_least: Duration = Duration::from_millis(100);
        /// The longest such time.
        poll_most: Duration = Duration::from_secs(MINUTE);
        /// How long a client waits for a task in all, whatever the server says.
        in_all: Duration = Duration::from_secs(24 * 60 * MINUTE);
    }
}
