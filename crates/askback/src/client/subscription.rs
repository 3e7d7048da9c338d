use askback_core::{
    engine::client::{CallId, ClientError, Timeouts},
    protocol::{ClientRequest, SubscribeParams, SubscriptionFilter, SubscriptionsListenParams},
    revision::Era,
};
use tokio::sync::{mpsc, oneshot};

use super::{
    Client,
    command::{CallMode, Command},
};

/// A subscription to changes, until it is dropped. Changes arrive as events. If the server restarts, the subscription
/// is opened again.
///
/// Like a [`Client`], it keeps the connection open.
#[derive(Debug)]
pub struct Subscription {
    granted: SubscriptionFilter,
    commands: mpsc::UnboundedSender<Command>,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Listening {
        id: CallId,
        ended: oneshot::Receiver<Result<Box<serde_json::value::RawValue>, ClientError>>,
    },
    /// On a session: the session notifies of list changes anyway, and these resources are subscribed to, with their
    /// ids.
    Watching(Vec<(CallId, String)>),
}

impl Client {
    /// Subscribes to a resource until [`Client::unsubscribe`]. Changes arrive as
    /// [`Event::ResourceUpdated`](super::Event::ResourceUpdated).
    ///
    /// # Errors
    ///
    /// See [`ClientError`]; also [`ClientError::Unsupported`] if the server does not grant it.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        match self.revision().era() {
            Era::Legacy => self.watch(uri).await.map(|_| ()),
            Era::Modern => {
                let filter = SubscriptionFilter {
                    resource_subscriptions: Some(vec![uri.to_owned()]),
                    ..Default::default()
                };
                let subscription = self.listen(filter).await?;
                let granted = subscription.granted().resource_subscriptions.as_ref();
                if !granted.is_some_and(|uris| uris.iter().any(|granted| granted == uri)) {
                    let why = format!("the server does not report changes of {uri}");
                    return Err(ClientError::Unsupported(why));
                }
                self.inner
                    .watched
                    .lock()
                    .insert(uri.to_owned(), subscription);
                Ok(())
            }
        }
    }

    /// Ends the subscription to a resource.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ClientError> {
        match self.revision().era() {
            Era::Legacy => {
                let request = ClientRequest::Unsubscribe(params_of(uri.to_owned()));
                self.request(request).await.map(|_| ())
            }
            Era::Modern => {
                self.inner.watched.lock().remove(uri);
                Ok(())
            }
        }
    }

    /// Listens to changes until the subscription is dropped. On a session, list changes are sent anyway, and each
    /// resource is subscribed to separately.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, ClientError> {
        match self.revision().era() {
            Era::Legacy => self.listen_on_session(filter).await,
            Era::Modern => self.listen_in_a_call(filter).await,
        }
    }

    async fn watch(&self, uri: &str) -> Result<CallId, ClientError> {
        let request = ClientRequest::Subscribe(params_of(uri.to_owned()));
        self.request(request).await.map(|_| self.next_id())
    }

    async fn listen_in_a_call(
        &self,
        notifications: SubscriptionFilter,
    ) -> Result<Subscription, ClientError> {
        let params = SubscriptionsListenParams {
            notifications,
            meta: None,
        };
        let (reply, ended) = oneshot::channel();
        let (granted, is_granted) = oneshot::channel();
        let listen = Box::new(ClientRequest::Listen(params));
        let calling = self.send(self.next_id(), listen, reply, Some(granted))?;
        let Ok(granted) = is_granted.await else {
            calling.end();
            ended.await.unwrap_or(Err(ClientError::Closed))?;
            let why = "it ended a subscription before it began";
            return Err(ClientError::Protocol(why.to_owned()));
        };
        let id = calling.end();
        Ok(Subscription {
            granted,
            commands: self.inner.commands.clone(),
            kind: Kind::Listening { id, ended },
        })
    }

    async fn listen_on_session(
        &self,
        filter: SubscriptionFilter,
    ) -> Result<Subscription, ClientError> {
        let capabilities = &self.greeting().capabilities;
        let tools = capabilities.tools.as_ref().and_then(|it| it.list_changed);
        let prompts = capabilities.prompts.as_ref().and_then(|it| it.list_changed);
        let resources = capabilities
            .resources
            .as_ref()
            .and_then(|it| it.list_changed);
        let both = |wish: Option<bool>, told: Option<bool>| {
            wish.filter(|wish| *wish && told == Some(true))
        };
        let granted = SubscriptionFilter {
            tools_list_changed: both(filter.tools_list_changed, tools),
            prompts_list_changed: both(filter.prompts_list_changed, prompts),
            resources_list_changed: both(filter.resources_list_changed, resources),
            resource_subscriptions: filter.resource_subscriptions,
            task_ids: None,
        };
        let uris = granted.resource_subscriptions.clone().unwrap_or_default();
        // Dropping it ends what is watched, if one of the requests fails.
        let mut subscription = Subscription {
            granted,
            commands: self.inner.commands.clone(),
            kind: Kind::Watching(Vec::new()),
        };
        for uri in uris {
            let id = self.watch(&uri).await?;
            if let Kind::Watching(watched) = &mut subscription.kind {
                watched.push((id, uri));
            }
        }
        Ok(subscription)
    }
}

impl Subscription {
    /// Returns the part of the filter that the server granted.
    #[must_use]
    pub fn granted(&self) -> &SubscriptionFilter {
        &self.granted
    }

    /// Waits until the server ends the subscription. On a session that never happens.
    ///
    /// # Errors
    ///
    /// If it ended for another reason.
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

fn params_of(uri: String) -> SubscribeParams {
    SubscribeParams { uri, meta: None }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // A closed client has already ended it.
        match &mut self.kind {
            Kind::Listening { id, .. } => {
                let _ = self.commands.send(Command::Cancel(*id));
            }
            Kind::Watching(uris) => {
                for (id, uri) in uris.drain(..) {
                    let request = ClientRequest::Unsubscribe(params_of(uri));
                    let (reply, _) = oneshot::channel();
                    let _ = self.commands.send(Command::Call {
                        id,
                        request: Box::new(request),
                        timeouts: Timeouts::default(),
                        manner: CallMode::Whole,
                        reply,
                        granted: None,
                    });
                }
            }
        }
    }
}
