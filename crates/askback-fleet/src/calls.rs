//! Exact rate limits: all processes count in Redis.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback::journal::{CallCounter, CountedCall, StoreError, StoreFuture};
use askback_core::secret::Secret;
use redis::{Client, Cmd, aio::MultiplexedConnection};
use tokio::{
    sync::Notify,
    task::AbortHandle,
    time::{sleep, timeout},
};

use crate::bus::{MAX_RETRY_DELAY, MIN_RETRY_DELAY, REQUEST_TIMEOUT, channel_part, redis_failure};

/// How long a call waits for its count.
const COUNT_TIMEOUT: Duration = Duration::from_millis(500);

/// Counts a call by the time at which its budget will be full again, in microseconds of the clock of Redis. Returns 0, or
/// how long to wait. The key expires when the budget is full.
const COUNT: &str = "local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + tonumber(ARGV[1])
local over = full - now - tonumber(ARGV[2])
if over > 0 then return math.ceil(over) end
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return 0";

/// Counts the calls of a fleet in Redis or Valkey (one server), for a rate limit that is exact across processes:
/// [`Fleet::call_counter`](askback::Fleet::call_counter).
///
/// Each call takes one round trip. A budget is a key of about 100 bytes, `askback:calls:SERVICE:DIGEST`, which expires
/// when the budget is full again. While Redis cannot be reached, calls are not delayed, and each process counts its own.
pub struct RedisCallCounter {
    shared: Arc<Shared>,
    task: AbortHandle,
}

askback_core::debug_only!(RedisCallCounter {});

struct Shared {
    client: Client,
    /// Comes before the digest in the name of a key.
    prefix: String,
    connection: Mutex<Option<Arc<MultiplexedConnection>>>,
    lost: Notify,
}

impl Drop for RedisCallCounter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RedisCallCounter {
    /// Connects to a Redis server, as `redis://USER:PASSWORD@HOST:PORT` or `rediss://…`. For TLS, what is written at
    /// [`RedisBus::connect`](crate::RedisBus::connect) counts here, too. A cluster will not do: each of its nodes has a part of
    /// the keys.
    ///
    /// All processes of a fleet must use the same `service`. Two fleets that share a Redis server must use different
    /// ones. The user needs the commands `EVAL`, `TIME`, `GET` and `SET`.
    ///
    /// # Errors
    ///
    /// If the address cannot be read, or the server refuses the user or one of these commands. If the server cannot be
    /// reached, the counter connects later.
    pub async fn connect(address: &Secret, service: &str) -> Result<Self, StoreError> {
        let client = crate::bus::redis_client(address).map_err(StoreError::Failed)?;
        let prefix = format!("askback:calls:{}:", channel_part(service));
        let connection = match connect(&client, &prefix).await {
            Ok(connection) => Some(Arc::new(connection)),
            Err(StoreError::Unreachable(error)) => {
                tracing::warn!(%error, "calls are not counted for the whole fleet yet");
                None
            }
            Err(error) => return Err(error),
        };
        let shared = Arc::new(Shared {
            client,
            prefix,
            connection: Mutex::new(connection),
            lost: Notify::new(),
        });
        let task = tokio::spawn(keep_connected(Arc::clone(&shared))).abort_handle();
        Ok(Self { shared, task })
    }
}

/// Connects, and counts once to find out whether the user is allowed to.
async fn connect(client: &Client, prefix: &str) -> Result<MultiplexedConnection, StoreError> {
    let connecting = async {
        let mut connection = client.get_multiplexed_async_connection().await?;
        // The key expires after a millisecond.
        let probe = count(&format!("{prefix}probe"), 1, 1_000_000);
        probe.exec_async(&mut connection).await?;
        Ok(connection)
    };
    match timeout(REQUEST_TIMEOUT, connecting).await {
        Ok(connected) => connected.map_err(redis_failure),
        Err(_) => Err(StoreError::Unreachable(
            format!("Redis did not answer for {REQUEST_TIMEOUT:?}").into(),
        )),
    }
}

/// The command that counts a call. Times are in microseconds: `interval` is the cost of a call, `window` the whole
/// budget.
fn count(key: &str, interval: u64, window: u64) -> Cmd {
    let mut count = redis::cmd("EVAL");
    count.arg(COUNT).arg(1).arg(key).arg(interval).arg(window);
    count
}

/// Connects again whenever the connection is lost, after a pause.
async fn keep_connected(shared: Arc<Shared>) {
    let mut delay = MIN_RETRY_DELAY;
    loop {
        if shared.connection().is_some() {
            delay = MIN_RETRY_DELAY;
            shared.lost.notified().await;
            continue;
        }
        sleep(delay).await;
        match connect(&shared.client, &shared.prefix).await {
            Ok(connection) => *shared.connection() = Some(Arc::new(connection)),
            Err(error) => {
                tracing::debug!(%error, "the counter of calls cannot be reached");
                delay = MAX_RETRY_DELAY.min(delay * 2);
            }
        }
    }
}

impl Shared {
    fn connection(&self) -> MutexGuard<'_, Option<Arc<MultiplexedConnection>>> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn count(&self, call: CountedCall) -> Result<Option<Duration>, StoreError> {
        let connection = self.connection().clone();
        let Some(connection) = connection else {
            return Err(StoreError::Unreachable("Redis is not connected".into()));
        };
        let window = u64::try_from(call.window.as_micros()).unwrap_or(u64::MAX);
        let interval = (window / call.calls.max(1)).max(1);
        let digest = u128::from_be_bytes(call.budget);
        let count = count(&format!("{}{digest:032x}", self.prefix), interval, window);
        let mut handle = MultiplexedConnection::clone(&connection);
        let counted = timeout(COUNT_TIMEOUT, count.query_async::<u64>(&mut handle)).await;
        match counted {
            Ok(Ok(0)) => Ok(None),
            Ok(Ok(wait)) => Ok(Some(Duration::from_micros(wait))),
            Ok(Err(error)) => {
                // A server that has become a replica may keep its connections.
                let is_replica = error.code() == Some("READONLY");
                if error.is_io_error() || error.is_unrecoverable_error() || is_replica {
                    self.drop_connection(&connection);
                }
                Err(redis_failure(error))
            }
            Err(_) => {
                self.drop_connection(&connection);
                let why = format!("Redis did not count for {COUNT_TIMEOUT:?}");
                Err(StoreError::Unreachable(why.into()))
            }
        }
    }

    /// Drops a lost connection, unless there is a new one already.
    fn drop_connection(&self, lost: &Arc<MultiplexedConnection>) {
        let mut connection = self.connection();
        if connection.as_ref().is_some_and(|it| Arc::ptr_eq(it, lost)) {
            *connection = None;
            self.lost.notify_one();
        }
    }
}

impl CallCounter for RedisCallCounter {
    fn take(&self, call: CountedCall) -> StoreFuture<'_, Option<Duration>> {
        Box::pin(self.shared.count(call))
    }
}
