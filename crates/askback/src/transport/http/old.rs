//! The transport of the first revision: events from one URL, messages to another (2024-11-05,
//! basic/transports, HTTP with SSE).

use std::sync::Arc;

use askback_core::{
    engine::client::{ClientError, RequestLoss},
    jsonrpc::RequestId,
};
use bytes::Bytes;
use http::HeaderMap;
use tokio::time::timeout;

use super::{
    bridge::BridgeOutcome,
    events::Events,
    send::{HttpState, Target, refusal_in_full},
    stream::{forward, is_stream},
};

pub(super) async fn open(state: &HttpState) -> Result<(Target, Events), ClientError> {
    let response = match state.get(None).await {
        Ok(response) => response,
        Err(RequestLoss::Failed(error)) => return Err(error),
        Err(RequestLoss::Broken(why)) => return Err(ClientError::Unreachable(why)),
        Err(_) => return Err(ClientError::Closed),
    };
    if !is_stream(&response) {
        return Err(refusal_in_full(response, None, &state.limits).await);
    }
    let mut events = Events::new(response, &state.limits);
    let first = timeout(state.limits.http.connect, events.next()).await;
    let endpoint = match first {
        Ok(Ok(event)) if event.event.as_deref() == Some("endpoint") => event.data,
        _ => {
            let why = "its stream of events does not begin with an `endpoint`";
            return Err(ClientError::Protocol(why.to_owned()));
        }
    };
    let endpoint = str::from_utf8(&endpoint)
        .ok()
        .and_then(|endpoint| state.target.url.join(endpoint.trim()).ok());
    match endpoint {
        // Messages and the user's headers are sent only to this origin.
        Some(endpoint) if endpoint.origin() == state.target.url.origin() => {
            let endpoint = Target::new(endpoint)?;
            Ok((endpoint, events))
        }
        _ => {
            let why = "it wants messages sent to another origin, or to no URL";
            Err(ClientError::Protocol(why.to_owned()))
        }
    }
}

/// Passes the stream's messages to the engine. The connection ends with the stream.
pub(super) async fn listen(state: Arc<HttpState>, mut events: Events) -> BridgeOutcome {
    BridgeOutcome::Over(match forward(&state, &mut events).await {
        Ok(_) => "its stream of events ended".to_owned(),
        Err(error) => error.to_string(),
    })
}

pub(super) async fn tell(
    state: Arc<HttpState>,
    endpoint: Target,
    id: Option<RequestId>,
    message: Bytes,
) -> BridgeOutcome {
    let set = |headers: &mut HeaderMap| state.set_session(headers);
    let posted = state.post(&endpoint, &set, message);
    let lost = match timeout(state.limits.wire.request, posted).await {
        Ok(Ok(response)) if response.status().is_success() => return BridgeOutcome::Done,
        Ok(Ok(response)) => {
            RequestLoss::Failed(refusal_in_full(response, None, &state.limits).await)
        }
        Ok(Err(lost)) => lost,
        Err(_) => RequestLoss::Failed(ClientError::TimedOut(state.limits.wire.request)),
    };
    match id {
        Some(id) => state.lose(id, lost).await,
        None => {
            state
                .note("the server did not take a message".to_owned())
                .await
        }
    }
    BridgeOutcome::Done
}
