//! The events of a response.

use std::{collections::VecDeque, time::Duration};

use askback_core::{
    engine::client::ClientError,
    http::sse::{Parser, SseEvent, SseLimitError},
    limits::Limits,
};
use askback_requests::{in_full, next_piece};
use hyper::body::Incoming;

use super::send::Response;

pub(super) struct Events {
    body: Incoming,
    parser: Parser,
    ready: VecDeque<SseEvent>,
    /// The error to return after the events already parsed.
    failed: Option<SseLimitError>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Resumption {
    pub(super) after: Option<String>,
    pub(super) retry: Option<Duration>,
}

#[derive(Debug)]
pub(super) enum EventStreamEnd {
    Ended(String),
    Failed(ClientError),
}

impl Events {
    pub(super) fn new(response: Response, limits: &Limits) -> Self {
        Self {
            body: response.into_body(),
            parser: Parser::new(&limits.wire),
            ready: VecDeque::new(),
            failed: None,
        }
    }

    /// Returns the next event with data. Not cancel safe.
    pub(super) async fn next(&mut self) -> Result<SseEvent, EventStreamEnd> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                if !event.data.is_empty() {
                    return Ok(event);
                }
            }
            if let Some(too_long) = self.failed {
                return Err(EventStreamEnd::Failed(match too_long {
                    SseLimitError::Event(most) => ClientError::TooLarge(most),
                    _ => ClientError::Protocol(too_long.to_string()),
                }));
            }
            match next_piece(&mut self.body).await {
                Ok(Some(chunk)) => self.parse(&chunk),
                Ok(None) => {
                    return Err(EventStreamEnd::Ended(
                        "its stream of events ended".to_owned(),
                    ));
                }
                Err(error) => {
                    let why = format!("its stream of events broke off: {}", in_full(&error));
                    return Err(EventStreamEnd::Ended(why));
                }
            }
        }
    }

    /// Records the stream's id and delay for resumption; values it did not send are unchanged.
    /// Returns whether an event had an id.
    pub(super) fn note_resumption(&self, resumption: &mut Resumption) -> bool {
        let id = self.parser.last_event_id();
        if let Some(id) = id {
            resumption.after = Some(id.to_owned());
        }
        if let Some(retry) = self.parser.retry() {
            resumption.retry = Some(retry);
        }
        id.is_some()
    }

    /// Reads the rest, so that the connection can be reused.
    pub(super) async fn read_over(&mut self) {
        while let Ok(Some(_)) = next_piece(&mut self.body).await {}
    }

    fn parse(&mut self, mut chunk: &[u8]) {
        loop {
            match self.parser.read(&mut chunk) {
                Ok(Some(event)) => self.ready.push_back(event),
                Ok(None) => return,
                Err(too_long) => {
                    self.failed = Some(too_long);
                    return;
                }
            }
        }
    }
}

/// Events with other names are ignored.
pub(super) fn is_message(event: &SseEvent) -> bool {
    event.event.as_deref().is_none_or(|name| name == "message")
}
