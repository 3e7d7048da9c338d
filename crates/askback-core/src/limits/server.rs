//! The bounds on what a server keeps and does for its clients.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on what a server keeps and does for its clients, on every transport.
    ServerLimits {
        /// The most bytes a server keeps for all its clients together: sessions, what their streams
        /// keep, tasks, calls that wait for a person, bodies on their way in and out, and open
        /// subscriptions.
        kept_bytes: usize = 256 << 20;
        /// One in how many of [`kept_bytes`](Self::kept_bytes),
        /// [`limits.http.sessions`](super::HttpLimits::sessions) and
        /// [`limits.tasks.kept`](super::TaskLimits::kept) a principal may have who is known. Where others
        /// have much it may have less, but always a thousandth: a quarter of each is kept for that. Callers
        /// who are not known share all but one such part. 1 sets nothing aside.
        owner_share: usize = 8;
        /// The most bytes a server keeps of each of a client's name, title and version; of more, the
        /// beginning is kept.
        client_info_bytes: usize = 256;
        /// The most bytes of memory a server keeps of a client's extensions, and again of its
        /// experimental capabilities; of more, none is kept but that the client takes tasks.
        client_extension_bytes: usize = 8 << 10;
        /// The most subscriptions (`subscriptions/listen` or `resources/subscribe`) of one connection.
        subscriptions: usize = 64;
        /// The longest URI of a resource that a client may watch, in bytes.
        watched_uri_bytes: usize = 4 << 10;
        /// How often one principal may call one tool, or get one prompt, within
        /// [`calls_window`](Self::calls_window), and as often read resources, and complete arguments.
        /// Calls that were not made are saved up, but no more than these.
        calls: u32 = 60_000;
        /// How often all callers who are not known may do so together.
        unknown_calls: u32 = 10_000_000;
        /// The window of [`calls`](Self::calls) and [`unknown_calls`](Self::unknown_calls).
        calls_window: Duration = Duration::from_secs(MINUTE);
        /// For how many pairs of a caller and what it calls the rate is counted at a time; for others it is
        /// counted together.
        call_rates: usize = 64 << 10;
        /// The most bytes of lists that a server keeps as it has written them, until what it offers changes:
        /// of those that are the same for every caller. The others, and more than these, are written for
        /// each request.
        list_bytes: usize = 4 << 20;
        /// How long changes gather that more than 64 clients watch over HTTP. Then each client is told of each
        /// once, and those who are many in slices, after each of which calls are answered for 15 times as long
        /// as it took.
        change_delay: Duration = Duration::from_millis(50);
        /// The most values in one completion (the specification's bound).
        completion_values: usize = 100;
        /// How long a server that stops lets its calls, and the questions in them, go on.
        shutdown: Duration = Duration::from_secs(30);
        /// How long the calls of a stream, such as standard input and output, may go on when their client
        /// has closed its side: a client may do so right after its last request.
        drain: Duration = Duration::from_secs(1);
    }
}
