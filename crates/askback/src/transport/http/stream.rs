//! Streams of a session: the server's own event stream, and broken streams that are resumed
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

/// If a resumption takes longer than this, the host is told.
const SILENCE: Duration = Duration::from_millis(1500);

/// Reads the server's event stream for as long as the session lasts. Ends if the server does not
/// offer one.
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
            // 405 means that there is no such stream, and no other response promises that there
            // will be one. An ended session is noticed by the next request.
            Ok(response) if !response.status().is_server_error() => return BridgeOutcome::Deaf,
            Ok(_)
            | Err(RequestLoss::Broken(_) | RequestLoss::Failed(ClientError::Unreachable(_))) => {}
            Err(_) => return BridgeOutcome::Deaf,
        }
        sleep(pause(&resumption, attempts, &state.limits)).await;
        attempts += 1;
    }
}

/// The failed attempts to resume a broken stream since its last event.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    count: u32,
    /// When the server's address began to refuse connections.
    unreachable: Option<Instant>,
    is_told: bool,
}

impl Attempts {
    /// Starts a new count, because the server sent something.
    pub(super) fn begin_again(&mut self) {
        self.count = 0;
        self.unreachable = None;
    }

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

    /// Tells the host that the stream continues, if it was told of the break.
    async fn tell_end(&mut self, state: &HttpState) {
        if std::mem::take(&mut self.is_told) {
            state.note("the answer continues".to_owned()).await;
        }
    }
}

/// Resumes a broken stream after its last event. The host is told if that does not succeed at once.
/// A server that refuses connections may be restarting, and gets less time than one that responds.
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
                    "{why}, and it cannot be resumed ({status})"
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

/// Passes messages to the engine until the stream ends. Returns the number of messages.
///
/// # Errors
///
/// If the server exceeds a limit.
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

/// How long to wait before reconnecting: as long as the server asked, within limits, and longer
/// after each failure.
pub(super) fn pause(resumption: &Resumption, attempts: u32, limits: &Limits) -> Duration {
    let usual = limits.http.stream_retry;
    let wish = resumption.retry.unwrap_or(usual);
    // A server that asks for no pause gets the minimum, so that it cannot keep the client busy. It knows how soon another
    // process can be reached, but not how long to wait if none can: the attempts would be used up before one starts.
    let pause = match attempts {
        0 => wish.max(limits.client.round_pause),
        _ => wish.max(usual),
    };
    let longer = pause.saturating_mul(1 << attempts.min(16));
    longer.min(limits.http.stream_retry_most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_pause_is_for_the_first_attempt() {
        let mut limits = Limits::default();
        limits.client.round_pause = Duration::from_millis(50);
        limits.http.stream_retry = Duration::from_secs(1);
        limits.http.stream_retry_most = Duration::from_secs(20);
        // What the server asked for, and the pauses in milliseconds before the attempts.
        let cases = [
            (None, [1_000, 2_000, 4_000, 8_000, 16_000, 20_000]),
            (Some(0), [50, 2_000, 4_000, 8_000, 16_000, 20_000]),
            (Some(100), [100, 2_000, 4_000, 8_000, 16_000, 20_000]),
            (Some(3_000), [3_000, 6_000, 12_000, 20_000, 20_000, 20_000]),
        ];
        for (wish, pauses) in cases {
            let resumption = Resumption {
                retry: wish.map(Duration::from_millis),
                ..Resumption::default()
            };
            for (attempts, expected) in (0..).zip(pauses) {
                let pause = pause(&resumption, attempts, &limits);
                assert_eq!(
                    pause,
                    Duration::from_millis(expected),
                    "{wish:?} {attempts}"
                );
            }
        }
    }
}
