//! Held calls: the bridge answers before the client times out.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback::{
    BoxFuture, Ctx, Prompt, Result, Revision, Server, Tool,
    bridge::{Answers, Bridge, Hold},
    client::HostQuestion,
    protocol::{ClientCapabilities, InputResponse},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Seat, Standby, Wire, agreed, modern_meta, serve, to};

/// A client that refuses questions by itself, as slowly as a person.
const SLOW: &str = "fast-agent-mcp";

/// Answers like a user, after a while.
struct Person {
    after: Duration,
    asked: Arc<AtomicUsize>,
    withdrawn: Arc<AtomicUsize>,
}

/// Counts futures that are dropped before they end.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Answers for Person {
    fn capabilities(&self) -> ClientCapabilities {
        Standby::default().capabilities()
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let dropped = Dropped(Arc::clone(&self.withdrawn));
        Box::pin(async move {
            sleep(self.after).await;
            std::mem::forget(dropped);
            Ok(agreed(&question.request).expect("it says yes"))
        })
    }
}

/// A server that counts its calls, and a client with a session in front of it.
struct Held {
    client: Wire,
    calls: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    withdrawn: Arc<AtomicUsize>,
    /// The members of `_meta` that each request of a client without a session has.
    meta: Value,
    last: u64,
    progress: f64,
}

impl Held {
    /// Calls are held for `hold` seconds. The user answers after `answer` seconds.
    async fn open(cell: [Revision; 2], hold: u64, answer: u64) -> Self {
        Self::open_with(cell, &json!({}), hold, answer).await
    }

    /// A client of 2026-07-28 with these capabilities; a client with a session has none.
    async fn open_with(
        [down, up]: [Revision; 2],
        capabilities: &Value,
        hold: u64,
        answer: u64,
    ) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let reserve = Tool::new("reserve", move |ctx: Ctx| {
            let counted = Arc::clone(&counted);
            async move {
                let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
                counted.fetch_add(1, Ordering::SeqCst);
                Result::Ok(format!("window: {}", seat.window))
            }
        });
        let work = Tool::new("work", async || {
            sleep(Duration::from_secs(10)).await;
            Result::Ok("done")
        });
        let ask_and_work = Tool::new("ask_and_work", async |ctx: Ctx| {
            ctx.elicit::<Seat>("Which seat?").await?.accepted()?;
            sleep(Duration::from_secs(10)).await;
            Result::Ok("done")
        });
        let plan = Prompt::new("plan", async |ctx: Ctx| {
            let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
            Ok(format!("Plan with window: {}", seat.window))
        });
        let server = Server::new("s", "1").tool(reserve).tool(work);
        let server = server.tool(ask_and_work).prompt(plan);
        let server = server.revisions([up]).build().expect("it is one");
        let (asked, withdrawn) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let person = Person {
            after: Duration::from_secs(answer),
            asked: Arc::clone(&asked),
            withdrawn: Arc::clone(&withdrawn),
        };
        let bridge: Bridge = to(server).answers(person).hold(move |client, _| {
            assert!(["guest", SLOW].contains(&&*client.name));
            Hold {
                after: Duration::from_secs(hold),
                keep: Duration::from_secs(25 * hold),
                place: "Run `askback answer`.".to_owned(),
            }
        });
        let (near, _) = serve(&bridge);
        let mut client = Wire::new(near);
        let mut meta = json!({});
        match down == Revision::LATEST {
            true => meta = modern_meta(capabilities),
            false => drop(client.initialize(down, &json!({})).await),
        }
        Self {
            client,
            meta,
            calls,
            asked,
            withdrawn,
            last: 0,
            progress: 0.0,
        }
    }

    async fn send(&mut self, method: &str, params: Value) {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.client.say(&request.to_string()).await;
    }

    /// The response to the last request, and the number of notifications before it that say where
    /// to answer.
    async fn hear(&mut self) -> (Value, usize) {
        let mut told = 0;
        loop {
            let message = self.client.hear().await;
            if message["method"] == "notifications/progress" {
                let params = &message["params"];
                assert_eq!(params["progressToken"], self.last, "{message}");
                let progress = params["progress"].as_f64().expect("a number");
                assert!(progress > self.progress, "{message}");
                self.progress = progress;
                // The server also sends progress.
                told += usize::from(message.to_string().contains("Run `askback answer`."));
            } else if message["id"] == self.last {
                return (message, told);
            }
        }
    }

    async fn reserve(&mut self, seats: u64) -> (Value, usize) {
        self.reserve_round(seats, &json!({})).await
    }

    /// A round of a call, with the state and the answers to the questions of the last one.
    async fn reserve_round(&mut self, seats: u64, round: &Value) -> (Value, usize) {
        let mut meta = self.meta.clone();
        meta["progressToken"] = (self.last + 1).into();
        let mut params = round.clone();
        params["name"] = "reserve".into();
        params["arguments"] = json!({"seats": seats});
        params["_meta"] = meta;
        self.send("tools/call", params).await;
        self.hear().await
    }

    fn counts(&self) -> [usize; 3] {
        [&self.asked, &self.calls, &self.withdrawn].map(|count| count.load(Ordering::SeqCst))
    }
}

/// Clients and servers of each era.
fn cells() -> Vec<[Revision; 2]> {
    let downs = [
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];
    let cells = downs.map(|down| [[down, Revision::V2025_11_25], [down, Revision::V2026_07_28]]);
    cells.concat()
}

fn is_given_back(response: &Value) -> bool {
    response["result"]["isError"] == true && response.to_string().contains("` again with exactly")
}

#[tokio::test(start_paused = true)]
async fn a_client_that_gives_up_after_5_s_gets_20_of_20_results() {
    for cell in cells() {
        let mut held = Held::open(cell, 4, 9).await;
        for seats in 0..20 {
            let mut tries = 0;
            let response = loop {
                let (response, _) = held.reserve(seats).await;
                tries += 1;
                if !is_given_back(&response) {
                    break response;
                }
            };
            let content = &response["result"]["content"];
            assert_eq!(content[0]["text"], "window: true");
            let origin = content[1]["text"].as_str().expect("where it is from");
            assert!(origin.contains("your earlier call"), "{origin}");
            assert_eq!(tries, 3, "{cell:?}");
        }
        assert_eq!(held.counts(), [20, 20, 0], "{cell:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_is_waited_for_with_progress_in_each_revision() {
    for cell in cells() {
        let mut held = Held::open(cell, 50, 70).await;
        let (response, told) = held.reserve(1).await;
        assert!(is_given_back(&response), "{cell:?} {response}");
        let kind = &response["result"]["resultType"];
        assert_eq!(kind == "complete", cell[0] == Revision::LATEST, "{kind}");
        assert_eq!(told, 3, "{cell:?}");
        let (response, told) = held.reserve(1).await;
        assert_eq!(response["result"]["content"][0]["text"], "window: true");
        assert_eq!(told, 1, "{cell:?}");
        assert_eq!(held.counts(), [1, 1, 0], "{cell:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_client_of_2026_refuses_at_once_is_asked_here() {
    #[track_caller]
    fn check(content: &Value, text: &str) {
        let result = content["content"][0]["text"].as_str().expect("a text");
        assert!(result.starts_with(text), "{content}");
    }
    let forms = json!({"elicitation": {}});
    for up in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for (client, reaction, answer, asked, text) in [
            ("guest", 20, "cancel", 1, "window: true"),
            ("guest", 20, "decline", 1, "window: true"),
            ("guest", 600, "cancel", 0, "Nothing was done"),
            ("guest", 2000, "decline", 0, "Nothing was done"),
            (SLOW, 600, "cancel", 1, "window: true"),
            (SLOW, 600, "decline", 0, "Nothing was done"),
            (SLOW, 2000, "cancel", 0, "Nothing was done"),
        ] {
            let cell = [Revision::V2026_07_28, up];
            let mut held = Held::open_with(cell, &forms, 50, 10).await;
            held.meta["io.modelcontextprotocol/clientInfo"]["name"] = client.into();
            let (asks, _) = held.reserve(1).await;
            let asks = &asks["result"];
            assert_eq!(asks["resultType"], "input_required", "{asks}");
            sleep(Duration::from_millis(reaction)).await;
            let keys = asks["inputRequests"].as_object().expect("questions").keys();
            let answers: Value = keys
                .map(|key| (key.clone(), json!({"action": answer})))
                .collect();
            let round = json!({"requestState": asks["requestState"], "inputResponses": answers});
            let (done, _) = held.reserve_round(1, &round).await;
            check(&done["result"], text);
            assert_eq!(
                held.counts()[0],
                asked,
                "{up:?} {client} {answer} {reaction}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_call_is_not_attached() {
    let mut held = Held::open([Revision::V2025_11_25; 2], 4, 9).await;
    assert!(is_given_back(&held.reserve(1).await.0));
    assert!(is_given_back(&held.reserve(2).await.0));
    assert_eq!(held.counts()[0], 2);
    for seats in [2, 1] {
        let mut response = held.reserve(seats).await.0;
        while is_given_back(&response) {
            response = held.reserve(seats).await.0;
        }
        assert_eq!(response["result"]["content"][0]["text"], "window: true");
    }
    assert_eq!(held.counts(), [2, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_given_back_only_if_a_person_was_waited_for() {
    for (tool, answer, is_done) in [
        ("work", 0, true),
        ("ask_and_work", 0, true),
        ("ask_and_work", 2, false),
    ] {
        let mut held = Held::open([Revision::V2025_11_25; 2], 4, answer).await;
        let params = json!({"name": tool, "arguments": {}});
        held.send("tools/call", params).await;
        let (response, _) = held.hear().await;
        let text = &response["result"]["content"][0]["text"];
        assert_eq!(text == "done", is_done, "{tool} {answer} {response}");
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_256_calls_are_given_back() {
    let mut held = Held::open([Revision::V2025_11_25; 2], 10, 2).await;
    let mut given_back = 0;
    // At most 60 questions a minute are asked.
    for batch in 0..5 {
        for seats in 0..52 {
            let arguments = json!({"seats": batch * 52 + seats});
            let params = json!({"name": "ask_and_work", "arguments": arguments});
            held.send("tools/call", params).await;
        }
        for _ in 0..52 {
            let response = held.client.hear().await;
            given_back += usize::from(is_given_back(&response));
        }
        sleep(Duration::from_secs(51)).await;
    }
    assert_eq!(given_back, 256);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_given_back_as_an_error() {
    let mut held = Held::open([Revision::V2025_11_25; 2], 4, 9).await;
    let params = json!({"name": "plan"});
    held.send("prompts/get", params.clone()).await;
    let (response, _) = held.hear().await;
    assert_eq!(response["error"]["code"], -32603, "{response}");
    let said = response["error"]["message"].as_str().expect("a text");
    assert!(said.contains("Call `plan` again"), "{said}");
    held.send("prompts/get", params.clone()).await;
    held.hear().await;
    held.send("prompts/get", params).await;
    let (response, _) = held.hear().await;
    assert!(response.to_string().contains("Plan with window: true"));
    assert_eq!(held.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_made_again_is_given_up() {
    let mut held = Held::open([Revision::V2025_11_25; 2], 4, 1000).await;
    assert!(is_given_back(&held.reserve(1).await.0));
    sleep(Duration::from_secs(99)).await;
    assert_eq!(held.counts(), [1, 0, 0]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(held.counts(), [1, 0, 1]);
    let told = held.reserve(1).await.0.to_string();
    assert!(told.contains("no answer came in time"), "{told}");
    assert!(!told.contains("cancelled"), "{told}");
    assert_eq!(held.counts(), [1, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_if_the_client_cancels_it_or_goes() {
    for goes in [false, true] {
        let mut held = Held::open([Revision::V2025_11_25; 2], 40, 1000).await;
        let params = json!({"name": "reserve", "arguments": {}});
        held.send("tools/call", params).await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(held.counts(), [1, 0, 0]);
        let withdrawn = Arc::clone(&held.withdrawn);
        let cancel = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": held.last},
        });
        match goes {
            true => drop(held),
            false => held.client.say(&cancel.to_string()).await,
        }
        sleep(Duration::from_secs(9)).await;
        assert_eq!(withdrawn.load(Ordering::SeqCst), 1, "{goes}");
    }
}
