//! How what the bridge carries ends.

use askback_core::engine::client::ClientError;

use super::message::PendingRequest;

/// How something that the bridge carries ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// As it should.
    Done,
    /// The server knows that the session is open: it may be listened to.
    Initialized,
    /// The response may come on the stream that the client listens on. Without that stream, the request ends with this
    /// error.
    Elsewhere(ClientError),
    /// The client no longer listens: the server has no stream for that.
    Deaf,
    /// Nothing more can be said on this connection, for the reason given.
    Over(String),
    /// The server does not take `initialize`, but may speak the older transport.
    TryOld {
        request: Box<PendingRequest>,
        error: ClientError,
    },
}
