//! The bounds on what a host shows.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on what a host shows of a server.
    HostLimits {
        /// The most questions that wait behind the one a person is answering; a host cancels more.
        questions_waiting: usize = 16;
        /// The most characters that a host shows at once of what a server says of one question, all
        /// messages of a sampling request together; the rest is shown on demand. Where no person is
        /// asked, fields and links count as well, and the rest is left out.
        message_shown: usize = 4 << 10;
        /// The most questions that a host shows of those that were refused without asking the person: a
        /// form that cannot be drawn, or a question that the client did not declare.
        refusals: usize = 16;
        /// How long a link that came in an error (2025-11-25) waits for the server to say that its page is
        /// done, where no person is asked; then the call is sent again all the same.
        link: Duration = Duration::from_secs(10 * MINUTE);
        /// How long a model may take to reply.
        model: Duration = Duration::from_secs(10 * MINUTE);
        /// The longest reply of a model that is read, in bytes of JSON.
        model_bytes: usize = 4 << 20;
        /// The most lines that a host shows of what a server says without being asked (log lines, its
        /// standard error, changes, notes) within [`remarks_window`](Self::remarks_window); how many
        /// more there were is told in one line.
        remarks: u32 = 64;
        /// The window of [`remarks`](Self::remarks).
        remarks_window: Duration = Duration::from_secs(10);
        /// The most bytes that a host keeps of the messages of one session, to show them later; the
        /// oldest go first.
        wire_bytes: usize = 16 << 20;
        /// The most bytes that a host writes of the messages of one session to a file; then the file ends.
        trace_bytes: usize = 1 << 30;
    }
}
