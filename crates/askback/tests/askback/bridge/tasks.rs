//! Tasks whose questions are answered in the client's place.

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    BoxFuture, Ctx, Error, Revision, ServerBuilder, Tool,
    bridge::Answers,
    client::HostQuestion,
    protocol::{
        ClientCapabilities, ElicitResult, Implementation, InputRequest, InputResponse, TaskSupport,
    },
};
use serde_json::{Value, json};

use tokio::time::{sleep, timeout};

use super::{
    Seat, Standby, Wire, agency, connect, modern_meta, older::greet_in_newest, serve, soon, to,
    to_scripted, until,
};
use crate::client::{Scripted, builder};

/// Answers every question, even if the client supports it.
#[derive(Clone, Default)]
struct Here(Standby);

impl Answers for Here {
    fn capabilities(&self) -> ClientCapabilities {
        self.0.capabilities()
    }

    fn answers_for(&self, _: &Implementation, _: &InputRequest) -> bool {
        true
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, askback::Result<InputResponse>> {
        self.0.answer(question)
    }
}

/// Never answers, and counts its open questions.
#[derive(Clone, Default)]
struct Undecided(Arc<()>);

impl Undecided {
    fn open(&self) -> usize {
        Arc::strong_count(&self.0) - 2
    }
}

impl Answers for Undecided {
    fn capabilities(&self) -> ClientCapabilities {
        Standby::default().capabilities()
    }

    fn answer(&self, _: HostQuestion) -> BoxFuture<'_, askback::Result<InputResponse>> {
        let open = Arc::clone(&self.0);
        Box::pin(async move {
            let _open = open;
            pending().await
        })
    }
}

fn with_tasks() -> ServerBuilder {
    let reserve = async |ctx: Ctx| -> askback::Result<String> {
        let first: Seat = ctx.elicit("Out?").await?.accepted()?;
        let second: Seat = ctx.elicit("Back?").await?.accepted()?;
        Ok(format!("{} {}", first.window, second.window))
    };
    let both = async |ctx: Ctx| -> askback::Result<String> {
        let questions = (
            ctx.elicit::<Seat>("Which seat?"),
            ctx.elicit_url("Sign in", "https://a.test/in"),
        );
        let (seat, link) = ctx.elicit_all(questions).await?;
        link.accepted()?;
        Ok(seat.accepted()?.window.to_string())
    };
    agency()
        .tool(Tool::new("slow_reserve", reserve).task(TaskSupport::Required))
        .tool(Tool::new("slow_both", both).task(TaskSupport::Required))
        .revisions([Revision::V2026_07_28])
}

#[tokio::test]
async fn a_task_asks_here_and_not_in_the_client() {
    let answers = Here::default();
    let bridge = to(with_tasks().build().unwrap()).answers(answers.clone());
    let host = Scripted::new(|question| {
        let why = format!("the client was asked {:?}", question.request);
        Err(Error::not_done(why).message().to_owned())
            .map_err(|why| askback::ErrorObject::new(-1, why))
    });
    let client = connect(&bridge, Revision::V2026_07_28, host).await;
    let result = soon(client.call_tool("slow_reserve", ())).await.unwrap();
    assert_eq!(result.text().unwrap(), "true true");
    let asked = r#"Some(Tool("slow_reserve")) elicitation/create"#;
    assert_eq!(answers.0.asked(), [asked, asked]);
    client.close().await;
}

#[tokio::test]
async fn the_questions_of_a_task_are_shared_with_the_client() {
    let answers = Standby::default();
    let bridge = to(with_tasks().build().unwrap()).answers(answers.clone());
    let (near, _) = serve(&bridge);
    let asked = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&asked);
    let client = builder(Some(Revision::V2026_07_28)).on_elicit(move |_| {
        *counts.lock().unwrap() += 1;
        async { Ok(ElicitResult::form(&Seat { window: true })) }
    });
    let client = client.connect(near).await.unwrap();
    let result = soon(client.call_tool("slow_both", ())).await.unwrap();
    assert_eq!(result.text().unwrap(), "true");
    assert_eq!(*asked.lock().unwrap(), 1);
    assert_eq!(
        answers.asked(),
        [r#"Some(Tool("slow_both")) elicitation/create"#]
    );
    client.close().await;
}

/// Sends a request of 2026-07-28 about a task, and returns its result.
async fn request(client: &mut Wire, id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = modern_meta(&json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    client.say(&request.to_string()).await;
    loop {
        let heard = client.hear().await;
        if heard["id"] == id {
            return heard["result"].clone();
        }
    }
}

#[tokio::test]
async fn a_question_of_a_task_is_asked_once_and_ends_with_the_task() {
    let answers = Undecided::default();
    let bridge = to(with_tasks().build().unwrap()).answers(answers.clone());
    let (near, serving) = serve(&bridge);
    let mut client = Wire::new(near);
    let call = json!({"name": "slow_reserve", "arguments": {}});
    let mut ids = Vec::new();
    for id in [1, 2] {
        let task = request(&mut client, id, "tools/call", call.clone()).await;
        assert_eq!(task["resultType"], "task", "{task}");
        ids.push(task["taskId"].clone());
    }
    for (task, open) in ids.iter().zip(1..) {
        soon(async {
            while answers.open() < open {
                let task = request(&mut client, 3, "tasks/get", json!({"taskId": task})).await;
                assert_eq!(task["inputRequests"], Value::Null, "{task}");
                assert_eq!(task["status"], "working", "{task}");
            }
        })
        .await;
        // Its second listing is the same question.
        request(&mut client, 4, "tasks/get", json!({"taskId": task})).await;
        assert_eq!(answers.open(), open);
    }
    request(&mut client, 5, "tasks/cancel", json!({"taskId": ids[0]})).await;
    until(|| answers.open() == 1).await;
    // The client disconnects.
    drop(client);
    soon(serving).await.unwrap().unwrap();
    until(|| answers.open() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_reach_its_task_is_sent_again_and_then_asked_again() {
    for failures in [2, 4] {
        let answers = Here::default();
        let (bridge, mut connections) = to_scripted();
        let (near, _) = serve(&bridge.answers(answers.clone()));
        let serving = tokio::spawn(async move {
            let mut server = connections.recv().await.unwrap();
            greet_in_newest(&mut server).await;
            let task = json!({
                "resultType": "complete",
                "taskId": "t1",
                "status": "input_required",
                "createdAt": "2026-11-29T00:00:00Z",
                "lastUpdatedAt": "2026-11-29T00:00:00Z",
                "ttlMs": null,
                "inputRequests": {"seat": {"method": "elicitation/create", "params": {
                    "message": "Which seat?",
                    "requestedSchema": {"type": "object", "properties": {"window": {"type": "boolean"}}},
                }}},
            });
            let mut updates = 0;
            loop {
                let request = server.hear().await;
                let id = &request["id"];
                match request["method"].as_str().unwrap() {
                    "tasks/get" => server.answer(id, &task.to_string()).await,
                    "tasks/update" if updates < failures => {
                        updates += 1;
                        let error = json!({"code": -32603, "message": "send it again"});
                        let failed = json!({"jsonrpc": "2.0", "id": id, "error": error});
                        server.say(&failed.to_string()).await;
                    }
                    "tasks/update" => break request["params"]["inputResponses"].clone(),
                    method => panic!("{method}"),
                }
            }
        });
        let mut client = Wire::new(near);
        let get = json!({"taskId": "t1"});
        for _ in 0..60 {
            if serving.is_finished() {
                break;
            }
            let asking = request(&mut client, 1, "tasks/get", get.clone());
            // After the answer the server is gone.
            let Ok(task) = timeout(Duration::from_secs(1), asking).await else {
                break;
            };
            assert_eq!(task["status"], "working", "{task}");
            sleep(Duration::from_secs(5)).await;
        }
        let sent = soon(serving).await.unwrap();
        assert_eq!(sent["seat"]["content"], json!({"window": true}), "{sent}");
        let asked = match failures {
            2 => 1,
            _ => 2,
        };
        assert_eq!(answers.0.asked().len(), asked, "{failures}");
    }
}

#[tokio::test]
async fn a_task_of_2025_11_25_asks_here_while_its_result_is_requested() {
    let answers = Here::default();
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge.answers(answers.clone()));
    let revision = Revision::V2025_11_25;
    let serving = tokio::spawn(async move {
        let mut server = connections.recv().await.unwrap();
        server.greet(revision).await;
        let call = server.hear().await;
        assert_eq!(call["params"]["task"], json!({"ttl": 60000}));
        let task = r#"{"task":{"taskId":"t1","status":"working","createdAt":"2026-11-29T00:00:00Z","lastUpdatedAt":"2026-11-29T00:00:00Z","ttl":null}}"#;
        server.answer(&call["id"], task).await;
        let wants = server.hear().await;
        assert_eq!(wants["method"], "tasks/result");
        let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {
            "mode": "form",
            "message": "Which seat?",
            "requestedSchema": {"type": "object", "properties": {"window": {"type": "boolean"}}},
            "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "t1"}},
        }});
        server.say(&question.to_string()).await;
        let answer = server.hear().await;
        server.answer(&wants["id"], r#"{"content":[]}"#).await;
        answer
    });
    let mut client = Wire::new(near);
    client
        .initialize(revision, &json!({"elicitation": {}}))
        .await;
    client
        .say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{},"task":{"ttl":60000}}}"#)
        .await;
    assert_eq!(client.hear().await["result"]["task"]["taskId"], "t1");
    client
        .say(r#"{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}"#)
        .await;
    // Not a question.
    assert_eq!(client.hear().await["id"], 2);
    let answer = soon(serving).await.unwrap();
    assert_eq!(answer["result"]["content"], json!({"window": true}));
    assert_eq!(answers.0.asked().len(), 1);
}
