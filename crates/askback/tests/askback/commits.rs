//! A commit that has begun runs to its end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback::{
    Clock, Ctx, Limits, Revision, Server, Tool,
    ctx::Progress,
    keys::{Key, KeyRing, KeySource},
    store::{MemoryStore, Millis, Store},
    testing::{TestClock, Wire},
    transport::memory,
};
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use crate::asking::{Seat, seat_round};

/// A server whose effect pauses in the middle, and the number of effects that began and ended.
#[derive(Clone)]
struct Stage {
    begun: Arc<Notify>,
    go_on: Arc<Notify>,
    ended: Arc<Notify>,
    effects: Arc<AtomicUsize>,
    store: Arc<dyn Store>,
    clock: WrongClock,
    limits: Limits,
    panics: bool,
}

/// A clock that is ahead.
#[derive(Clone)]
struct WrongClock {
    right: TestClock,
    ahead: Arc<AtomicU64>,
}

impl Clock for WrongClock {
    fn now(&self) -> Millis {
        self.right.now() + self.ahead.load(Ordering::SeqCst)
    }
}

impl Stage {
    fn new() -> Self {
        Self {
            begun: Arc::default(),
            go_on: Arc::default(),
            ended: Arc::default(),
            effects: Arc::default(),
            store: Arc::new(MemoryStore::default()),
            clock: WrongClock {
                right: TestClock::new(),
                ahead: Arc::default(),
            },
            limits: Limits::default(),
            panics: false,
        }
    }

    fn server(&self) -> Server {
        let stage = self.clone();
        let book = move |ctx: Ctx| {
            let stage = stage.clone();
            async move {
                let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
                let within = ctx.clone();
                let effect = async move || {
                    stage.begun.notify_one();
                    stage.go_on.notified().await;
                    within.progress(Progress::at(1));
                    let number = stage.effects.fetch_add(1, Ordering::SeqCst) + 1;
                    stage.ended.notify_one();
                    assert!(!stage.panics, "out of luck");
                    Ok(format!("{number} {:x}", within.random()))
                };
                let booked = ctx.commit("book", effect).await?;
                Ok(format!("booked {booked}"))
            }
        };
        Server::new("agency", "1")
            .tool(Tool::new("tool", book))
            .limits(self.limits.clone())
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .store(Arc::clone(&self.store))
            .clock(self.clock.clone())
            .build()
            .unwrap()
    }

    fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }
}

/// Receives the question and sends the answer, without waiting for the response.
async fn answer(wire: &mut Wire) -> (u64, Value) {
    wire.request("tools/call", seat_round("tool", None)).await;
    let asked = wire.hear().await.unwrap();
    let id = wire
        .request("tools/call", seat_round("tool", Some(&asked)))
        .await;
    (id, asked)
}

async fn response(wire: &mut Wire, id: u64) -> Value {
    loop {
        let message = wire.hear().await.expect("the server is there");
        if message["id"] == id {
            return message;
        }
    }
}

async fn again(wire: &mut Wire, asked: &Value) -> Value {
    let id = wire
        .request("tools/call", seat_round("tool", Some(asked)))
        .await;
    response(wire, id).await
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

/// How a client abandons a call in the middle of its effect.
#[derive(Debug, Clone, Copy)]
enum Leaving {
    Cancels,
    HangsUp,
    HangsUpOnAnotherServer,
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_has_begun_runs_to_its_end() {
    for leaving in [
        Leaving::Cancels,
        Leaving::HangsUp,
        Leaving::HangsUpOnAnotherServer,
    ] {
        let stage = Stage::new();
        let server = stage.server();
        let mut wire = Wire::connect(&server);
        let (id, asked) = answer(&mut wire).await;
        stage.begun.notified().await;
        match leaving {
            Leaving::Cancels => {
                let params = json!({"requestId": id});
                let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                wire.say(&cancelled).await;
            }
            Leaving::HangsUp => wire = Wire::connect(&server),
            Leaving::HangsUpOnAnotherServer => wire = Wire::connect(&stage.server()),
        }
        // The retry arrives while the effect runs, and waits for it.
        let left = Instant::now();
        let id = wire
            .request("tools/call", seat_round("tool", Some(&asked)))
            .await;
        stage.go_on.notify_one();
        let first = response(&mut wire, id).await;
        assert!(
            text(&first).starts_with("booked 1 "),
            "{leaving:?}: {first}"
        );
        assert!(
            left.elapsed() < Duration::from_secs(1),
            "{leaving:?}: {:?}",
            left.elapsed()
        );
        assert_eq!(again(&mut wire, &asked).await["result"], first["result"]);
        assert_eq!(stage.effects(), 1, "{leaving:?}");
    }
}

// A session ends with its connection, so no retry can come.
#[tokio::test(start_paused = true)]
async fn a_commit_of_a_session_runs_to_its_end() {
    let stage = Stage::new();
    let server = stage.server();
    let mut wire = Wire::connect(&server);
    let capabilities = json!({"elicitation": {}});
    wire.initialize(Revision::V2025_11_25, &capabilities).await;
    wire.request("tools/call", json!({"name": "tool"})).await;
    let question = wire.hear().await.unwrap();
    let accept = json!({"action": "accept", "content": {"window": true}});
    wire.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept}))
        .await;
    stage.begun.notified().await;
    drop(wire);
    stage.go_on.notify_one();
    stage.ended.notified().await;
    assert_eq!(stage.effects(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_an_effect_that_panicked_is_told_at_once() {
    let stage = Stage {
        panics: true,
        ..Stage::new()
    };
    let mut wire = Wire::connect(&stage.server());
    let (id, asked) = answer(&mut wire).await;
    stage.go_on.notify_one();
    let first = response(&mut wire, id).await;
    assert_eq!(first["error"]["code"], -32603, "{first}");
    let begun = Instant::now();
    let second = again(&mut wire, &asked).await;
    assert!(text(&second).contains("its outcome is unknown"), "{second}");
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(stage.effects(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_takes_too_long_is_ended_and_not_begun_again() {
    let mut stage = Stage::new();
    stage.limits.asking.run = Duration::from_secs(5);
    let mut wire = Wire::connect(&stage.server());
    let (id, asked) = answer(&mut wire).await;
    let words = "the step `book` did not end within 5 seconds: its outcome is unknown";
    assert_eq!(text(&response(&mut wire, id).await), words);
    assert_eq!(text(&again(&mut wire, &asked).await), words);
    stage.go_on.notify_one();
    assert_eq!(stage.effects(), 0);
}

#[tokio::test(start_paused = true)]
async fn too_many_commits_are_refused_before_their_effect() {
    let mut stage = Stage::new();
    stage.limits.asking.commits = 1;
    let mut wire = Wire::connect(&stage.server());
    let (first, _) = answer(&mut wire).await;
    stage.begun.notified().await;
    let (second, _) = answer(&mut wire).await;
    let refused = response(&mut wire, second).await;
    assert_eq!(
        text(&refused),
        "the server is busy, and this attempt did nothing: try again later"
    );
    stage.go_on.notify_one();
    assert!(text(&response(&mut wire, first).await).starts_with("booked 1"));
    let (third, _) = answer(&mut wire).await;
    stage.go_on.notify_one();
    assert!(text(&response(&mut wire, third).await).starts_with("booked 2"));
}

// The two servers stand for two processes: they share only the store.
#[tokio::test(start_paused = true)]
async fn a_retry_that_waits_for_another_process_leaves_room_for_other_commits() {
    let mut stage = Stage::new();
    stage.limits.asking.commits = 1;
    let (left, right) = (stage.server(), stage.server());
    let mut left = Wire::connect(&left);
    let (first, asked) = answer(&mut left).await;
    stage.begun.notified().await;
    let mut waiting = Wire::connect(&right);
    let params = seat_round("tool", Some(&asked));
    let retry = waiting.request("tools/call", params).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut right = Wire::connect(&right);
    let (other, _) = answer(&mut right).await;
    tokio::select! {
        () = stage.begun.notified() => {}
        refused = response(&mut right, other) => panic!("{refused}"),
    }
    stage.go_on.notify_one();
    let first = response(&mut left, first).await;
    assert!(text(&first).starts_with("booked 1 "), "{first}");
    // The slot is still taken, and the retry gets its value.
    assert_eq!(
        response(&mut waiting, retry).await["result"],
        first["result"]
    );
    stage.go_on.notify_one();
    let other = response(&mut right, other).await;
    assert!(text(&other).starts_with("booked 2 "), "{other}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_outlives_the_states_of_a_clock_that_was_ahead() {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    for ahead in [0, 1, 3, 400] {
        let stage = Stage::new();
        let mut wire = Wire::connect(&stage.server());
        // One clock, which is ahead, seals the state; a correct one dates the claim.
        stage.clock.ahead.store(ahead * DAY, Ordering::SeqCst);
        let params = seat_round("tool", None);
        wire.request("tools/call", params).await;
        let asked = wire.hear().await.unwrap();
        stage.clock.ahead.store(0, Ordering::SeqCst);
        stage.go_on.notify_one();
        let first = again(&mut wire, &asked).await;
        assert!(text(&first).starts_with("booked 1 "), "{first}");
        // As long as the state can be opened, the effect does not happen again.
        for days in [0, 1, ahead.saturating_sub(1), ahead] {
            stage.clock.ahead.store(days * DAY, Ordering::SeqCst);
            stage.store.purge(stage.clock.now()).await.unwrap();
            stage.go_on.notify_one();
            let second = again(&mut wire, &asked).await;
            let is_open = days <= ahead;
            assert!(
                second["result"] == first["result"] || !is_open,
                "{days} of {ahead}: {second}"
            );
            assert_eq!(stage.effects(), 1, "{days} of {ahead}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_waits_for_its_commits_before_it_ends() {
    for (is_told, hangs) in [(true, false), (false, false), (true, true), (false, true)] {
        let stage = Stage::new();
        let server = stage.server();
        let (near, far) = memory();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let stopped = async {
                if stopped.await.is_err() {
                    std::future::pending().await
                }
            };
            server.serve_until(far, stopped).await
        });
        let (mut receiver, mut sender) = near.split();
        let mut round = 0;
        let mut asked = None;
        while round < 2 {
            round += 1;
            let params = seat_round("tool", asked.as_ref());
            let request =
                json!({"jsonrpc": "2.0", "id": round, "method": "tools/call", "params": params});
            sender.send(request.to_string().into_bytes()).await.unwrap();
            if round == 1 {
                let message = receiver.receive().await.unwrap().unwrap();
                asked = Some(serde_json::from_slice::<Value>(&message).unwrap());
            }
        }
        stage.begun.notified().await;
        let begun = Instant::now();
        if is_told {
            stop.send(()).unwrap();
        }
        // The client disconnects and its call is dropped. The commit continues.
        drop((receiver, sender));
        if !hangs {
            let go_on = Arc::clone(&stage.go_on);
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                go_on.notify_one();
            });
        }
        serving.await.unwrap().unwrap();
        let want = if hangs { 0 } else { 1 };
        assert_eq!(stage.effects(), want, "told: {is_told}, hangs: {hangs}");
        let took = begun.elapsed();
        let most = Limits::default().server.shutdown + Duration::from_secs(2);
        assert!(took >= Duration::from_secs(10) && took < most, "{took:?}");
    }
}
