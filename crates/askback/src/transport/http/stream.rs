//! Streams of a session: the one the server speaks on unasked, and those that broke off
//! (2025-11-25, basic/transports, Listening for Messages from the Server, Resumability and
//! Redelivery).

use std::{sync::Arc, time::Duration};

use askback_core::{
    engine::client::{ClientError, RequestLoss},
    http::media::Media,
    limits::Limits,
};
use http::StatusCode;
use tokio::time::{Instant, sleep};

use super::{
    bridge::BridgeOutcome,
    events::{EventStreamEnd, Events, Resumption, is_message},
    send::{HttpState, Response, media},
};

/// A longer pause before an answer goes on is not left without a word.
const SILENCE: Duration = Duration::from_millis(1500);

/// Hears what the server says unasked, as long as the session lasts. Ends if the server has no such stream.
pub(super) async fn listen(state: Arc<HttpState>) -> BridgeOutcome {
    let mut resumption = Resumption::default();
    let mut attempts = 0;
    loop {
        match state.get(resumption.after.as_deref()).await {
            Ok(response) if is_stream(&response) => {
                let mut events = Events::new(response, &state.limits);
                match forward(&state, &mut events).await {
                    Ok(0) => {}
                    Ok(_) => attempts = 0,
                    Err(error) => {
                        state
                            .note(format!("the server is no longer listened to: {error}"))
                            .await;
                        return BridgeOutcome::Deaf;
                    }
                }
                events.note_resumption(&mut resumption);
            }
            // 405 means that there is no such stream, and nothing else a server answers promises
            // that there will be one. That a session is over is seen when it is used.
            Ok(response) if !response.status().is_server_error() => return BridgeOutcome::Deaf,
            Ok(_)
            | Err(RequestLoss::Broken(_) | RequestLoss::Failed(ClientError::Unreachable(_))) => {}
            Err(_) => return BridgeOutcome::Deaf,
        }
        sleep(pause(&resumption, attempts, &state.limits)).await;
        attempts += 1;
    }
}

/// The failed attempts to resume a broken answer, since its last event.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// How many there were in a row.
    count: u32,
    /// Since when nothing listens at the address of the server.
    unreachable: Option<Instant>,
    /// Whether the host knows.
    is_told: bool,
}

impl Attempts {
    /// The next ones are the first again: the server sent something.
    pub(super) fn begin_again(&mut self) {
        self.count = 0;
        self.unreachable = None;
    }

    /// How long to wait for the next one.
    fn pause(&self, resumption: &Resumption, limits: &Limits) -> Duration {
        let pause = pause(resumption, self.count, limits);
        match self.unreachable {
            Some(since) => pause.min(
                limits
                    .http
                    .stream_unreachable
                    .saturating_sub(since.elapsed()),
            ),
            None => pause,
        }
    }

    /// Tells the host, once, that an answer is a while in coming.
    async fn tell(&mut self, state: &HttpState, why: &str) {
        if !self.is_told {
            self.is_told = true;
            state
                .note(format!(
                    "the answer broke off and is asked for again: {why}"
                ))
                .await;
        }
    }

    /// Tells the host that it goes on, if it heard of the break.
    async fn tell_end(&mut self, state: &HttpState) {
        if std::mem::take(&mut self.is_told) {
            state.note("the answer goes on".to_owned()).await;
        }
    }
}

/// Takes up a stream that broke off, where it broke off. The host is told where that does not
/// succeed at once. A server where nothing listens may be starting again, and is given less time
/// than one that answers.
pub(super) async fn resume(
    state: &HttpState,
    resumption: &Resumption,
    attempts: &mut Attempts,
    why: String,
) -> Result<Events, RequestLoss> {
    let mut why = why;
    while attempts.count < state.limits.http.stream_resumptions {
        let pause = attempts.pause(resumption, &state.limits);
        if pause > SILENCE {
            attempts.tell(state, &why).await;
        }
        sleep(pause).await;
        attempts.count += 1;
        let got = state.get(resumption.after.as_deref()).await;
        let was_unreachable = attempts.unreachable.take();
        match got {
            Ok(response) if is_stream(&response) => {
                attempts.tell_end(state).await;
                return Ok(Events::new(response, &state.limits));
            }
            Ok(response) if response.status().is_server_error() => {}
            Ok(response) => {
                let status = response.status();
                return Err(RequestLoss::Broken(format!(
                    "{why}, and it cannot be taken up again ({status})"
                )));
            }
            Err(RequestLoss::Failed(ClientError::Unreachable(again))) => {
                let since = was_unreachable.unwrap_or_else(Instant::now);
                if since.elapsed() >= state.limits.http.stream_unreachable {
                    return Err(RequestLoss::Broken(again));
                }
                attempts.unreachable = Some(since);
                why = again;
            }
            Err(RequestLoss::Broken(again)) => why = again,
            Err(lost) => return Err(lost),
        }
        attempts.tell(state, &why).await;
    }
    Err(RequestLoss::Broken(why))
}

/// Gives the engine what comes, to the end of the stream; says how many messages that were.
///
/// # Errors
///
/// If the server sends more than it may.
pub(super) async fn forward(state: &HttpState, events: &mut Events) -> Result<usize, ClientError> {
    let mut messages = 0;
    loop {
        match events.next().await {
            Ok(event) if is_message(&event) => {
                messages += 1;
                state.deliver(state.parse(&event.data)).await;
            }
            Ok(_) => {}
            Err(EventStreamEnd::Ended(_)) => return Ok(messages),
            Err(EventStreamEnd::Failed(error)) => return Err(error),
        }
    }
}

pub(super) fn is_stream(response: &Response) -> bool {
    response.status() == StatusCode::OK && media(response) == Some(Media::EventStream)
}

/// How long to wait before connecting again: as long as the server said, within bounds, and longer
/// each time nothing comes of it.
pub(super) fn pause(resumption: &Resumption, attempts: u32, limits: &Limits) -> Duration {
    let wish = resumption.retry.unwrap_or(limits.http.stream_retry);
    // A server that wants no pause gets the least one there is, so that it cannot keep us busy.
    let pause = wish.max(limits.client.round_pause);
    let longer = pause.saturating_mul(1 << attempts.min(16));
    longer.min(limits.http.stream_retry_most)
}
