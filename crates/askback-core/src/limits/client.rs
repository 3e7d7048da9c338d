//! The bounds on what a client keeps and does for a server.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on what a client takes from a server, keeps of it, and does for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ClientLimits {
    /// How long a client lets a server work on one call in all, whatever progress it reports.
    #[serde(deserialize_with = "seconds")]
    pub request_in_all: Duration,
    /// How long a client waits for the answer to its era probe before it takes the server for one
    /// of a handshake revision.
    #[serde(deserialize_with = "seconds")]
    pub probe: Duration,
    /// How often a server may ask within [`asks_window`](Self::asks_window) before a client
    /// refuses.
    pub asks: u32,
    /// The window of [`asks`](Self::asks).
    #[serde(deserialize_with = "seconds")]
    pub asks_window: Duration,
    /// The most bytes a client keeps of one server's questions, those with the host and those behind.
    pub question_bytes: usize,
    /// The most entries a client keeps in its cache of lists and reads.
    pub cache_entries: usize,
    /// The most bytes a client keeps in that cache.
    pub cache_bytes: usize,
    /// The most pages of one list a client fetches before it takes the list for endless.
    pub pages: usize,
    /// The most bytes of one list a client takes, all its pages together.
    pub list_bytes: usize,
    /// The most items of one list a client takes, all its pages together.
    pub list_items: usize,
    /// How long a client waits before it sends again a request whose result asked nothing; the
    /// pause doubles from round to round.
    #[serde(deserialize_with = "seconds")]
    pub round_pause: Duration,
    /// The longest such pause.
    #[serde(deserialize_with = "seconds")]
    pub round_pause_most: Duration,
    /// How often a client starts a crashed server again within
    /// [`restarts_window`](Self::restarts_window).
    pub restarts: u32,
    /// The window of [`restarts`](Self::restarts).
    #[serde(deserialize_with = "seconds")]
    pub restarts_window: Duration,
    /// How many unreadable messages, errors without an id and refused questions of one server a
    /// client reports.
    pub malformed_reports: u32,
    /// The most links of one session whose end a client waits to be told.
    pub links: usize,
    /// How long a server's process may take to end once its input is closed, and again once it was
    /// asked to terminate; then it is killed.
    #[serde(deserialize_with = "seconds")]
    pub exit: Duration,
    /// The longest line of a server's standard error that is shown whole, in bytes.
    pub stderr_line_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            request_in_all: Duration::from_secs(60 * MINUTE),
            probe: Duration::from_secs(5),
            asks: 60,
            asks_window: Duration::from_secs(MINUTE),
            question_bytes: 16 << 20,
            cache_entries: 256,
            cache_bytes: 16 << 20,
            pages: 256,
            list_bytes: 16 << 20,
            list_items: 64 << 10,
            round_pause: Duration::from_millis(50),
            round_pause_most: Duration::from_millis(250),
            restarts: 5,
            restarts_window: Duration::from_secs(MINUTE),
            malformed_reports: 16,
            links: 64,
            exit: Duration::from_secs(2),
            stderr_line_bytes: 8 << 10,
        }
    }
}
