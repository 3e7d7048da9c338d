//! Any `requestState`: only states that this server sealed are accepted, and all others get the
//! same error message.

#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use askback_core::{
    ask::{
        Flow, FlowState, Reply, TokenId,
        keys::{Key, KeyRing},
        seal::{Binding, Entropy, SealError, open, seal},
    },
    limits::Limits,
    protocol::RawJson,
};
use libfuzzer_sys::fuzz_target;

const MAX: usize = 64 << 10;

#[derive(Debug, Arbitrary)]
enum Input<'a> {
    Forged(&'a str),
    /// A valid token, changed.
    Mutated {
        state: &'a [u8],
        entropy: [u8; 28],
        changes: Vec<Change>,
    },
    /// A valid token, presented with another request.
    Moved {
        state: &'a [u8],
        target: &'a str,
        subject: Option<&'a str>,
        revision: &'a str,
    },
    /// A valid token with strange content.
    Strange {
        state: &'a str,
        replies: BTreeMap<String, String>,
        later: u32,
    },
    Keys(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Change {
    Put { at: u16, byte: u8 },
    Insert { at: u16, byte: u8 },
    Remove { at: u16 },
    Truncate { at: u16 },
}

fuzz_target!(|input: Input<'_>| {
    let ring = KeyRing::new(Key::new(&[1; 32])).and_accept(Key::new(&[2; 32]));
    match input {
        Input::Forged(text) => refuse(open(&ring, &binding(), text, MAX)),
        Input::Mutated {
            state,
            entropy,
            changes,
        } => {
            let Ok(token) = seal(&ring, &binding(), state, Entropy(entropy), MAX) else {
                return;
            };
            let opened = open(&ring, &binding(), &token, MAX).expect("what was sealed opens");
            assert_eq!(*opened, state);
            let mutated = mutate(token.clone().into_bytes(), &changes);
            if let Ok(mutated) = String::from_utf8(mutated)
                && mutated != token
            {
                refuse(open(&ring, &binding(), &mutated, MAX));
            }
        }
        Input::Moved {
            state,
            target,
            subject,
            revision,
        } => {
            let Ok(token) = seal(&ring, &binding(), state, Entropy([7; 28]), MAX) else {
                return;
            };
            let other = Binding {
                target,
                subject,
                revision,
                ..binding()
            };
            let same = (target, subject, revision)
                == (binding().target, binding().subject, binding().revision);
            match open(&ring, &other, &token, MAX) {
                Ok(opened) => assert!(same && *opened == state),
                refused => refuse(refused),
            }
        }
        Input::Strange {
            state,
            replies,
            later,
        } => resume(state, replies, later),
        Input::Keys(text) => {
            if let Err(error) = text.parse::<KeyRing>() {
                assert!(!error.to_string().is_empty());
            }
        }
    }
});

fn binding() -> Binding<'static> {
    Binding {
        audience: "travel",
        tenant: None,
        issuer: Some("https://issuer.example"),
        subject: Some("ada"),
        client_id: None,
        method: "tools/call",
        target: "book_holiday",
        arguments: [7; 32],
        revision: "2026-07-28",
    }
}

fn refuse<T>(opened: Result<T, SealError>) {
    let Err(error) = opened else {
        panic!("a token opened that was never sealed");
    };
    assert_eq!(error.to_string(), "Invalid or expired requestState");
    assert_eq!(format!("{error:?}"), "SealError(..)");
}

fn mutate(mut token: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let length = token.len().max(1);
        match *change {
            Change::Put { at, byte } => {
                if let Some(place) = token.get_mut(usize::from(at) % length) {
                    *place = byte;
                }
            }
            Change::Insert { at, byte } => {
                token.insert(usize::from(at) % length % (token.len() + 1), byte)
            }
            Change::Remove { at } if !token.is_empty() => {
                token.remove(usize::from(at) % length);
            }
            Change::Remove { .. } => {}
            Change::Truncate { at } => token.truncate(usize::from(at)),
        }
    }
    token
}

/// Continuing from any sealed state does not panic, and the state can be sealed again.
fn resume(state: &str, replies: BTreeMap<String, String>, later: u32) {
    let limits = Limits::default();
    let Ok(state) = serde_json::from_str::<FlowState>(state) else {
        return;
    };
    let text = serde_json::to_string(&state).expect("a state is JSON");
    let again: FlowState = serde_json::from_str(&text).expect("a state reads again");
    assert_eq!(
        serde_json::to_string(&again).expect("a state is JSON"),
        text
    );

    let now = state.issued.saturating_add(later.into());
    let _ = state.check_fresh(now, &limits.asking);
    let replies = replies
        .into_iter()
        .filter_map(|(key, value)| Some((key, Reply::Value(RawJson::from_text(value).ok()?))))
        .collect();
    let identity = state.identity.clone();
    let mut flow = Flow::resume(state, replies, now, limits.into());
    let _ = flow.verdict(now);
    let next = flow.suspend(identity, TokenId([3; 16]), now);
    serde_json::to_string(&next).expect("a state is JSON");
}
