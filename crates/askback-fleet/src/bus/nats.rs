use std::sync::{Arc, OnceLock};

use askback::journal::StoreError;
use askback_core::secret::Secret;
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError, Subscriber,
};
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use tokio::{select, sync::Notify};

use super::{BusFailure, Connection, Engine, MAX_SILENCE, Relay, bus_by_relay, hub::HEARTBEAT};

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
    /// ones. The processes publish and subscribe to one subject, `askback.SERVICE`. In it, each byte of the service
    /// other than letters, digits, `-` and `_` is written as `=XX`, in hexadecimal digits.
    ///
    /// # Errors
    ///
    /// If the address cannot be read, or the server refuses the user. If the server cannot be reached, or does not let
    /// the user publish and subscribe, the bus connects later, and until then its process is not
    /// [ready](askback::journal::Bus::was_reached).
    pub async fn connect(address: &Secret, service: &str) -> Result<Self, StoreError> {
        let text = address.expose();
        let is_known = ["nats://", "tls://"].iter().any(|it| text.starts_with(it));
        // The parser's error may have a part of the password.
        let parsed = text.parse().ok().filter(|_| is_known);
        let parsed = parsed.and_then(|it: ServerAddr| Some((without_user(&it)?, it)));
        let (host, address) = parsed.ok_or_else(|| {
            StoreError::Bus(
                "the address of NATS cannot be read: write nats://HOST:PORT or tls://HOST:PORT"
                    .into(),
            )
        })?;
        let subject = format!("askback.{}", super::channel_part(service));
        let server = Server {
            address,
            host,
            subject,
        };
        let relay = Relay::start(server).await?;
        Ok(Self { relay })
    }
}

/// Removes the user and password, because the client library logs where it connects.
fn without_user(address: &ServerAddr) -> Option<ServerAddr> {
    let mut url = address.clone().into_inner();
    url.set_password(None).ok()?;
    url.set_username("").ok()?;
    ServerAddr::from_url(url).ok()
}

struct Server {
    address: ServerAddr,
    /// The address without the user and password.
    host: ServerAddr,
    subject: String,
}

impl Server {
    fn authenticated(&self) -> Result<ConnectOptions, BusFailure> {
        let options = ConnectOptions::new();
        let decode = |text: &str| match percent_decode_str(text).decode_utf8() {
            Ok(text) => Ok(text.into_owned()),
            // The text is not shown: it may be a password.
            Err(_) => Err(BusFailure::Refused(
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
    forbidden: Notify,
    /// What the server said when it did not let the user publish or subscribe.
    violation: OnceLock<String>,
}

/// Returns what the server said, if the user lacks a permission.
fn violation(error: ServerError) -> Option<String> {
    const BEGIN: &str = "permissions violation";
    match error {
        ServerError::Other(said) => {
            let begin = said.get(..BEGIN.len())?;
            begin.eq_ignore_ascii_case(BEGIN).then_some(said)
        }
        _ => None,
    }
}

impl Engine for Server {
    type Connection = Subscription;

    async fn connect(&self) -> Result<Subscription, BusFailure> {
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
                    Event::ServerError(error) => {
                        if let Some(said) = violation(error) {
                            told.violation.get_or_init(|| said);
                            told.forbidden.notify_one();
                        }
                    }
                    _ => {}
                }
                std::future::ready(())
            });
        let client = options.connect(&self.host).await.map_err(|error| {
            let kind = match error.kind() {
                ConnectErrorKind::Dns
                | ConnectErrorKind::TimedOut
                | ConnectErrorKind::Io
                | ConnectErrorKind::MaxReconnects => BusFailure::Unreachable,
                _ => BusFailure::Refused,
            };
            let why = "check that it runs, its address and user";
            kind(format!("NATS cannot be reached ({error}): {why}").into())
        })?;
        let subscriber = client.subscribe(self.subject.clone()).await?;
        // No other process sends these bytes: if they return, the subscription is live, and the user may publish.
        let probe = [&[HEARTBEAT], client.new_inbox().as_bytes()].concat();
        client
            .publish(self.subject.clone(), probe.clone().into())
            .await?;
        let mut subscription = Subscription {
            client,
            subscriber,
            subject: self.subject.clone(),
            events,
        };
        while subscription.next().await?.is_none_or(|it| it != probe) {}
        Ok(subscription)
    }
}

impl Connection for Subscription {
    async fn send(&mut self, messages: Vec<Vec<u8>>) -> Result<(), BusFailure> {
        for message in messages {
            let subject = self.subject.clone();
            self.client.publish(subject, message.into()).await?;
        }
        Ok(self.client.flush().await?)
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, BusFailure> {
        select! {
            message = self.subscriber.next() => match message {
                Some(message) => Ok(Some(message.payload.into())),
                None => Err("NATS ended the subscription".into()),
            },
            () = self.events.dropped_messages.notified() => Ok(None),
            () = self.events.disconnected.notified() => Err("NATS closed the connection".into()),
            () = self.events.forbidden.notified() => {
                let said = self.events.violation.get().map_or("", String::as_str);
                let why = format!(
                    "NATS: {said}: allow this user to publish and to subscribe to {}",
                    self.subject
                );
                Err(BusFailure::Forbidden(why.into()))
            }
        }
    }
}
