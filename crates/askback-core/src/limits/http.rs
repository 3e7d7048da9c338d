//! The bounds on HTTP.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on connections, sessions and streams over HTTP, of servers and of clients.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HttpLimits {
    /// The most HTTP connections a server serves at a time. For more, those end that have waited for a
    /// request for the longest; where all are at work, the next one waits.
    pub connections: usize,
    /// The most headers of an HTTP request.
    pub headers: usize,
    /// The most bytes of the headers of an HTTP request, its first line with them, and of those of
    /// a response.
    pub header_bytes: usize,
    /// How long the headers of an HTTP request may take to come, counted from the answer to the
    /// request before: for so long, too, a connection may be idle.
    #[serde(deserialize_with = "seconds")]
    pub header_read: Duration,
    /// How long the body of an HTTP request may take to come.
    #[serde(deserialize_with = "seconds")]
    pub body_read: Duration,
    /// How long an HTTP client may leave what it is sent unread.
    #[serde(deserialize_with = "seconds")]
    pub write_stall: Duration,
    /// How long a response over HTTP stays undecided between one JSON object and a stream, while
    /// its handler works and says nothing.
    #[serde(deserialize_with = "seconds")]
    pub undecided: Duration,
    /// How long a stream over HTTP is quiet before it shows a sign of life.
    #[serde(deserialize_with = "seconds")]
    pub keep_alive: Duration,
    /// The most sessions a server keeps over HTTP, of which a principal who is known has its share
    /// ([`limits.server.owner_share`](super::ServerLimits::owner_share)). Beyond, sessions of whoever has the most are ended: those idle for
    /// the longest first, then those in use, but of whoever wants one more only idle ones.
    pub sessions: usize,
    /// How long a session over HTTP may be idle.
    #[serde(deserialize_with = "seconds")]
    pub session_idle: Duration,
    /// The most events of a stream that are kept for a client that comes back for them.
    pub resume_events: usize,
    /// The most bytes of a stream's events that are kept, and that may wait to be read before what
    /// tells only of the way is left out.
    pub resume_bytes: usize,
    /// The most streams of a session that are kept after their end.
    pub resume_streams: usize,
    /// How long a client may stay away from a stream that has ended before it is forgotten.
    #[serde(deserialize_with = "seconds")]
    pub resume: Duration,
    /// After how long a client is told to come back for a stream the server let go of, or for what
    /// there was no room for.
    #[serde(deserialize_with = "seconds")]
    pub retry: Duration,
    /// How long a client waits before it connects again to a stream that broke off, where the
    /// server did not say (HTTP); the pause doubles while nothing comes.
    #[serde(deserialize_with = "seconds")]
    pub stream_retry: Duration,
    /// The longest such pause, also of those a server asks for.
    #[serde(deserialize_with = "seconds")]
    pub stream_retry_most: Duration,
    /// How often in a row a client takes up the answer to a request that broke off, while nothing
    /// comes (HTTP).
    pub stream_resumptions: u32,
    /// How long a client goes on taking up an answer that broke off while nothing listens at the
    /// server's address (HTTP): long enough for a server that is started again.
    #[serde(deserialize_with = "seconds")]
    pub stream_unreachable: Duration,
    /// How many redirections of one request a client follows (HTTP).
    pub redirects: u32,
    /// How long opening a connection may take (HTTP).
    #[serde(deserialize_with = "seconds")]
    pub connect: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 16 << 10,
            headers: 100,
            header_bytes: 64 << 10,
            header_read: Duration::from_secs(MINUTE),
            body_read: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            undecided: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            sessions: 32 << 10,
            session_idle: Duration::from_secs(120 * MINUTE),
            resume_events: 256,
            resume_bytes: 256 << 10,
            resume_streams: 16,
            resume: Duration::from_secs(2 * MINUTE),
            retry: Duration::from_secs(1),
            stream_retry: Duration::from_secs(1),
            stream_retry_most: Duration::from_secs(30),
            stream_resumptions: 5,
            stream_unreachable: Duration::from_secs(5),
            redirects: 5,
            connect: Duration::from_secs(10),
        }
    }
}
