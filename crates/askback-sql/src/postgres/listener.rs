use std::{
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client, Error, Row, types::ToSql};

use super::{PostgresSettings, failure};
use crate::SqlError;

/// How many notifications wait in memory while a statement runs.
const MAX_WAITING_NOTIFICATIONS: usize = 4096;

type PollMessage =
    Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> + Send>;

/// A connection of its own that receives notifications (`LISTEN`).
///
/// It does not connect again: after an error, make a new one.
pub struct PostgresListener {
    client: Client,
    poll: PollMessage,
    waiting: VecDeque<String>,
    wait: Duration,
}

impl fmt::Debug for PostgresListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresListener").finish_non_exhaustive()
    }
}

impl PostgresListener {
    /// Connects. It listens to nothing until a `LISTEN` statement [ran](Self::query).
    ///
    /// # Errors
    ///
    /// As [`Postgres::connect`](crate::Postgres::connect).
    pub async fn connect(settings: &PostgresSettings) -> Result<Self, SqlError> {
        let (config, tls) = (settings.config()?, settings.tls()?);
        let connected = timeout(settings.wait, config.connect(tls)).await;
        let connected = connected.map_err(|_| failure::silent(settings.wait))?;
        let (client, mut connection) = connected?;
        Ok(Self {
            client,
            poll: Box::new(move |context| connection.poll_message(context)),
            waiting: VecDeque::new(),
            wait: settings.wait,
        })
    }

    /// Runs a statement. Notifications that arrive meanwhile wait for [`next`](Self::next).
    ///
    /// # Errors
    ///
    /// If the statement fails or takes longer than [`PostgresSettings::wait`], or too many notifications arrive meanwhile.
    pub async fn query(
        &mut self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, SqlError> {
        let Self {
            client,
            poll,
            waiting,
            wait,
        } = self;
        let mut query = pin!(client.query(statement, values));
        let run = poll_fn(|context| {
            while let Poll::Ready(message) = poll(context) {
                if let Some(payload) = payload(message)? {
                    if waiting.len() >= MAX_WAITING_NOTIFICATIONS {
                        return Poll::Ready(Err(SqlError::new(
                            "more notifications of PostgreSQL arrived than fit into memory",
                        )));
                    }
                    waiting.push_back(payload);
                }
            }
            query.as_mut().poll(context).map_err(SqlError::from)
        });
        let done = timeout(*wait, run).await;
        done.map_err(|_| failure::silent(*wait))?
    }

    /// Waits for the payload of the next notification. If the future is dropped, no notification is lost.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub async fn next(&mut self) -> Result<String, SqlError> {
        if let Some(payload) = self.waiting.pop_front() {
            return Ok(payload);
        }
        let poll = &mut self.poll;
        poll_fn(|context| {
            loop {
                match poll(context) {
                    Poll::Ready(message) => {
                        if let Some(payload) = payload(message)? {
                            return Poll::Ready(Ok(payload));
                        }
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }
}

fn payload(message: Option<Result<AsyncMessage, Error>>) -> Result<Option<String>, SqlError> {
    match message {
        Some(Ok(AsyncMessage::Notification(notification))) => {
            Ok(Some(notification.payload().to_owned()))
        }
        Some(Ok(_)) => Ok(None),
        Some(Err(error)) => Err(error.into()),
        None => Err(failure::lost(
            "PostgreSQL closed the connection that listens",
        )),
    }
}
