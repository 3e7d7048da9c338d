use askback::journal::StoreError;
use askback_sql::{PostgresListener, PostgresSettings};

use super::{BusFailure, Connection, Engine, Relay, bus_by_relay};
use crate::failure::Failure;

/// A bus over the notifications of PostgreSQL (`LISTEN` and `NOTIFY`), for a [`PostgresStore`](crate::PostgresStore) in the
/// same schema.
///
/// It has one connection of its own per process. If the connection is lost, it connects again, and then reports a gap
/// to the server. PgBouncer must pool sessions, not transactions, because a subscription belongs to a connection.
pub struct PostgresBus {
    relay: Relay,
}

bus_by_relay!(PostgresBus);

impl PostgresBus {
    /// Connects to the database of the store, with the same settings.
    ///
    /// # Errors
    ///
    /// If the connection string cannot be read, or the database refuses the user. The error does not show the connection
    /// string. If the database cannot be reached, the bus connects later, and until then its process is not
    /// [ready](askback::journal::Bus::was_reached).
    pub async fn connect(settings: PostgresSettings) -> Result<Self, StoreError> {
        let relay = Relay::start(Database(settings)).await?;
        Ok(Self { relay })
    }
}

struct Database(PostgresSettings);

struct Listener {
    listener: PostgresListener,
    channel: String,
}

impl Engine for Database {
    type Connection = Listener;

    async fn connect(&self) -> Result<Listener, BusFailure> {
        let listened = self.listen().await;
        listened.map_err(|Failure(error)| BusFailure::of_store(error))
    }
}

impl Database {
    async fn listen(&self) -> Result<Listener, Failure> {
        let mut listener = PostgresListener::connect(&self.0).await?;
        // Notifications belong to the whole database, which may have several fleets in its schemas.
        let select = "SELECT 'askback_' || md5(coalesce(current_schema(), ''))";
        let rows = listener.query(select, &[]).await?;
        let row = rows
            .first()
            .ok_or_else(|| StoreError::Failed("PostgreSQL returned no row".into()))?;
        let channel: String = row.try_get(0)?;
        listener.query(&format!("LISTEN {channel}"), &[]).await?;
        Ok(Listener { listener, channel })
    }
}

impl Connection for Listener {
    async fn send(&mut self, messages: Vec<Vec<u8>>) -> Result<(), BusFailure> {
        // One transaction for all, because the commits of notifications wait for one another. In hexadecimal digits, the
        // longest message has 2,082 bytes; PostgreSQL accepts 7,999.
        let notify =
            "SELECT pg_notify($1, encode(message, 'hex')) FROM unnest($2::bytea[]) AS message";
        self.listener
            .query(notify, &[&self.channel, &messages])
            .await?;
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, BusFailure> {
        let payload = self.listener.next().await?;
        // A payload of another program becomes an empty message, which is ignored.
        Ok(Some(bytes(&payload).unwrap_or_default()))
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok();
    rest.is_empty()
        .then(|| pairs.iter().map(byte).collect())
        .flatten()
}
