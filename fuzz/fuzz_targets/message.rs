//! Any message: reading it never panics, and a message that was understood is written so that it
//! reads the same again.
//!
//! The first byte chooses the revision, the second the type of a result; the rest is the message.

#![no_main]

use askback_core::{
    engine::server::ReceivedMessage,
    jsonrpc::{self, MalformedMessage, Message, Payload, RequestId, Response},
    limits::{Limits, WireLimits},
    protocol::{
        CallToolResult, ClientNotification, ClientRequest, CompleteResult, CreateMessageResult,
        DiscoverResult, ElicitResult, EmptyResult, GetPromptResult, HasMeta, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
        ListTasksResult, ListToolsResult, ReadResourceResult, ServerNotification, ServerRequest,
        SubscriptionsListenResult, TaskState, UrlElicitationRequired,
    },
    revision::Revision,
    wire::{self, Lower},
};
use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

fuzz_target!(|data: &[u8]| {
    let [revision, kind, text @ ..] = data else {
        return;
    };
    let revision = Revision::ALL[usize::from(*revision) % Revision::ALL.len()];
    read_at_once(text);
    match parse(text) {
        Ok(Payload::Single(message)) => check(revision, *kind, message),
        Ok(Payload::Batch(messages)) => {
            let written: Vec<_> = messages.iter().map(answer).collect();
            let again = parse(&jsonrpc::write_batch(&written)).expect("a batch reads again");
            let Payload::Batch(again) = again else {
                panic!("a batch became one message");
            };
            assert_eq!(messages.len(), again.len());
            for message in messages.into_iter().flatten() {
                check(revision, *kind, message);
            }
        }
        Err(malformed) => {
            answer(&Err(malformed));
        }
    }
});

fn parse(text: &[u8]) -> Result<Payload, MalformedMessage> {
    jsonrpc::parse(text, &WireLimits::default())
}

/// Reading a request at once and reading it step by step give the same result.
fn read_at_once(text: &[u8]) {
    let Ok(ReceivedMessage::Request(received)) =
        ReceivedMessage::parse(text, &Limits::default(), &[])
    else {
        return;
    };
    let Ok(Payload::Single(Message::Request(call))) = parse(text) else {
        panic!("only one way of reading sees a request");
    };
    assert_eq!(call.id, received.id);
    let params = call.params.as_deref();
    let request = ClientRequest::parse(&call.method, params);
    assert_eq!(request, Ok(received.request));
}

/// The response to a member of a batch: the message itself, or its error.
fn answer(message: &Result<Message, MalformedMessage>) -> Vec<u8> {
    match message {
        Ok(message) => written(message),
        Err(malformed) => {
            let written = jsonrpc::write_error(malformed.id.as_ref(), &malformed.error);
            parse(&written).expect("an error reads again");
            written
        }
    }
}

fn check(revision: Revision, kind: u8, message: Message) {
    let bytes = written(&message);
    let again = single(&bytes);
    assert_eq!(bytes, written(&again));
    match message {
        Message::Request(call) => {
            let (method, params) = (call.method.as_str(), call.params.as_deref());
            let write = |request: ClientRequest| request.to_vec(&call.id);
            call_again(revision, method, params, write);
            let write = |request: ServerRequest| request.to_vec(&call.id);
            call_again(revision, method, params, write);
        }
        Message::Notification(call) => {
            let (method, params) = (call.method.as_str(), call.params.as_deref());
            call_again(revision, method, params, |said: ClientNotification| {
                said.to_vec()
            });
            call_again(revision, method, params, |said: ServerNotification| {
                said.to_vec()
            });
        }
        Message::Response(Response {
            id: Some(id),
            outcome: Ok(result),
        }) => {
            read_result(revision, kind, &id, &result);
        }
        Message::Response(Response {
            outcome: Err(error),
            ..
        }) => {
            let data = error
                .data
                .map(serde_json::from_value::<UrlElicitationRequired>);
            if let Some(Ok(data)) = data {
                let _ = wire::lower(data, revision);
            }
        }
        Message::Response(_) => {}
    }
}

/// A call is the same after it was written and read in its revision.
fn call_again<M: wire::Method + Lower>(
    revision: Revision,
    method: &str,
    params: Option<&RawValue>,
    write: impl Fn(M) -> Vec<u8>,
) {
    let Ok(call) = wire::read::<M>(revision, method, params) else {
        return;
    };
    let written = write(wire::lower(call, revision));
    let (method, params) = match single(&written) {
        Message::Request(call) => (call.method, call.params),
        Message::Notification(call) => (call.method, call.params),
        Message::Response(_) => panic!("a call became a response"),
    };
    let again = wire::read::<M>(revision, &method, params.as_deref())
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&written)));
    assert_same(&written, &write(wire::lower(again, revision)));
}

fn read_result(revision: Revision, kind: u8, id: &RequestId, result: &RawValue) {
    const READERS: &[fn(Revision, &RequestId, &RawValue)] = &[
        result_again::<InitializeResult>,
        result_again::<DiscoverResult>,
        result_again::<EmptyResult>,
        result_again::<ListToolsResult>,
        result_again::<CallToolResult>,
        result_again::<ListPromptsResult>,
        result_again::<GetPromptResult>,
        result_again::<ListResourcesResult>,
        result_again::<ListResourceTemplatesResult>,
        result_again::<ReadResourceResult>,
        result_again::<SubscriptionsListenResult>,
        result_again::<CompleteResult>,
        result_again::<ElicitResult>,
        result_again::<CreateMessageResult>,
        result_again::<ListRootsResult>,
        result_again::<TaskState>,
        result_again::<ListTasksResult>,
    ];
    READERS[usize::from(kind) % READERS.len()](revision, id, result);
}

/// A result is the same after it was written and read in its revision.
fn result_again<T: DeserializeOwned + Lower + HasMeta + Serialize>(
    revision: Revision,
    id: &RequestId,
    result: &RawValue,
) {
    let Ok(outcome) = wire::read_outcome::<T>(revision, result) else {
        return;
    };
    let written = wire::write_outcome(revision, id, outcome, None);
    let Message::Response(Response {
        outcome: Ok(result),
        ..
    }) = single(&written)
    else {
        panic!("a result became something else");
    };
    let again = wire::read_outcome::<T>(revision, &result)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&written)));
    assert_same(&written, &wire::write_outcome(revision, id, again, None));
}

fn single(written: &[u8]) -> Message {
    match parse(written) {
        Ok(Payload::Single(message)) => message,
        other => panic!("{other:?}: {}", String::from_utf8_lossy(written)),
    }
}

#[track_caller]
fn assert_same(first: &[u8], second: &[u8]) {
    assert_eq!(
        String::from_utf8_lossy(first),
        String::from_utf8_lossy(second)
    );
}

/// Writes a message as it was read.
fn written(message: &Message) -> Vec<u8> {
    match message {
        Message::Request(request) => {
            jsonrpc::write_request(&request.id, &request.method, request.params.as_deref())
        }
        Message::Notification(notification) => {
            jsonrpc::write_notification(&notification.method, notification.params.as_deref())
        }
        Message::Response(response) => match (&response.id, &response.outcome) {
            (Some(id), Ok(result)) => jsonrpc::write_result(id, result),
            (id, Err(error)) => jsonrpc::write_error(id.as_ref(), error),
            (None, Ok(_)) => panic!("a result without an id"),
        },
    }
}
