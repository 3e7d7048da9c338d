//! The bounds on what a client keeps and does for a server.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on what a client takes from a server, keeps of it, and does for it.
    ClientLimits {
        /// How long a client lets a server work on one call in all, whatever progress it reports.
        request_in_all: Duration = Duration::from_secs(60 * MINUTE);
        /// How long a client waits for the answer to its era probe before it takes the server for one
        /// of a handshake revision.
        probe: Duration = Duration::from_secs(5);
        /// How often a server may ask within [`asks_window`](Self::asks_window) before a client
        /// refuses.
        asks: u32 = 60;
        /// The window of [`asks`](Self::asks).
        asks_window: Duration = Duration::from_secs(MINUTE);
        /// The most bytes a client keeps of one server's questions, those with the host and those behind.
        question_bytes: usize = 16 << 20;
        /// The most entries a client keeps in its cache of lists and reads.
        cache_entries: usize = 256;
        /// The most bytes a client keeps in that cache.
        cache_bytes: usize = 16 << 20;
        /// The most pages of one list a client fetches before it takes the list for endless.
        pages: usize = 256;
        /// The most bytes of one list a client takes, all its pages together.
        list_bytes: usize = 16 << 20;
        /// The most items of one list a client takes, all its pages together.
        list_items: usize = 64 << 10;
        /// How long a client waits before it sends again a request whose result asked nothing; the
        /// pause doubles from round to round.
        round_pause: Duration = Duration::from_millis(50);
        /// The longest such pause.
        round_pause_most: Duration = Duration::from_millis(250);
        /// How often a client starts a crashed server again within
        /// [`restarts_window`](Self::restarts_window).
        restarts: u32 = 5;
        /// The window of [`restarts`](Self::restarts).
        restarts_window: Duration = Duration::from_secs(MINUTE);
        /// How many unreadable messages, errors without an id and refused questions of one server a
        /// client reports.
        malformed_reports: u32 = 16;
        /// The most links of one session whose end a client waits to be told.
        links: usize = 64;
        /// How long a server's process may take to end once its input is closed, and again once it was
        /// asked to terminate; then it is killed.
        exit: Duration = Duration::from_secs(2);
        /// The longest line of a server's standard error that is shown whole, in bytes.
        stderr_line_bytes: usize = 8 << 10;
    }
}
