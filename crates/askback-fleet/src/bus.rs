//! A bus over a messaging engine: a task sends and receives, and connects again.

mod hub;
#[cfg(feature = "nats")]
mod nats;
mod postgres;
#[cfg(feature = "redis")]
mod redis;

use std::{error::Error, future::Future, pin::pin, sync::Arc, time::Duration};

use askback::journal::StoreError;
use tokio::{
    select,
    task::AbortHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

#[cfg(feature = "nats")]
pub use nats::NatsBus;
pub use postgres::PostgresBus;
#[cfg(feature = "redis")]
pub use redis::RedisBus;
#[cfg(feature = "redis")]
pub(crate) use redis::{redis_client, redis_failure};

use hub::{HEARTBEAT, Hub};

type BoxError = Box<dyn Error + Send + Sync>;

/// How long a connection may be silent before a heartbeat is sent, and then how long the heartbeat may take to return.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// The time limit for a connection attempt and for sending a batch.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) const MIN_RETRY_DELAY: Duration = Duration::from_millis(50);
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Why an engine is not connected, or no longer.
enum BusFailure {
    /// A later attempt may succeed without a change of the settings.
    Unreachable(BoxError),
    /// The user may connect, and lacks a permission.
    #[cfg_attr(
        not(any(feature = "nats", feature = "redis")),
        expect(
            dead_code,
            reason = "PostgreSQL lets each of its users listen and notify"
        )
    )]
    Forbidden(BoxError),
    /// The address or the user is wrong.
    Refused(BoxError),
}

impl<E: Into<BoxError>> From<E> for BusFailure {
    fn from(error: E) -> Self {
        Self::Unreachable(error.into())
    }
}

impl BusFailure {
    fn of_store(error: StoreError) -> Self {
        match error {
            StoreError::Unreachable(error) => Self::Unreachable(error),
            StoreError::Failed(error) => Self::Refused(error),
            other => Self::Refused(other.into()),
        }
    }
}

trait Engine: Send + Sync + 'static {
    type Connection: Connection;

    /// Connects, and returns as soon as the subscription is live: nothing that is published later is missed.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, BusFailure>> + Send;
}

trait Connection: Send + 'static {
    fn send(
        &mut self,
        messages: Vec<Vec<u8>>,
    ) -> impl Future<Output = Result<(), BusFailure>> + Send;

    /// Returns the next message; `None` if messages were lost. If the future is dropped, no message is lost.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<u8>>, BusFailure>> + Send;
}

/// A bus whose task ends when it is dropped.
struct Relay {
    hub: Arc<Hub>,
    task: AbortHandle,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    /// Starts the task of a bus. If the engine cannot be reached, or forbids the exchange, the task connects later.
    async fn start(engine: impl Engine) -> Result<Self, StoreError> {
        let hub = Arc::<Hub>::default();
        let connection = match connect(&engine).await {
            Ok(connection) => {
                hub.note_reached();
                Some(connection)
            }
            Err(BusFailure::Unreachable(error)) => {
                tracing::warn!(%error, "the bus cannot be reached: serving without it until it can");
                None
            }
            Err(BusFailure::Forbidden(error)) => {
                note_refusal(&hub, &error);
                None
            }
            Err(BusFailure::Refused(error)) => return Err(StoreError::Bus(error)),
        };
        let task = tokio::spawn(run(engine, connection, Arc::clone(&hub))).abort_handle();
        Ok(Self { hub, task })
    }
}

/// Implements [`Bus`](askback::journal::Bus) for a type with a field `relay`.
macro_rules! bus_by_relay {
    ($bus:ident) => {
        askback_core::debug_only!($bus {});

        impl askback::journal::Bus for $bus {
            fn publish(&self, topic: askback::journal::Topic, hint: &[u8]) {
                self.relay.hub.publish(topic, hint);
            }

            fn hear(
                &self,
                after: Option<u64>,
            ) -> askback::journal::StoreFuture<'_, askback::journal::HeardHints> {
                Box::pin(async move { Ok(self.relay.hub.hear(after).await) })
            }

            fn was_reached(&self) -> bool {
                self.relay.hub.was_reached()
            }

            fn is_refused(&self) -> bool {
                self.relay.hub.is_refused()
            }
        }
    };
}
use bus_by_relay;

async fn connect<E: Engine>(engine: &E) -> Result<E::Connection, BusFailure> {
    let connected = timeout(REQUEST_TIMEOUT, engine.connect()).await;
    connected.unwrap_or_else(|_| {
        let why = format!(
            "the bus did not answer for {REQUEST_TIMEOUT:?}: check that it runs, and its address"
        );
        Err(why.into())
    })
}

/// Logs a refusal, unless the bus has refused this process since the last connection.
fn note_refusal(hub: &Hub, error: &BoxError) {
    if !hub.note_refused() {
        tracing::warn!(%error, "the bus refuses this process: it is tried again and again");
    }
}

/// Exchanges messages for as long as the bus exists. Without a connection, it connects first.
async fn run<E: Engine>(engine: E, mut connection: Option<E::Connection>, hub: Arc<Hub>) {
    loop {
        if let Some(mut connected) = connection.take() {
            match exchange(&mut connected, &hub).await {
                BusFailure::Forbidden(error) => note_refusal(&hub, &error),
                BusFailure::Unreachable(error) | BusFailure::Refused(error) => {
                    tracing::warn!(%error, "the connection to the bus is lost: connecting again");
                }
            }
        }
        let mut delay = MIN_RETRY_DELAY;
        connection = loop {
            match connect(&engine).await {
                Ok(connection) => break Some(connection),
                Err(BusFailure::Forbidden(error) | BusFailure::Refused(error)) => {
                    note_refusal(&hub, &error);
                }
                Err(BusFailure::Unreachable(error)) => {
                    tracing::debug!(%error, "the bus cannot be reached");
                }
            }
            sleep(delay).await;
            delay = MAX_RETRY_DELAY.min(delay * 2);
        };
        let was_reached = hub.was_reached();
        hub.note_reached();
        // The gap is added only now, because messages may be lost until the subscription is live.
        hub.add_gap();
        match was_reached {
            true => tracing::info!("connected to the bus again"),
            false => tracing::info!("connected to the bus"),
        }
    }
}

enum Step {
    Received(Result<Option<Vec<u8>>, BusFailure>),
    Send,
    TimerEnded,
}

/// Sends and receives until the connection is lost, and returns why.
async fn exchange(connection: &mut impl Connection, hub: &Hub) -> BusFailure {
    let mut received_at = Instant::now();
    let mut sent_heartbeat = false;
    // One timer for many messages: it may end too early, and never too late.
    let mut timer = pin!(sleep_until(received_at + MAX_SILENCE));
    loop {
        let step = select! {
            received = connection.next() => Step::Received(received),
            () = hub.wait_outgoing() => Step::Send,
            () = timer.as_mut() => Step::TimerEnded,
        };
        let messages = match step {
            Step::Received(Ok(message)) => {
                (received_at, sent_heartbeat) = (Instant::now(), false);
                match message {
                    Some(message) => hub.receive(&message),
                    None => hub.add_gap(),
                }
                continue;
            }
            Step::Received(Err(error)) => return error,
            Step::Send => hub.take_outgoing(),
            Step::TimerEnded => {
                let silences = if sent_heartbeat { 2 } else { 1 };
                let is_silent = received_at.elapsed() >= MAX_SILENCE * silences;
                if is_silent && sent_heartbeat {
                    return "a heartbeat did not return".into();
                }
                sent_heartbeat |= is_silent;
                let silences = if sent_heartbeat { 2 } else { 1 };
                timer.as_mut().reset(received_at + MAX_SILENCE * silences);
                if !is_silent {
                    continue;
                }
                vec![vec![HEARTBEAT]]
            }
        };
        let error = match timeout(REQUEST_TIMEOUT, connection.send(messages)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error,
            Err(_) => format!("sending took longer than {REQUEST_TIMEOUT:?}").into(),
        };
        hub.note_lost_messages();
        return error;
    }
}

/// A service as a part of the name of a channel, with every byte that has a meaning to an engine as `=XX`.
#[cfg(any(feature = "nats", feature = "redis"))]
pub(crate) fn channel_part(service: &str) -> String {
    let mut part = String::new();
    for byte in service.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => part.push(byte.into()),
            _ => part.push_str(&format!("={byte:02X}")),
        }
    }
    part
}
