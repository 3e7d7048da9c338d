//! The bounds on what a server keeps and does for its clients.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on what a server keeps and does for its clients, on every transport.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerLimits {
    /// The most bytes a server keeps for all its clients together: sessions, what their streams
    /// keep, tasks, calls that wait for a person, bodies on their way in and out, and open
    /// subscriptions.
    pub kept_bytes: usize,
    /// One in how many of [`kept_bytes`](Self::kept_bytes),
    /// [`limits.http.sessions`](super::HttpLimits::sessions) and
    /// [`limits.tasks.kept`](super::TaskLimits::kept) a principal may have who is known. Where others
    /// have much it may have less, but always a thousandth: a quarter of each is kept for that. Callers
    /// who are not known share all but one such part. 1 sets nothing aside.
    pub owner_share: usize,
    /// The most bytes a server keeps of each of a client's name, title and version; of more, the
    /// beginning is kept.
    pub client_info_bytes: usize,
    /// The most bytes of memory a server keeps of a client's extensions, and again of its
    /// experimental capabilities; of more, none is kept but that the client takes tasks.
    pub client_extension_bytes: usize,
    /// The most subscriptions (`subscriptions/listen` or `resources/subscribe`) of one connection.
    pub subscriptions: usize,
    /// The longest URI of a resource that a client may watch, in bytes.
    pub watched_uri_bytes: usize,
    /// How often one principal may call one tool, or get one prompt, within
    /// [`calls_window`](Self::calls_window), and as often read resources, and complete arguments.
    /// Calls that were not made are saved up, but no more than these.
    pub calls: u32,
    /// How often all callers who are not known may do so together.
    pub unknown_calls: u32,
    /// The window of [`calls`](Self::calls) and [`unknown_calls`](Self::unknown_calls).
    #[serde(deserialize_with = "seconds")]
    pub calls_window: Duration,
    /// For how many pairs of a caller and what it calls the rate is counted at a time; for others it is
    /// counted together.
    pub call_rates: usize,
    /// The most bytes of lists that a server keeps as it has written them, until what it offers changes:
    /// of those that are the same for every caller. The others, and more than these, are written for
    /// each request.
    pub list_bytes: usize,
    /// How long changes gather that more than 64 clients watch over HTTP. Then each client is told of each
    /// once, and those who are many in slices, after each of which calls are answered for 15 times as long
    /// as it took.
    #[serde(deserialize_with = "seconds")]
    pub change_delay: Duration,
    /// The most values in one completion (the specification's bound).
    pub completion_values: usize,
    /// How long a server that stops lets its calls, and the questions in them, go on.
    #[serde(deserialize_with = "seconds")]
    pub shutdown: Duration,
    /// How long the calls of a stream, such as standard input and output, may go on when their client
    /// has closed its side: a client may do so right after its last request.
    #[serde(deserialize_with = "seconds")]
    pub drain: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            kept_bytes: 256 << 20,
            owner_share: 8,
            client_info_bytes: 256,
            client_extension_bytes: 8 << 10,
            subscriptions: 64,
            watched_uri_bytes: 4 << 10,
            calls: 60_000,
            unknown_calls: 10_000_000,
            calls_window: Duration::from_secs(MINUTE),
            call_rates: 64 << 10,
            list_bytes: 4 << 20,
            change_delay: Duration::from_millis(50),
            completion_values: 100,
            shutdown: Duration::from_secs(30),
            drain: Duration::from_secs(1),
        }
    }
}
