//! Tasks of a fleet.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use askback::{Ctx, Result, State, Tool, ctx::Progress, protocol::TaskSupport};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Shared, Who, accept, book, line::ParkLoss, metrics::calls_ended};
use crate::{http::client::Client, log::Log};

const WORK: Duration = Duration::from_secs(100);

pub(super) fn tools() -> Vec<Tool> {
    let optional = TaskSupport::Optional;
    vec![
        Tool::new("book_later", book).task(optional),
        Tool::new("work", work).task(optional),
        Tool::new("work_durably", work).task(optional).durable(),
        Tool::new("turn", turn).may_become_task(optional),
        Tool::new("insist", insist).task(optional),
    ]
}

/// Counts when its work begins and ends.
async fn work(ctx: Ctx, State(shared): State<Shared>) -> Result<String> {
    shared.prices.fetch_add(1, Ordering::Relaxed);
    ctx.progress(Progress::of(1.0, 2.0).message("Half of it is done."));
    ctx.sleep(WORK).await;
    let bookings = Arc::clone(&shared.bookings);
    let number: usize = ctx
        .commit("work", move || async move {
            Ok(1 + bookings.fetch_add(1, Ordering::Relaxed))
        })
        .await?;
    Ok(format!("done {number}"))
}

/// Asks before and after it becomes a task.
async fn turn(ctx: Ctx) -> Result<String> {
    let first: Who = ctx.elicit("The first?").await?.accepted()?;
    let before = ctx.is_task();
    ctx.become_task().await?;
    let second: Who = ctx.elicit("The second?").await?.accepted()?;
    let (first, second) = (first.name, second.name);
    Ok(format!("{first}, {second}, {before}, {}", ctx.is_task()))
}

/// Asks again until the name is acceptable.
async fn insist(ctx: Ctx) -> Result<String> {
    loop {
        let who: Who = ctx.elicit("A long name?").await?.accepted()?;
        if who.name.len() > 3 {
            return Ok(who.name);
        }
    }
}

pub(super) fn capabilities() -> Value {
    json!({"io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }})
}

/// Sends a request of a client with these capabilities.
async fn request(client: &Client, method: &str, mut params: Value) -> Value {
    params["_meta"] = capabilities();
    client.call(method, params).await.answer().await
}

pub(super) async fn begin(client: &Client, tool: &str) -> String {
    let begun = request(client, "tools/call", json!({"name": tool})).await;
    let result = &begun["result"];
    assert_eq!(result["resultType"], "task", "{begun}");
    assert_eq!(result["status"], "working", "{begun}");
    result["taskId"].as_str().expect("a name").to_owned()
}

async fn get(client: &Client, task: &str) -> Value {
    let got = request(client, "tasks/get", json!({"taskId": task})).await;
    assert!(got["result"].is_object(), "{got}");
    got["result"].clone()
}

async fn until(client: &Client, task: &str, status: &str) -> Value {
    for _ in 0..600 {
        let got = get(client, task).await;
        if got["status"] == status {
            return got;
        }
        sleep(Duration::from_secs(1)).await;
    }
    panic!("it does not get {status}: {}", get(client, task).await);
}

fn only_key(asking: &Value) -> &str {
    let asks = asking["inputRequests"].as_object().expect("questions");
    assert_eq!(asks.len(), 1, "{asking}");
    asks.keys().next().expect("a key")
}

async fn answer(client: &Client, task: &str, asking: &Value, content: Value) {
    let responses = json!({only_key(asking): accept(content)});
    let params = json!({"taskId": task, "inputResponses": responses});
    let taken = request(client, "tasks/update", params).await;
    assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
}

#[tokio::test(start_paused = true)]
async fn a_task_outlives_the_process_that_asked() {
    let shared = Shared::new();
    let (first, line) = shared.node_on_a_line();
    let task = begin(&first, "book_later").await;
    assert_eq!(task.len(), 32);
    let asking = until(&first, &task, "input_required").await;
    // From here on, each request reaches another process.
    line.cut();
    drop(first);
    answer(&shared.node(), &task, &asking, json!({"name": "Ada"})).await;
    let asking = until(&shared.node(), &task, "input_required").await;
    let ask = &asking["inputRequests"][only_key(&asking)];
    let fields = ask["params"]["requestedSchema"]["properties"].as_object();
    let field = fields.and_then(|it| it.keys().next()).expect("a field");
    answer(&shared.node(), &task, &asking, json!({ field: true })).await;
    let done = until(&shared.node(), &task, "completed").await;
    let text = &done["result"]["content"][0]["text"];
    assert_eq!(text, "booked for Ada as 7", "{done}");
    assert_eq!(done["result"]["resultType"], "complete");
    assert_eq!(shared.prices.load(Ordering::Relaxed), 1);
    assert_eq!(shared.bookings.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_read_when_the_journal_can_be_reached_again() {
    let shared = Shared::new();
    let (node, line) = shared.node_on_a_line();
    let task = begin(&node, "book_later").await;
    until(&node, &task, "input_required").await;
    line.cut();
    let outage = async {
        sleep(Duration::from_secs(20)).await;
        line.mend();
    };
    let (read, ()) = tokio::join!(get(&node, &task), outage);
    assert_eq!(read["status"], "input_required", "{read}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_task_waits_until_the_journal_can_be_reached_again() {
    let shared = Shared::new();
    let (node, line) = shared.node_on_a_line();
    let task = begin(&node, "insist").await;
    let asking = until(&node, &task, "input_required").await;
    line.cut_with("answer");
    let outage = async {
        while !line.is_cut() {
            sleep(Duration::from_secs(1)).await;
        }
        // Longer than an answer in a session waits.
        sleep(Duration::from_secs(20)).await;
        line.mend();
    };
    let answered = answer(&node, &task, &asking, json!({"name": "Grace"}));
    tokio::join!(answered, outage);
    let done = until(&node, &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Grace", "{done}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_the_journal_begins_with_a_new_lease() {
    let shared = Shared::new();
    let (first, line) = shared.node_on_a_line();
    // The second process fails tasks whose lease is over.
    let _second = shared.node();
    // The first request would leave a lease of a second when the ninth reaches the journal.
    line.lose_parks(&[ParkLoss::Request; 8]);
    let task = begin(&first, "work").await;
    until(&first, &task, "completed").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_process_dies_at_work_has_failed_unless_it_is_durable() {
    for (tool, runs, status) in [("work", 1, "failed"), ("work_durably", 2, "completed")] {
        let shared = Shared::new();
        let (first, line) = shared.node_on_a_line();
        let task = begin(&first, tool).await;
        sleep(Duration::from_secs(2)).await;
        let second = shared.node();
        let working = get(&second, &task).await;
        assert_eq!(working["statusMessage"], "Half of it is done.", "{working}");
        line.cut();
        let ended = until(&second, &task, status).await;
        assert_eq!(shared.prices.load(Ordering::Relaxed), runs, "{ended}");
        if status == "failed" {
            let why = ended["error"]["message"].as_str().expect("a message");
            assert!(why.contains("process"), "{why}");
            assert_eq!(ended["statusMessage"], why);
        } else {
            assert_eq!(ended["result"]["content"][0]["text"], "done 1", "{ended}");
        }
        // Whatever the disconnected process does, it cannot change the result.
        sleep(WORK).await;
        assert_eq!(get(&second, &task).await, ended);
        assert!(shared.bookings.load(Ordering::Relaxed) <= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_at_any_process() {
    let shared = Shared::new();
    let (first, second) = (shared.node(), shared.node());
    for tool in ["work", "book_later"] {
        let task = begin(&first, tool).await;
        sleep(Duration::from_secs(2)).await;
        let cancelled = request(&second, "tasks/cancel", json!({"taskId": task})).await;
        assert_eq!(cancelled["result"]["resultType"], "complete", "{cancelled}");
        for node in [&first, &second] {
            assert_eq!(get(node, &task).await["status"], "cancelled");
        }
        sleep(2 * WORK).await;
        assert_eq!(get(&first, &task).await["status"], "cancelled");
    }
    // The other process's handler was stopped.
    assert_eq!(shared.bookings.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_goes_on_from_there() {
    let shared = Shared::new();
    let asked = request(&shared.node(), "tools/call", json!({"name": "turn"})).await;
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let responses = json!({only_key(asked): accept(json!({"name": "Ada"}))});
    let params = json!({
        "name": "turn",
        "requestState": asked["requestState"],
        "inputResponses": responses,
    });
    let (node, line) = shared.node_on_a_line();
    let begun = request(&node, "tools/call", params).await;
    let task = begun["result"]["taskId"].as_str().expect("a task");
    let asking = until(&node, task, "input_required").await;
    line.cut();
    answer(&shared.node(), task, &asking, json!({"name": "Grace"})).await;
    let done = until(&shared.node(), task, "completed").await;
    let text = &done["result"]["content"][0]["text"];
    assert_eq!(text, "Ada, Grace, false, true");
}

#[tokio::test(start_paused = true)]
async fn each_question_of_a_task_has_a_key_of_its_own() {
    let shared = Shared::new();
    let node = shared.node();
    let task = begin(&node, "insist").await;
    let mut keys = Vec::new();
    for name in ["A", "B", "Grace"] {
        let asking = until(&node, &task, "input_required").await;
        let key = only_key(&asking).to_owned();
        assert!(!keys.contains(&key), "{keys:?} {key}");
        keys.push(key);
        // An answer to an earlier question, or to one that was not asked yet, changes nothing.
        let eve = accept(json!({"name": "Mallory"}));
        let others = json!({"x-1": eve, "x-2": eve, "x-9": eve});
        let params = json!({"taskId": task, "inputResponses": others});
        request(&shared.node(), "tasks/update", params).await;
        answer(&shared.node(), &task, &asking, json!({"name": name})).await;
        answer(&shared.node(), &task, &asking, json!({"name": "Mallory"})).await;
    }
    let done = until(&node, &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Grace");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_not_there_is_refused_in_one_voice() {
    let shared = Shared::new();
    let (node, line) = shared.node_on_a_line();
    let task = begin(&node, "book_later").await;
    until(&node, &task, "input_required").await;
    let of_another_fleet = {
        let other = shared.builder(&line).service("others").build();
        begin(&Client::of(&other.expect("a server")), "book_later").await
    };
    let reversed: String = task.chars().rev().collect();
    sleep(Duration::from_secs(1)).await;
    line.requests();
    let forged = [&*reversed, &task[1..], "x", &of_another_fleet];
    let mut refusals = Vec::new();
    for name in forged {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({"taskId": name, "inputResponses": {}});
            refusals.push(request(&node, method, params).await["error"].clone());
        }
    }
    // Names that this fleet did not issue never reach the journal.
    assert_eq!(line.requests(), <[&str; 0]>::default());
    sleep(askback::Limits::default().tasks.ttl).await;
    let params = json!({"taskId": task});
    refusals.push(request(&node, "tasks/get", params).await["error"].clone());
    let is_same = |refusal: &Value| *refusal == refusals[0];
    assert!(refusals.iter().all(is_same), "{refusals:?}");
    assert_eq!(refusals[0]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn the_call_that_begins_a_task_is_counted_once() {
    let log = Log::default();
    let _listening = log.listen();
    let node = Shared::new().node();
    let task = begin(&node, "insist").await;
    let asking = until(&node, &task, "input_required").await;
    answer(&node, &task, &asking, json!({"name": "Adelaide"})).await;
    until(&node, &task, "completed").await;
    assert_eq!(calls_ended(&log), ["task"]);
}
