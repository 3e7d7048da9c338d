//! One request and all responses to it.

use std::sync::Arc;

use askback_core::{
    engine::client::{ClientError, RequestLoss, ServerMessage, is_from_gateway},
    http::media::Media,
    jsonrpc::{self, MalformedMessage, Message, Payload, RequestId},
    protocol::codes,
    quote::excerpt,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout};

use super::{
    bridge::BridgeOutcome,
    era::ServerEra,
    events::{EventStreamEnd, Events, Resumption, is_message},
    message::{PendingRequest, Reply},
    send::{self, HttpState, Response, SHOWN_BODY_BYTES, media, refusal, refusal_in_full, saying},
    stream::{self, Attempts},
};

enum Answer {
    Response(ExchangeResponse),
    /// An undecoded message that contains the response.
    Whole(ServerMessage),
    /// No response: on a session, it may arrive on the client's event stream. Without that stream,
    /// the request fails with this error.
    Elsewhere(ClientError),
}

struct ExchangeResponse {
    response: jsonrpc::Response,
    bytes: usize,
    rest: Option<Box<Events>>,
}

enum Failure {
    Lost(RequestLoss),
    SessionOver,
    TryOld(ClientError),
}

pub(super) async fn exchange(state: Arc<HttpState>, request: PendingRequest) -> BridgeOutcome {
    let failure = match ask_well(&state, &request).await {
        Ok(Answer::Elsewhere(error)) => return BridgeOutcome::Elsewhere(error),
        Ok(Answer::Whole(message)) => {
            state.deliver(message).await;
            return BridgeOutcome::Done;
        }
        Ok(Answer::Response(answered)) => {
            give(&state, &request, answered).await;
            return BridgeOutcome::Done;
        }
        Err(failure) => failure,
    };
    let id = request.id().clone();
    match failure {
        Failure::Lost(lost) => {
            if request.is_opening() {
                state.era.set(None);
            }
            state.lose(id, lost).await;
            BridgeOutcome::Done
        }
        Failure::SessionOver => {
            state.lose(id, RequestLoss::Returned).await;
            BridgeOutcome::Over(SESSION_OVER.to_owned())
        }
        Failure::TryOld(error) => BridgeOutcome::TryOld {
            request: Box::new(request),
            error,
        },
    }
}

pub(super) async fn tell(state: Arc<HttpState>, message: Bytes) -> BridgeOutcome {
    let in_session = state.is_in_session();
    let posted = post_until_taken(&state, message);
    let posted = timeout(state.limits.wire.request, posted).await;
    let error = match posted {
        Ok(Ok(response)) if response.status().is_success() => return BridgeOutcome::Done,
        Ok(Ok(response)) if is_over(&response, in_session) => {
            return BridgeOutcome::Over(SESSION_OVER.to_owned());
        }
        Ok(Ok(response)) => refusal_in_full(response, None, &state.limits)
            .await
            .to_string(),
        Ok(Err(RequestLoss::Failed(error))) => error.to_string(),
        Ok(Err(RequestLoss::Broken(why))) => why,
        Ok(Err(_)) | Err(_) => "it took too long".to_owned(),
    };
    state
        .note(format!("the server did not take a message: {error}"))
        .await;
    BridgeOutcome::Done
}

/// Posts a session's message that has no response, until the server accepts it. The server may be
/// restarting, or be one of several, so the message is posted again if the connection is refused or
/// breaks, or if the status is 502, 503 or 504. Attempts without a response end after
/// `stream_unreachable`. After that, a status is still retried until there were
/// `stream_resumptions` retries. A duplicate answer is harmless.
async fn post_until_taken(state: &HttpState, message: Bytes) -> Result<Response, RequestLoss> {
    let set = |headers: &mut HeaderMap| state.set_session(headers);
    let begun = Instant::now();
    let mut attempts = 0;
    loop {
        let posted = state.post(&state.target, &set, message.clone()).await;
        let limits = &state.limits.http;
        let is_late = begun.elapsed() >= limits.stream_unreachable;
        let may_repeat = match &posted {
            Ok(response) if is_from_gateway(response.status().as_u16()) => {
                !is_late || attempts < limits.stream_resumptions
            }
            Err(RequestLoss::Broken(_) | RequestLoss::Failed(ClientError::Unreachable(_))) => {
                !is_late
            }
            Ok(_) | Err(_) => false,
        };
        if !may_repeat || !state.is_in_session() {
            return posted;
        }
        sleep(stream::pause(
            &Resumption::default(),
            attempts,
            &state.limits,
        ))
        .await;
        attempts += 1;
    }
}

/// Posts a request. Posts it again if the server has not begun it and says when to retry (503 with
/// `Retry-After`): the process may be stopping while another one takes over.
async fn post_until_begun(
    state: &HttpState,
    set: &(dyn Fn(&mut HeaderMap) + Sync),
    request: &Bytes,
) -> Result<Response, RequestLoss> {
    let limits = &state.limits.http;
    let begun = Instant::now();
    let mut attempts = 1;
    loop {
        let response = state.post(&state.target, set, request.clone()).await?;
        let pause = send::pause_before_retry(&response)
            .filter(|pause| begun.elapsed().saturating_add(*pause) <= limits.stream_unreachable);
        match pause {
            Some(pause) if attempts < limits.stream_resumptions => sleep(pause).await,
            _ => return Ok(response),
        }
        attempts += 1;
    }
}

const SESSION_OVER: &str = "the server no longer knows the session";

/// Sends a request, and sends it again if it lacked headers that the tool wants mirrored
/// (2026-07-28, basic/transports/streamable-http, Client Behavior).
async fn ask_well(state: &HttpState, request: &PendingRequest) -> Result<Answer, Failure> {
    let answer = ask(state, request).await?;
    let Answer::Response(answered) = &answer else {
        return Ok(answer);
    };
    let mismatch =
        matches!(&answered.response.outcome, Err(error) if error.code == codes::HEADER_MISMATCH);
    if !mismatch || !learn_headers(state, request).await {
        return Ok(answer);
    }
    let own = request.id().clone();
    let again = request.renamed(RequestId::String(format!("{own}-again")));
    match ask(state, &again).await? {
        Answer::Response(mut answered) => {
            answered.response.id = Some(own);
            Ok(Answer::Response(answered))
        }
        Answer::Whole(_) | Answer::Elsewhere(_) => Ok(answer),
    }
}

/// Lists the tools again. Returns whether the request's headers have changed.
async fn learn_headers(state: &HttpState, request: &PendingRequest) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        next_cursor: Option<String>,
    }
    if request.tool().is_none() || !request.stands_alone() {
        return false;
    }
    let mirrored = || {
        let mut mirrored = HeaderMap::new();
        request.mirror(&state.tools, &mut mirrored);
        mirrored
    };
    let before = mirrored();
    let mut cursor = None;
    let mut bytes = 0;
    for page in 0..state.limits.client.pages {
        let id = RequestId::String(format!("{}-tools-{page}", request.id()));
        let first = cursor.is_none();
        let listing = request.list_tools(id, cursor.take());
        let Ok(Answer::Response(answered)) = ask(state, &listing).await else {
            return false;
        };
        let Ok(tools) = answered.response.outcome else {
            return false;
        };
        bytes += tools.get().len();
        if bytes > state.limits.client.list_bytes {
            return false;
        }
        for note in state.tools.read(&tools, first, &state.limits).notes {
            state.note(note).await;
        }
        if mirrored() != before {
            return true;
        }
        cursor = serde_json::from_str::<Page>(tools.get())
            .ok()
            .and_then(|page| page.next_cursor);
        if cursor.is_none() {
            return false;
        }
    }
    false
}

async fn ask(state: &HttpState, request: &PendingRequest) -> Result<Answer, Failure> {
    let belongs_to_session = !request.stands_alone() && !request.is_initialize();
    let in_session = belongs_to_session && state.is_in_session();
    let set = |headers: &mut HeaderMap| match belongs_to_session {
        true => state.set_session(headers),
        false => request.mirror(&state.tools, headers),
    };
    let response = post_until_begun(state, &set, &request.bytes).await?;
    if is_over(&response, in_session) {
        return Err(Failure::SessionOver);
    }
    if !response.status().is_success() {
        return refused(state, request, response).await;
    }
    if request.is_initialize() {
        state.begin_session(&response)?;
    }
    let is_unanswered = matches!(
        response.status(),
        StatusCode::ACCEPTED | StatusCode::NO_CONTENT
    );
    let why = match is_unanswered {
        true => "a request was not answered",
        false => "the answer is neither JSON nor events",
    };
    let error = match media(&response) {
        Some(Media::EventStream) => {
            return stream_to(state, request, Events::new(response, &state.limits)).await;
        }
        Some(Media::Json) => {
            let error = refusal(&response, Some(why));
            let body = send::read(response, &state.limits).await?;
            match request.recognize(state.parse(&body)) {
                Reply::Response(response, bytes) => {
                    return Ok(Answer::Response(ExchangeResponse {
                        response,
                        bytes,
                        rest: None,
                    }));
                }
                Reply::Whole(message) => return Ok(Answer::Whole(message)),
                Reply::Other(_) if is_unanswered => {
                    saying(error, &excerpt(String::from_utf8_lossy(&body).trim()))
                }
                Reply::Other(message) => no_response(&message.content, &body),
            }
        }
        None => refusal_in_full(response, Some(why), &state.limits).await,
    };
    if is_unanswered && belongs_to_session {
        return Ok(Answer::Elsewhere(error));
    }
    Err(failed(error))
}

fn no_response(content: &Result<Payload, MalformedMessage>, received: &[u8]) -> ClientError {
    ClientError::Unreadable {
        why: match content {
            Ok(_) => "it is not a response to the request".to_owned(),
            Err(malformed) => malformed.error.message.clone(),
        },
        received: String::from_utf8_lossy(received).into_owned(),
    }
}

async fn refused(
    state: &HttpState,
    request: &PendingRequest,
    response: Response,
) -> Result<Answer, Failure> {
    let status = response.status();
    let mut error = refusal(&response, None);
    let is_about_more = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        // A failing server does not say what it supports.
        || status.is_server_error() && request.is_opening();
    if is_about_more {
        return Err(failed(refusal_in_full(response, None, &state.limits).await));
    }
    if media(&response) == Some(Media::Json) {
        let body = send::read(response, &state.limits).await?;
        if let Reply::Response(response, bytes) = request.recognize(state.parse(&body))
            && response.outcome.is_err()
        {
            return Ok(Answer::Response(ExchangeResponse {
                response,
                bytes,
                rest: None,
            }));
        }
        error = saying(error, &excerpt(String::from_utf8_lossy(&body).trim()));
    } else {
        error = refusal_in_full(response, None, &state.limits).await;
    }
    let may_be_old = matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    );
    if request.is_initialize() && may_be_old {
        return Err(Failure::TryOld(error));
    }
    Err(failed(error))
}

/// Reads a stream up to the response. A session's broken stream is resumed.
async fn stream_to(
    state: &HttpState,
    request: &PendingRequest,
    mut events: Events,
) -> Result<Answer, Failure> {
    let mut resumption = Resumption::default();
    let mut attempts = Attempts::default();
    // If the stream ends without a response, this may have been intended as one.
    let mut unread = None;
    loop {
        let event = match events.next().await {
            Ok(event) => event,
            Err(EventStreamEnd::Failed(error)) => return Err(failed(error)),
            Err(EventStreamEnd::Ended(why)) => {
                // A stream with an event was not a failed attempt: resuming it starts a new count.
                if events.note_resumption(&mut resumption) {
                    attempts.begin_again();
                }
                let resumed = match request.stands_alone() || resumption.after.is_none() {
                    true => Err(RequestLoss::Broken(why)),
                    false => stream::resume(state, &resumption, &mut attempts, why).await,
                };
                events = match resumed {
                    Ok(events) => events,
                    Err(lost) => return Err(unread.map_or(Failure::Lost(lost), failed)),
                };
                continue;
            }
        };
        if !is_message(&event) {
            continue;
        }
        match request.recognize(state.parse(&event.data)) {
            Reply::Response(response, bytes) => {
                return Ok(Answer::Response(ExchangeResponse {
                    response,
                    bytes,
                    rest: Some(Box::new(events)),
                }));
            }
            Reply::Whole(message) => return Ok(Answer::Whole(message)),
            // The engine reports messages that cannot be read.
            Reply::Other(message) => {
                if !may_come_before(&message.content) {
                    let kept = &event.data[..event.data.len().min(SHOWN_BODY_BYTES)];
                    unread = Some(no_response(&message.content, kept));
                }
                state.deliver(message).await;
            }
        }
    }
}

/// Whether a server may send this on a request's stream before the response.
fn may_come_before(content: &Result<Payload, MalformedMessage>) -> bool {
    matches!(
        content,
        Ok(Payload::Single(
            Message::Request(_) | Message::Notification(_)
        ))
    )
}

/// Records what the response says about the server, and passes it to the engine.
async fn give(state: &HttpState, request: &PendingRequest, answered: ExchangeResponse) {
    let ExchangeResponse {
        mut response,
        bytes,
        rest,
    } = answered;
    match &mut response.outcome {
        Ok(_) if request.is_initialize() => state.era.set(Some(ServerEra::Handshake)),
        Ok(_) if request.is_opening() => state.era.set(Some(ServerEra::Modern)),
        Err(_) if request.is_opening() => state.era.set(None),
        Ok(result) if request.stands_alone() => {
            if let Some(is_first) = request.lists_tools() {
                let read = state.tools.read(result, is_first, &state.limits);
                if let Some(mended) = read.mended {
                    *result = mended;
                }
                for note in read.notes {
                    state.note(note).await;
                }
            }
        }
        _ => {}
    }
    let content = Ok(Payload::Single(Message::Response(response)));
    state
        .deliver(ServerMessage {
            content,
            bytes,
            excerpt: None,
            text: None,
        })
        .await;
    if let Some(mut rest) = rest {
        // A server should end the stream. If it does not, it costs a connection.
        let _ = timeout(state.limits.client.exit, rest.read_over()).await;
    }
}

fn is_over(response: &Response, in_session: bool) -> bool {
    in_session && response.status() == StatusCode::NOT_FOUND
}

fn failed(error: ClientError) -> Failure {
    Failure::Lost(RequestLoss::Failed(error))
}

impl From<RequestLoss> for Failure {
    fn from(lost: RequestLoss) -> Self {
        Self::Lost(lost)
    }
}
