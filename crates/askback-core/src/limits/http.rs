//! The bounds on HTTP.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on connections, sessions and streams over HTTP, of servers and of clients.
    HttpLimits {
        /// The most HTTP connections a server serves at a time. For more, those end that have waited for a
        /// request for the longest; where all are at work, the next one waits.
        connections: usize = 16 << 10;
        /// The most headers of an HTTP request.
        headers: usize = 100;
        /// The most bytes of the headers of an HTTP request, its first line with them, and of those of
        /// a response.
        header_bytes: usize = 64 << 10;
        /// How long the headers of an HTTP request may take to come, counted from the answer to the
        /// request before: for so long, too, a connection may be idle.
        header_read: Duration = Duration::from_secs(MINUTE);
        /// How long the body of an HTTP request may take to come.
        body_read: Duration = Duration::from_secs(30);
        /// How long an HTTP client may leave what it is sent unread.
        write_stall: Duration = Duration::from_secs(30);
        /// How long a response over HTTP stays undecided between one JSON object and a stream, while
        /// its handler works and says nothing.
        undecided: Duration = Duration::from_secs(1);
        /// How long a stream over HTTP is quiet before it shows a sign of life.
        keep_alive: Duration = Duration::from_secs(15);
        /// The most sessions a server keeps over HTTP, of which a principal who is known has its share
        /// ([`limits.server.owner_share`](super::ServerLimits::owner_share)). Beyond, sessions of whoever has the most are ended: those idle for
        /// the longest first, then those in use, but of whoever wants one more only idle ones.
        sessions: usize = 32 << 10;
        /// How long a session over HTTP may be idle.
        session_idle: Duration = Duration::from_secs(120 * MINUTE);
        /// The most events of a stream that are kept for a client that comes back for them.
        resume_events: usize = 256;
        /// The most bytes of a stream's events that are kept, and that may wait to be read before what
        /// tells only of the way is left out.
        resume_bytes: usize = 256 << 10;
        /// The most streams of a session that are kept after their end.
        resume_streams: usize = 16;
        /// How long a client may stay away from a stream that has ended before it is forgotten.
        resume: Duration = Duration::from_secs(2 * MINUTE);
        /// After how long a client is told to come back for a stream the server let go of, or for what
        /// there was no room for.
        retry: Duration = Duration::from_secs(1);
        /// How long a client waits before it connects again to a stream that broke off, where the
        /// server did not say (HTTP); the pause doubles while nothing comes.
        stream_retry: Duration = Duration::from_secs(1);
        /// The longest such pause, also of those a server asks for.
        stream_retry_most: Duration = Duration::from_secs(30);
        /// How often in a row a client takes up the answer to a request that broke off, or sends the request again, while
        /// nothing comes (HTTP).
        stream_resumptions: u32 = 5;
        /// How long a client goes on taking up an answer that broke off while nothing listens at the
        /// server's address (HTTP): long enough for a server that is started again.
        stream_unreachable: Duration = Duration::from_secs(5);
        /// How many redirections of one request a client follows (HTTP).
        redirects: u32 = 5;
        /// How long opening a connection may take (HTTP).
        connect: Duration = Duration::from_secs(10);
    }
}
