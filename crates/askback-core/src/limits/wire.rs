//! The bounds on messages and requests.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on what is read of a peer, message by message, and on the requests in progress.
    WireLimits {
        /// The longest message read from a peer, in bytes.
        message_bytes: usize = 4 << 20;
        /// The most values of JSON in one message: arrays, objects, and what stands in them. Read into
        /// memory, each takes up to a hundred bytes, however short it is.
        message_values: usize = 512 << 10;
        /// The most messages in one batch (2025-03-26 only).
        batch_messages: usize = 64;
        /// The longest id a client keeps that a server chose, in bytes: of an event in a stream, a task,
        /// a question of a round or a link. It sends most of them back, some in a header.
        id_bytes: usize = 4 << 10;
        /// The longest id of a request, progress token or name of a task in a subscription that is
        /// taken from a peer, in bytes.
        request_id_bytes: usize = 1 << 10;
        /// The most requests of one peer in progress at a time.
        requests_in_flight: usize = 256;
        /// How long a request may work, the time a person is asked not counted. To a client each sign
        /// of progress gives a server that time anew.
        request: Duration = Duration::from_secs(5 * MINUTE);
    }
}
