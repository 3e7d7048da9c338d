//! A server's memory for its clients is bounded, and no client takes the share of another.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use askback::{
    Ctx, Principal, Server, Tool,
    http::Service,
    keys::{Key, KeyRing, KeySource},
    store::{MemoryStore, Store},
};
use serde_json::{Value, json};

use crate::{
    asking::{Seat, seat_round},
    principal::{body, post},
};

#[derive(Clone, Default)]
struct Effects(Arc<AtomicUsize>);

impl Effects {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A service whose tool asks, and then commits to a value of `bytes`.
fn booking(bytes: usize, effects: &Effects, store: impl Store + 'static) -> Service {
    let effects = effects.clone();
    let book = move |ctx: Ctx| {
        let effects = effects.clone();
        async move {
            let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
            let step = ctx.commit("book", move || async move {
                effects.0.fetch_add(1, Ordering::SeqCst);
                Ok("x".repeat(bytes))
            });
            Ok(format!("booked {}", step.await?.len()))
        }
    };
    service(Tool::new("tool", book), store)
}

/// A service whose tool records `bytes` and asks.
fn recording(bytes: usize, store: impl Store + 'static) -> Service {
    let record = move |ctx: Ctx| async move {
        let step = ctx.run("record", move || async move { Ok("x".repeat(bytes)) });
        let recorded: String = step.await?;
        let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
        Ok(format!("recorded {}", recorded.len()))
    };
    service(Tool::new("tool", record), store)
}

fn service(tool: Tool, store: impl Store + 'static) -> Service {
    let ring = KeyRing::new(Key::new(&[1; 32]));
    let builder = Server::new("agency", "1").tool(tool).store(store);
    let server = builder.keys(KeySource::Ring(ring)).build().unwrap();
    server.http().service()
}

/// One round of the call. With `before`, answers its question.
async fn round(service: &Service, who: &Principal, before: Option<&Value>) -> Value {
    let params = seat_round("tool", before);
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "tool"),
    ];
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    body(post(service, Some(who), &headers, &message).await).await
}

fn text(response: &Value) -> &str {
    let text = response["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {response}"))
}

fn mallory(number: usize) -> Principal {
    Principal::new(format!("mallory-{number}"))
}

#[tokio::test]
async fn no_principal_takes_the_room_for_the_commits_of_others() {
    let effects = Effects::default();
    let service = booking(30_000, &effects, MemoryStore::new(8 << 20));
    let refused = "`book` was not begun by this attempt: your quota of stored data is used up";
    for number in 0..50 {
        let (who, mut booked) = (mallory(number), 0);
        loop {
            let first = round(&service, &who, None).await;
            let last = round(&service, &who, Some(&first)).await;
            if text(&last).contains(refused) {
                break;
            }
            assert_eq!(text(&last), "booked 30000");
            booked += 1;
            assert!(booked < 100, "mallory takes all there is");
        }
    }
    let done = effects.count();
    let alice = Principal::new("alice");
    let first = round(&service, &alice, None).await;
    let last = round(&service, &alice, Some(&first)).await;
    assert_eq!(text(&last), "booked 30000", "after {done}");
    assert_eq!(effects.count(), done + 1);
}

#[tokio::test]
async fn no_principal_takes_the_room_for_the_states_of_others() {
    let service = recording(40_000, MemoryStore::new(4 << 20));
    let alice = Principal::new("alice");
    let first = round(&service, &alice, None).await;
    for _ in 0..3 {
        for number in 0..50 {
            let asked = round(&service, &mallory(number), None).await;
            assert!(asked["result"]["requestState"].is_string(), "{asked}");
        }
    }
    let last = round(&service, &alice, Some(&first)).await;
    assert_eq!(text(&last), "recorded 40000");
    let first = round(&service, &alice, None).await;
    let last = round(&service, &alice, Some(&first)).await;
    assert_eq!(text(&last), "recorded 40000");
}

#[tokio::test]
async fn an_effect_whose_value_is_too_large_happens_once_and_says_so() {
    let effects = Effects::default();
    let service = booking(70_000, &effects, MemoryStore::default());
    let alice = Principal::new("alice");
    let first = round(&service, &alice, None).await;
    for _ in 0..3 {
        let last = round(&service, &alice, Some(&first)).await;
        assert_eq!(last["result"]["isError"], true, "{last}");
        assert!(
            text(&last).contains("larger than the 65536 bytes"),
            "{last}"
        );
        assert_eq!(effects.count(), 1);
    }
}

#[tokio::test]
async fn a_state_is_kept_up_to_a_size() {
    let alice = Principal::new("alice");
    let service = recording(700_000, MemoryStore::default());
    let first = round(&service, &alice, None).await;
    let last = round(&service, &alice, Some(&first)).await;
    assert_eq!(text(&last), "recorded 700000");

    let service = recording(900_000, MemoryStore::default());
    let refused = round(&service, &alice, None).await;
    let told = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("too large to be kept"), "{refused}");
}
