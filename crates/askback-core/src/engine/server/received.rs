//! Messages, as a server received them.

use alloc::vec::Vec;

use crate::{
    jsonrpc::{
        self, ErrorObject, Malformed, Message, Notification, Payload, Request, RequestId, Response,
    },
    limits::Limits,
    protocol::ClientRequest,
};

/// A message of a client.
#[derive(Debug, Clone)]
pub enum ReceivedMessage {
    /// A request, with its id.
    Request(RequestId, ClientRequest),
    /// A request of a method that is not known, or whose parameters do not fit, and what to answer
    /// where nothing else is wrong.
    Misfit(Request, ErrorObject),
    /// A notification.
    Notification(Notification),
    /// The answer to a request of ours.
    Response(Response),
    /// A batch; whether the revision in use has batches is for the caller to say.
    Batch(Vec<Result<Message, Malformed>>),
}

impl ReceivedMessage {
    /// Reads one message or one batch.
    ///
    /// # Errors
    ///
    /// As [`jsonrpc::parse`]; parameters that do not fit are no error yet.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        if let Some((id, request)) = jsonrpc::parse_request(bytes, &limits.wire) {
            return Ok(Self::Request(id, request));
        }
        Ok(match jsonrpc::parse(bytes, &limits.wire)? {
            Payload::Single(message) => message.into(),
            Payload::Batch(messages) => Self::Batch(messages),
        })
    }
}

impl From<Message> for ReceivedMessage {
    fn from(message: Message) -> Self {
        match message {
            Message::Request(request) => {
                match ClientRequest::parse(&request.method, request.params.as_deref()) {
                    Ok(read) => Self::Request(request.id, read),
                    Err(error) => Self::Misfit(request, error),
                }
            }
            Message::Notification(notification) => Self::Notification(notification),
            Message::Response(response) => Self::Response(response),
        }
    }
}
