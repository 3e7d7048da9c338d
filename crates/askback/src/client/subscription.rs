//! Being told of changes, in every era.

use askback_core::{
    engine::client::{CallId, ClientError},
    protocol::{ClientRequest, SubscribeParams, SubscriptionFilter},
};
use tokio::sync::{mpsc, oneshot};

use super::driver::Command;

/// Changes the server tells of, until this is dropped. They come to the host as events; after a
/// restart of the server, the subscription is opened again.
///
/// It keeps the connection open, as a [`Client`](super::Client) does.
#[derive(Debug)]
pub struct Subscription {
    granted: SubscriptionFilter,
    commands: mpsc::UnboundedSender<Command>,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A `subscriptions/listen` that is open.
    Listening {
        id: CallId,
        ended: oneshot::Receiver<Result<Box<serde_json::value::RawValue>, ClientError>>,
    },
    /// What a session is told of anyway, and resources that are watched under these ids.
    Watching(Vec<(CallId, String)>),
}

impl Subscription {
    pub(super) fn new(
        granted: SubscriptionFilter,
        commands: mpsc::UnboundedSender<Command>,
        kind: Kind,
    ) -> Self {
        Self {
            granted,
            commands,
            kind,
        }
    }

    /// Watches one more resource; the id is for no longer watching it.
    pub(super) fn watches(&mut self, id: CallId, uri: String) {
        if let Kind::Watching(uris) = &mut self.kind {
            uris.push((id, uri));
        }
    }

    /// The part of the wish the server will tell of.
    #[must_use]
    pub fn granted(&self) -> &SubscriptionFilter {
        &self.granted
    }

    /// Waits until the server ends the subscription; on a session it never does.
    ///
    /// # Errors
    ///
    /// Where it ended otherwise than by the server's wish.
    pub async fn ended(&mut self) -> Result<(), ClientError> {
        match &mut self.kind {
            Kind::Listening { ended, .. } => match ended.await {
                Ok(ended) => ended.map(|_| ()),
                Err(_) => Err(ClientError::Closed),
            },
            Kind::Watching(_) => {
                self.commands.closed().await;
                Err(ClientError::Closed)
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // A client that is closed has ended it already.
        match &mut self.kind {
            Kind::Listening { id, .. } => {
                let _ = self.commands.send(Command::Cancel(*id));
            }
            Kind::Watching(uris) => {
                for (id, uri) in uris.drain(..) {
                    let request = ClientRequest::Unsubscribe(SubscribeParams { uri, meta: None });
                    let (reply, _) = oneshot::channel();
                    let _ = self.commands.send(Command::Call {
                        id,
                        request: Box::new(request),
                        reply,
                        granted: None,
                    });
                }
            }
        }
    }
}
