use askback::journal::StoreError;
use askback_core::secret::Secret;
use futures_util::StreamExt;
use redis::{
    Client, ErrorKind, RedisError,
    aio::{MultiplexedConnection, PubSub},
};
use rustls::crypto::{CryptoProvider, ring};

use super::{BoxError, BusFailure, Connection, Engine, Relay, bus_by_relay, hub::HEARTBEAT};

/// A bus over the publish and subscribe commands of Redis or Valkey.
///
/// Of a cluster, any node will do: its nodes pass all messages on to each other.
///
/// If a connection is lost, it connects again, and then reports a gap to the server.
pub struct RedisBus {
    relay: Relay,
}

bus_by_relay!(RedisBus);

impl RedisBus {
    /// Connects to a Redis server, as `redis://USER:PASSWORD@HOST:PORT`, or `rediss://…` for TLS.
    /// Its certificate must be from an authority that the system trusts; the environment variable
    /// `SSL_CERT_FILE` names a file with others. TLS uses the provider of cryptography that the
    /// program has installed. If it has installed none, ring is installed.
    ///
    /// All processes of a fleet must use the same `service`. Two fleets that share a Redis server
    /// must use different ones. The channel is `askback:SERVICE`. The user needs the commands
    /// `PUBLISH` and `SUBSCRIBE` on it.
    ///
    /// # Errors
    ///
    /// If the address cannot be read, or the server refuses the user. If the server cannot be
    /// reached, or does not let the user publish and subscribe, the bus connects later, and until
    /// then its process is not [ready](askback::journal::Bus::was_reached).
    pub async fn connect(address: &Secret, service: &str) -> Result<Self, StoreError> {
        let client = redis_client(address).map_err(StoreError::Bus)?;
        let channel = format!("askback:{}", super::channel_part(service));
        let relay = Relay::start(Server { client, channel }).await?;
        Ok(Self { relay })
    }
}

/// Reads the address of Redis, without connecting.
pub(crate) fn redis_client(address: &Secret) -> Result<Client, BoxError> {
    let text = address.expose();
    let has_tls = text.starts_with("rediss://");
    if has_tls && CryptoProvider::get_default().is_none() {
        // The client library has no other way. If another thread is first, its provider is used.
        let _ = ring::default_provider().install_default();
    }
    let is_known = has_tls || text.starts_with("redis://");
    // The parser's error may have a part of the password.
    let opened = Client::open(text).ok().filter(|_| is_known);
    opened.ok_or_else(|| {
        let forms = "redis://USER:PASSWORD@HOST:PORT or rediss://… for TLS";
        format!("the address of Redis cannot be read: write {forms}").into()
    })
}

/// Redis refuses a user with errors of its own. Others, such as one while it loads its data, are temporary.
pub(crate) fn redis_failure(error: RedisError) -> StoreError {
    if is_refusal(&error) {
        let why = "check the user and the password in its address, and what the user may do";
        return StoreError::Failed(format!("Redis refuses the user ({error}): {why}").into());
    }
    let why = "check that it runs, its address and user, and for TLS its certificate (SSL_CERT_FILE names a file of \
               authorities)";
    StoreError::Unreachable(format!("Redis cannot be reached ({error}): {why}").into())
}

const NO_PERMISSION: &str = "NOPERM";

fn is_refusal(error: &RedisError) -> bool {
    let is_refused = matches!(
        error.kind(),
        ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig
    );
    // With an address without a password, the first command is refused, not the connection.
    let code = error.code().unwrap_or_default();
    let is_forbidden = ["NOAUTH", "WRONGPASS", NO_PERMISSION].contains(&code);
    // Redis 7.0 and older have no code for a command inside a script.
    let said = error.detail().unwrap_or_default();
    is_refused || is_forbidden || said.starts_with("The user executing the script can't run")
}

fn bus_failure(error: RedisError, channel: &str) -> BusFailure {
    if error.code() == Some(NO_PERMISSION) {
        let said = error.detail().unwrap_or_default();
        let why =
            format!("Redis: {said}: allow this user to publish and to subscribe to {channel}");
        return BusFailure::Forbidden(why.into());
    }
    BusFailure::of_store(redis_failure(error))
}

struct Server {
    client: Client,
    channel: String,
}

struct Subscription {
    publisher: MultiplexedConnection,
    subscriber: PubSub,
    channel: String,
}

impl Engine for Server {
    type Connection = Subscription;

    async fn connect(&self) -> Result<Subscription, BusFailure> {
        let subscribed = self.subscribe().await;
        subscribed.map_err(|error| bus_failure(error, &self.channel))
    }
}

impl Server {
    async fn subscribe(&self) -> Result<Subscription, RedisError> {
        let mut publisher = self.client.get_multiplexed_async_connection().await?;
        // Checked now, because the user may not be allowed to publish.
        let mut probe = redis::cmd("PUBLISH");
        probe.arg(&self.channel).arg(&[HEARTBEAT][..]);
        probe.exec_async(&mut publisher).await?;
        let mut subscriber = self.client.get_async_pubsub().await?;
        // Returns after Redis has confirmed it.
        subscriber.subscribe(&self.channel).await?;
        Ok(Subscription {
            publisher,
            subscriber,
            channel: self.channel.clone(),
        })
    }
}

impl Connection for Subscription {
    async fn send(&mut self, messages: Vec<Vec<u8>>) -> Result<(), BusFailure> {
        let mut pipeline = redis::pipe();
        for message in messages {
            pipeline.publish(&self.channel, message).ignore();
        }
        let sent = pipeline.exec_async(&mut self.publisher).await;
        sent.map_err(|error| bus_failure(error, &self.channel))
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, BusFailure> {
        let message = self.subscriber.on_message().next().await;
        let message = message.ok_or("Redis closed the connection")?;
        Ok(Some(message.get_payload_bytes().to_owned()))
    }
}
