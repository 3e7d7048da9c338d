//! A server whose calls become tasks.

use std::sync::{Arc, atomic::Ordering};

use askback::Revision;

use super::*;
use crate::asking::pages::{Page, pay};

// Shows BA-26, TA-06, TA-07, TA-10, TA-17, TA-20, TA-23, TA-57, TA-63.
#[tokio::test(start_paused = true)]
async fn a_task_goes_from_work_to_its_result() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let task = client.call("slow").await;
    assert_eq!(
        task,
        json!({
            "resultType": "task",
            "taskId": task["taskId"],
            "status": "working",
            "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z",
            "ttlMs": 3_600_000,
            "pollIntervalMs": 1000,
            "_meta": task["_meta"],
        })
    );
    let id = task["taskId"].as_str().unwrap();
    assert!(id.len() >= 32, "{id}");
    let working = client.settled(id).await;
    assert_eq!(working["resultType"], "complete");
    assert_eq!(working["status"], "working");
    assert_eq!(working["statusMessage"], "Half of it is done.");
    sleep(WORK).await;
    assert_eq!(client.settled(id).await["statusMessage"], "2 of 2");
    sleep(WORK).await;
    let done = client.settled(id).await;
    assert_eq!(done["status"], "completed");
    assert_eq!(
        done["result"]["content"][0]["text"],
        "done, as a task: true"
    );
    assert_eq!(done["result"]["resultType"], "complete");
    assert_eq!(done["lastUpdatedAt"], "2026-01-01T00:03:20Z");
    // Another connection to the same server finds the task too.
    assert_eq!(Client::new(&server).get(id).await["status"], "completed");
}

// Shows TA-09, TA-22, TA-41, TA-51, TA-53, TA-54, TA-55, TA-56, TA-57.
#[tokio::test(start_paused = true)]
async fn a_task_ends_as_its_call_would_have() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let cases = [
        (
            "failing",
            json!({"status": "completed", "result": {"isError": true}}),
        ),
        (
            "forbidden",
            json!({"status": "failed", "statusMessage": "not today",
                "error": {"code": -32000, "message": "not today"}}),
        ),
        (
            "panicking",
            json!({"status": "failed", "error": {"code": -32603,
                "message": "the server failed while it handled this request"}}),
        ),
    ];
    for (tool, expected) in cases {
        let id = client.begin(tool).await;
        let ended = client.settled(&id).await;
        assert_includes(&ended, &expected);
        // Cancelling a finished task does not change it.
        let acknowledged = client.request("tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(acknowledged["result"]["resultType"], "complete");
        assert_eq!(client.get(&id).await, ended);
    }
}

// Shows BA-09, BA-22, BA-47, VE-05, TA-01, TA-04, TA-07, TA-52, TA-59.
#[tokio::test(start_paused = true)]
async fn only_a_client_that_takes_tasks_is_given_one() {
    let server = builder().build().unwrap();
    let mut client = Client::without_tasks(&server);
    let done = client.call("slow").await;
    assert_eq!(done["content"][0]["text"], "done, as a task: false");
    let required = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for tool in ["failing", "strictly_later"] {
        let refused = client.request("tools/call", json!({"name": tool})).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], required);
    }
    // A declaration is valid only for its own request.
    let id = Client::new(&server).begin("slow").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        let refused = client.request(method, params).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], required);
    }
    // Declaring the tasks of another revision is not enough.
    client.capabilities["tasks"] = json!({"list": {}, "cancel": {}});
    let done = client.call("slow").await;
    assert_eq!(done["resultType"], "complete");
}

// Shows TA-01, TA-58, TA-61, TA-62, TA25-01, TA25-15.
#[tokio::test(start_paused = true)]
async fn a_session_has_no_tasks() {
    let server = builder().build().unwrap();
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut wire = Wire::connect(&server);
        let extensions = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let greeting = wire.initialize(revision, &extensions).await;
        let capabilities = &greeting["result"]["capabilities"];
        assert!(capabilities["extensions"].is_null(), "{capabilities}");
        assert!(capabilities["tasks"].is_null(), "{capabilities}");
        let params = json!({"name": "slow", "task": {"ttl": 1000}});
        wire.request("tools/call", params).await;
        let done = wire.hear().await.unwrap();
        let text = &done["result"]["content"][0]["text"];
        assert_eq!(*text, "done, as a task: false", "{done}");
        wire.request("tools/call", json!({"name": "failing"})).await;
        let refused = wire.hear().await.unwrap();
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        wire.request("tasks/get", json!({"taskId": "1"})).await;
        assert_eq!(wire.hear().await.unwrap()["error"]["code"], -32601);
    }
}

// Shows TA-18, TA-33, TA-37, TA-39, MR-04.
#[tokio::test(start_paused = true)]
async fn a_task_asks_until_it_is_answered() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let id = client.begin("reserve").await;
    let asking = client.settled(&id).await;
    assert_eq!(asking["status"], "input_required");
    let question = &asking["inputRequests"]["seat"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "By the window?");
    assert_eq!(
        client.get(&id).await["inputRequests"],
        asking["inputRequests"]
    );
    // An answer to an unknown question is ignored.
    let answer = json!({"action": "accept", "content": {"window": true}});
    client.update(&id, json!({"other": answer})).await;
    assert_eq!(client.settled(&id).await["status"], "input_required");
    let acknowledged = client.update(&id, json!({"seat": answer})).await;
    assert_eq!(acknowledged["result"]["resultType"], "complete");
    assert_eq!(client.settled(&id).await["status"], "working");
    let other = json!({"action": "accept", "content": {"window": false}});
    client.update(&id, json!({"seat": other})).await;
    sleep(WORK).await;
    let done = client.settled(&id).await;
    assert_eq!(done["result"]["content"][0]["text"], "window: true");
}

// Shows TA-31, TA-32.
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_is_asked_again_under_another_key() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let id = client.begin("reserve").await;
    let mut keys = Vec::new();
    loop {
        let asking = client.settled(&id).await;
        if asking["status"] != "input_required" {
            assert_eq!(asking["status"], "completed", "{asking}");
            assert_eq!(asking["result"]["isError"], true, "{asking}");
            break;
        }
        let (key, _) = asking["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        keys.push(key.clone());
        let wrong = json!({"action": "accept", "content": {"window": "perhaps"}});
        client.update(&id, json!({key: wrong})).await;
    }
    assert_eq!(keys, ["seat", "seat-again", "seat-again-2", "seat-again-3"]);
}

// Shows TA-19, TA-38.
#[tokio::test(start_paused = true)]
async fn some_of_its_questions_may_be_answered_first() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let id = client.begin("two").await;
    let asking = client.settled(&id).await;
    assert_eq!(asking["inputRequests"].as_object().unwrap().len(), 2);
    let name = json!({"action": "accept", "content": {"name": "Ada"}});
    client.update(&id, json!({"name": name})).await;
    let asking = client.settled(&id).await;
    assert_eq!(asking["status"], "input_required");
    let keys: Vec<_> = asking["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(keys, ["seat"]);
    let seat = json!({"action": "accept", "content": {"window": false}});
    client
        .update(&id, json!({"seat": seat, "name": name}))
        .await;
    let done = client.settled(&id).await;
    assert_eq!(done["result"]["content"][0]["text"], "Ada: false");
}

// Shows TA-12.
#[tokio::test(start_paused = true)]
async fn a_call_asks_in_rounds_until_it_becomes_a_task() {
    let server = builder().build().unwrap();
    for tool in ["later", "strictly_later"] {
        let mut client = Client::new(&server);
        let round = client.call(tool).await;
        assert_eq!(round["resultType"], "input_required", "{round}");
        assert!(!round["inputRequests"]["seat"].is_null());
        let retry = json!({
            "name": tool,
            "requestState": round["requestState"],
            "inputResponses": {"seat": {"action": "accept", "content": {"window": true}}},
        });
        let task = client.request("tools/call", retry).await["result"].take();
        assert_eq!(task["resultType"], "task", "{task}");
        assert!(task["requestState"].is_null() && task["inputRequests"].is_null());
        let id = task["taskId"].as_str().unwrap();
        let asking = client.settled(id).await;
        let keys: Vec<_> = asking["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(keys, ["name"]);
        assert!(asking["requestState"].is_null());
        let name = json!({"action": "accept", "content": {"name": "Ada"}});
        client.update(id, json!({"name": name})).await;
        sleep(WORK).await;
        let done = client.settled(id).await;
        assert_eq!(done["result"]["content"][0]["text"], "Ada: true true");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_open_at_the_same_time_is_asked_by_the_task() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let id = client.begin("beside").await;
    assert_eq!(client.settled(&id).await["status"], "input_required");
    let seat = json!({"action": "accept", "content": {"window": true}});
    client.update(&id, json!({"seat": seat})).await;
    let done = client.settled(&id).await;
    assert_eq!(done["result"]["content"][0]["text"], "task true");
}

#[tokio::test(start_paused = true)]
async fn only_a_tool_that_says_so_becomes_a_task() {
    let server = builder().build().unwrap();
    for mut client in [Client::new(&server), Client::without_tasks(&server)] {
        for tool in ["undeclared", "never"] {
            let done = client.call(tool).await;
            assert_eq!(done["isError"], true, "{done}");
            let why = done["content"][0]["text"].as_str().unwrap();
            assert!(why.contains("may_become_task"), "{why}");
        }
    }
}

// Shows TA-21, TA-41, TA-44.
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stops() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    for tool in ["slow", "reserve"] {
        let id = client.begin(tool).await;
        sleep(WORK / 2).await;
        for _ in 0..2 {
            let acknowledged = client.request("tasks/cancel", json!({"taskId": id})).await;
            assert_eq!(acknowledged["result"]["resultType"], "complete");
            assert_eq!(client.get(&id).await["status"], "cancelled");
        }
        sleep(WORK * 3).await;
        let cancelled = client.get(&id).await;
        assert_eq!(cancelled["status"], "cancelled");
        assert!(cancelled["inputRequests"].is_null() && cancelled["result"].is_null());
    }
}

// Shows TA-24, TA-25, TA-35, TA-49, TA-50, TA-51.
#[tokio::test(start_paused = true)]
async fn a_task_expires() {
    let mut limits = Limits::default();
    limits.tasks.ttl = WORK * 3;
    limits.tasks.kept = 2;
    let server = builder().limits(limits).build().unwrap();
    let mut client = Client::new(&server);
    let first = client.begin("slow").await;
    let second = client.begin("reserve").await;
    // There is no room for a third task.
    let full = client.request("tools/call", json!({"name": "slow"})).await;
    assert_eq!(full["error"]["code"], -32603, "{full}");
    sleep(WORK * 3 - Duration::from_millis(1)).await;
    assert_eq!(client.get(&first).await["status"], "completed");
    assert_eq!(client.get(&second).await["status"], "input_required");
    sleep(Duration::from_millis(1)).await;
    for id in [&first, &second, "nobody"] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({"taskId": id, "inputResponses": {}});
            let unknown = client.request(method, params).await;
            assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        }
    }
    client.begin("slow").await;
}

// Shows TA-61, TA-62.
#[tokio::test(start_paused = true)]
async fn what_the_extension_has_not_is_not_answered() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    for method in ["tasks/list", "tasks/result"] {
        let unknown = client.request(method, json!({"taskId": "1"})).await;
        assert_eq!(unknown["error"]["code"], -32601, "{method}");
    }
    let discovered = client.request("server/discover", json!({})).await;
    let extensions = &discovered["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({"io.modelcontextprotocol/tasks": {}}));
    let plain = Server::new("plain", "1")
        .tool(Tool::new("slow", slow))
        .build()
        .unwrap();
    let mut client = Client::new(&plain);
    let discovered = client.request("server/discover", json!({})).await;
    assert!(discovered["result"]["capabilities"]["extensions"].is_null());
    let unknown = client.request("tasks/get", json!({"taskId": "1"})).await;
    assert_eq!(unknown["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn a_task_waits_for_a_page_as_long_as_for_an_answer() {
    // Longer than a retry would wait: the retry asks again, but a task does not.
    async fn later(ctx: Ctx, page: Page) -> Result<String> {
        ctx.become_task().await?;
        pay(ctx, page).await
    }
    let (now, after) = (Page::new(60), Page::new(60));
    let waits = [Arc::clone(&now.waits), Arc::clone(&after.waits)];
    let now = Tool::new("now", move |ctx: Ctx| pay(ctx, now.clone()));
    let after = Tool::new("after", move |ctx: Ctx| later(ctx, after.clone()));
    let server = builder().tool(now.task(TaskSupport::Required));
    let server = server.tool(after.may_become_task(TaskSupport::Required));
    let server = server.build().unwrap();
    let mut client = Client::new(&server);
    client.capabilities["elicitation"] = json!({"form": {}, "url": {}});
    for (tool, waits) in ["now", "after"].iter().zip(waits) {
        let id = client.begin(tool).await;
        let asking = client.settled(&id).await;
        assert_eq!(asking["inputRequests"]["link"]["params"]["mode"], "url");
        let agreed = json!({"link": {"action": "accept"}});
        client.update(&id, agreed).await;
        sleep(Duration::from_secs(59)).await;
        assert_eq!(client.settled(&id).await["status"], "working", "{tool}");
        sleep(Duration::from_secs(1)).await;
        let asking = client.settled(&id).await;
        assert!(asking["inputRequests"]["seat"].is_object(), "{asking}");
        let seat = json!({"action": "accept", "content": {"window": true}});
        client.update(&id, json!({"seat": seat})).await;
        let done = client.settled(&id).await;
        let text = &done["result"]["content"][0]["text"];
        assert_eq!(text, "paid, by the window: true", "{tool}");
        assert_eq!(waits.load(Ordering::Relaxed), 1, "{tool}");
    }
}

// Shows BA-51, TA-45, TA-46.
#[tokio::test(start_paused = true)]
async fn a_subscription_tells_how_a_task_stands() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let id = client.begin("reserve").await;
    let other = client.begin("reserve").await;
    let wish = json!({"notifications": {"taskIds": [id]}});
    let listening = client.send("subscriptions/listen", wish.clone()).await;
    let acknowledged = client.wire.hear().await.unwrap();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({"taskIds": [id]})
    );
    let seat = json!({"action": "accept", "content": {"window": true}});
    sleep(Duration::from_millis(1)).await;
    client.update(&id, json!({"seat": seat})).await;
    client.update(&other, json!({"seat": seat})).await;
    sleep(WORK).await;
    let done = client.settled(&id).await;
    let told = std::mem::take(&mut client.heard);
    let statuses: Vec<_> = told
        .iter()
        .map(|told| told["params"]["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["working", "completed"]);
    for told in &told {
        assert_eq!(told["method"], "notifications/tasks");
        assert_eq!(told["params"]["taskId"], id);
        let meta = &told["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], listening);
    }
    assert_eq!(told[1]["params"]["result"], done["result"]);
    let refused = Client::without_tasks(&server)
        .request("subscriptions/listen", wish)
        .await;
    assert_eq!(refused["error"]["code"], -32021);
}

// Shows BA-24.
// Shows TA-47.
#[tokio::test(start_paused = true)]
async fn a_task_tells_of_its_progress_by_its_status_alone() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let call = json!({"name": "slow", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": client.capabilities,
        "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": "p",
    }});
    client.wire.request("tools/call", call).await;
    let task = client.wire.hear().await.unwrap()["result"].take();
    let id = task["taskId"].as_str().unwrap();
    let wish = json!({"notifications": {"taskIds": [id]}});
    client.send("subscriptions/listen", wish).await;
    sleep(WORK * 3).await;
    assert_eq!(client.settled(id).await["status"], "completed");
    let methods: Vec<_> = client.heard.iter().map(|told| &told["method"]).collect();
    let told = "notifications/tasks";
    let expected = ["notifications/subscriptions/acknowledged", told, told];
    assert_eq!(methods, expected);
}

#[tokio::test(start_paused = true)]
async fn work_outlives_its_connection() {
    let server = builder().build().unwrap();
    let mut client = Client::new(&server);
    let id = client.begin("slow").await;
    drop(client);
    sleep(WORK * 2).await;
    let mut client = Client::new(&server);
    assert_eq!(client.settled(&id).await["status"], "completed");
}

/// Whether a value has all members of another.
fn assert_includes(value: &Value, expected: &Value) {
    match expected {
        Value::Object(members) => {
            for (name, member) in members {
                assert_includes(&value[name], member);
            }
        }
        _ => assert_eq!(value, expected),
    }
}
