//! No bytes from a peer cause a panic.

use std::sync::LazyLock;

use askback_core::{
    engine::server::ReceivedMessage,
    jsonrpc::{self, Message, Payload},
    limits::{Limits, WireLimits},
    protocol::{
        CallToolResult, ClientNotification, ClientRequest, CreateMessageResult, DetailedTask,
        DiscoverResult, ElicitResult, GetPromptResult, InitializeResult, ListRootsResult,
        ListToolsResult, Outcome, ReadResourceResult, ServerNotification, ServerRequest, TaskState,
    },
    revision::Revision,
    wire::{self, Lower},
};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{Case, read};
use crate::proptest_config;

/// The fast path and the full parser return the same result.
fn read_in_one_go(bytes: &[u8]) {
    let limits = Limits::default();
    let Ok(ReceivedMessage::Request(received)) = ReceivedMessage::parse(bytes, &limits, &[]) else {
        return;
    };
    match jsonrpc::parse(bytes, &limits.wire) {
        Ok(Payload::Single(Message::Request(call))) => {
            assert_eq!(call.id, received.id);
            let params = call.params.as_deref();
            let request = ClientRequest::parse(&call.method, params);
            assert_eq!(request, Ok(received.request));
        }
        other => panic!("read as a request: {other:?}"),
    }
}

/// Parses bytes in every way, and writes the result in every revision.
fn read_in_every_way(bytes: &[u8]) {
    read_in_one_go(bytes);
    let messages = match jsonrpc::parse(bytes, &WireLimits::default()) {
        Ok(Payload::Single(message)) => vec![message],
        Ok(Payload::Batch(messages)) => messages.into_iter().filter_map(Result::ok).collect(),
        Err(_) => return,
    };
    for message in messages {
        assert!(jsonrpc::parse(&crate::written(&message), &WireLimits::default()).is_ok());
        match message {
            Message::Request(call) => {
                let (method, params) = (&call.method, call.params.as_deref());
                for revision in Revision::ALL {
                    if let Ok(request) = wire::read::<ClientRequest>(revision, method, params) {
                        wire::lower(request, revision).to_vec(&call.id);
                    }
                    if let Ok(request) = wire::read::<ServerRequest>(revision, method, params) {
                        wire::lower(request, revision).to_vec(&call.id);
                    }
                }
            }
            Message::Notification(call) => {
                let (method, params) = (&call.method, call.params.as_deref());
                for revision in Revision::ALL {
                    if let Ok(said) = wire::read::<ClientNotification>(revision, method, params) {
                        wire::lower(said, revision).to_vec();
                    }
                    if let Ok(said) = wire::read::<ServerNotification>(revision, method, params) {
                        wire::lower(said, revision).to_vec();
                    }
                }
            }
            Message::Response(response) => {
                if let Ok(raw) = response.outcome {
                    result::<InitializeResult>(&raw);
                    result::<DiscoverResult>(&raw);
                    result::<ListToolsResult>(&raw);
                    result::<CallToolResult>(&raw);
                    result::<GetPromptResult>(&raw);
                    result::<ReadResourceResult>(&raw);
                    result::<ElicitResult>(&raw);
                    result::<CreateMessageResult>(&raw);
                    result::<ListRootsResult>(&raw);
                    result::<TaskState>(&raw);
                    result::<DetailedTask>(&raw);
                }
            }
        }
    }
}

fn result<T: DeserializeOwned + Lower + Serialize + Clone>(raw: &RawValue) {
    for revision in Revision::ALL {
        if let Ok(Outcome::Done(result)) = wire::read_outcome::<T>(revision, raw) {
            serde_json::to_string(&wire::lower(result, revision)).unwrap();
        }
    }
}

/// A way to damage a message.
#[derive(Debug, Clone)]
enum Harm {
    Replace(Index, u8),
    Insert(Index, Vec<u8>),
    Cut(Index, usize),
    Repeat(Index, usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    // Bytes with a meaning in JSON do more damage.
    let byte = prop_oneof![
        proptest::sample::select(br#"{}[]",:\u0123456789.eE-ntf "#.to_vec()),
        any::<u8>(),
    ];
    prop_oneof![
        (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Harm::Replace(at, byte)),
        (any::<Index>(), vec(byte, 1..6)).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Harm::Cut(at, length)),
        (any::<Index>(), 1..200_usize).prop_map(|(at, length)| Harm::Repeat(at, length)),
    ]
}

fn spoil(bytes: &mut Vec<u8>, harm: Harm) {
    if bytes.is_empty() {
        return;
    }
    match harm {
        Harm::Replace(at, byte) => *at.get_mut(bytes) = byte,
        Harm::Insert(at, inserted) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, inserted);
        }
        Harm::Cut(at, length) => {
            let at = at.index(bytes.len());
            bytes.drain(at..bytes.len().min(at + length));
        }
        Harm::Repeat(at, length) => {
            let at = at.index(bytes.len());
            let part = bytes[at..bytes.len().min(at + length)].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn arbitrary_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..200)) {
        read_in_every_way(&bytes);
    }

    #[test]
    fn spoilt_messages_are_read_without_panic(which in any::<Index>(), harms in vec(harm(), 1..5)) {
        let mut bytes = which.get(&MESSAGES).clone();
        for harm in harms {
            spoil(&mut bytes, harm);
        }
        read_in_every_way(&bytes);
    }
}

/// The messages of all cases.
static MESSAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    read::<Case>("cases")
        .into_iter()
        .map(|case| case.message.get().as_bytes().to_vec())
        .collect()
});
