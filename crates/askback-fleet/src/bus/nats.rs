use std::sync::Arc;

use askback::journal::StoreError;
use askback_core::secret::Secret;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr, Subscriber};
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use tokio::{select, sync::Notify};

use super::{BoxError, Connection, Engine, MAX_SILENCE, Relay, bus_by_relay};

/// How many messages wait in memory for the task of the bus. NATS drops further ones, which is a gap.
const MAX_WAITING_MESSAGES: usize = 4096;

/// A bus over NATS (core, without JetStream).
///
/// If the connection is lost, it connects again, and then reports a gap to the server.
pub struct NatsBus {
    relay: Relay,
}

bus_by_relay!(NatsBus);

impl NatsBus {
    /// Connects to a NATS server, as `nats://USER:PASSWORD@HOST:PORT` or `nats://TOKEN@HOST:PORT`, or `tls://…` for
    /// TLS. Special characters of the password or token are percent-encoded.
    ///
    /// All processes of a fleet must use the same `service`. Two fleets that share a NATS server must use different
    /// ones. The processes publish and subscribe to `askback.SERVICE` and `_INBOX.>`.
    ///
    /// # Errors
    ///
    /// If the address cannot be read, or the server refuses the user. If the server cannot be reached, the bus connects
    /// later, and until then its process is not [ready](askback::journal::Bus::was_reached).
    pub async fn connect(address: &Secret, service: &str) -> Result<Self, StoreError> {
        let text = address.expose();
        let is_known = ["nats://", "tls://"].iter().any(|it| text.starts_with(it));
        // The parser's error may have a part of the password.
        let parsed = text.parse().ok().filter(|_| is_known);
        let address = parsed.ok_or_else(|| {
            StoreError::Failed(
                "the address of NATS cannot be read: write nats://HOST:PORT or tls://HOST:PORT"
                    .into(),
            )
        })?;
        let subject = format!("askback.{}", super::channel_part(service));
        let relay = Relay::start(Server { address, subject }).await?;
        Ok(Self { relay })
    }
}

struct Server {
    address: ServerAddr,
    subject: String,
}

impl Server {
    /// Returns options with the user and password, or the token, of the address. The client library does not read them there.
    fn authenticated(&self) -> Result<ConnectOptions, StoreError> {
        let options = ConnectOptions::new();
        let decode = |text: &str| match percent_decode_str(text).decode_utf8() {
            Ok(text) => Ok(text.into_owned()),
            // The text is not shown: it may be a password.
            Err(_) => Err(StoreError::Failed(
                "the user or password in the address of NATS is not UTF-8".into(),
            )),
        };
        Ok(match (self.address.username(), self.address.password()) {
            (None, None) => options,
            (Some(token), None) => options.token(decode(token)?),
            (user, Some(password)) => {
                let user = decode(user.unwrap_or_default())?;
                options.user_and_password(user, decode(password)?)
            }
        })
    }
}

struct Subscription {
    client: Client,
    subscriber: Subscriber,
    subject: String,
    events: Arc<Events>,
}

#[derive(Default)]
struct Events {
    disconnected: Notify,
    dropped_messages: Notify,
}

impl Engine for Server {
    type Connection = Subscription;

    async fn connect(&self) -> Result<Subscription, StoreError> {
        let events = Arc::<Events>::default();
        let told = Arc::clone(&events);
        let options = self
            .authenticated()?
            .name("askback")
            .subscription_capacity(MAX_WAITING_MESSAGES)
            .ping_interval(MAX_SILENCE)
            // A client that has lost its connection is replaced: otherwise it would not be known
            // when its subscription is live.
            .max_reconnects(1)
            .event_callback(move |event| {
                match event {
                    Event::SlowConsumer(_) => told.dropped_messages.notify_one(),
                    Event::Disconnected | Event::Closed => told.disconnected.notify_one(),
                    _ => {}
                }
                std::future::ready(())
            });
        let client = options.connect(&self.address).await.map_err(|error| {
            let kind = match error.kind() {
                ConnectErrorKind::Dns
                | ConnectErrorKind::TimedOut
                | ConnectErrorKind::Io
                | ConnectErrorKind::MaxReconnects => StoreError::Unreachable,
                _ => StoreError::Failed,
            };
            let why = "check that it runs, its address and user";
            kind(format!("NATS cannot be reached ({error}): {why}").into())
        })?;
        let subscribed = self.subscribe(client, events).await;
        subscribed.map_err(StoreError::Unreachable)
    }
}

impl Server {
    async fn subscribe(
        &self,
        client: Client,
        events: Arc<Events>,
    ) -> Result<Subscription, BoxError> {
        let subscriber = client.subscribe(self.subject.clone()).await?;
        // The server handles a connection's requests in order: if this message returns, both subscriptions are live.
        let inbox = client.new_inbox();
        let mut probe = client.subscribe(inbox.clone()).await?;
        client.publish(inbox, Vec::new().into()).await?;
        select! {
            probed = probe.next() => probed.ok_or("NATS closed the connection")?,
            () = events.disconnected.notified() => return Err("NATS closed the connection".into()),
        };
        Ok(Subscription {
            client,
            subscriber,
            subject: self.subject.clone(),
            events,
        })
    }
}

impl Connection for Subscription {
    async fn send(&mut self, messages: Vec<Vec<u8>>) -> Result<(), BoxError> {
        for message in messages {
            let subject = self.subject.clone();
            self.client.publish(subject, message.into()).await?;
        }
        Ok(self.client.flush().await?)
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, BoxError> {
        select! {
            message = self.subscriber.next() => match message {
                Some(message) => Ok(Some(message.payload.into())),
                None => Err("NATS ended the subscription".into()),
            },
            () = self.events.dropped_messages.notified() => Ok(None),
            () = self.events.disconnected.notified() => Err("NATS closed the connection".into()),
        }
    }
}
