//! A client whose calls become tasks.

use std::sync::{Arc, Mutex};

use askback::{
    Revision,
    client::{ClientError, Event, HostQuestion},
    protocol::{CallToolResult, TaskStatus},
    transport::{self, Channel},
};

use tokio::sync::Notify;

use super::*;
use crate::client::{Hosted, Scripted, accept, builder as connecting, limits};

type Asked = Arc<Mutex<Vec<String>>>;

/// A host that has an answer for each key, and logs the questions.
fn host(asked: &Asked) -> Scripted {
    let asked = Arc::clone(asked);
    Scripted::new(move |question: HostQuestion| {
        let key = question.key.unwrap();
        let how = if question.retried {
            "in a round"
        } else {
            "by a task"
        };
        asked.lock().unwrap().push(format!("{key} {how}"));
        accept(match &*key {
            "seat" => json!({"window": true}),
            _ => json!({"name": "Ada"}),
        })
    })
}

/// A function that connects to a server, any number of times.
fn to(server: Server) -> impl FnMut() -> Channel + Send + 'static {
    move || {
        let (near, far) = transport::memory();
        let server = server.clone();
        tokio::spawn(async move { server.serve(far).await });
        near
    }
}

fn text(result: &CallToolResult) -> String {
    serde_json::to_value(&result.content[0]).unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

// Shows TA-02, TA-08, TA-28.
#[tokio::test(start_paused = true)]
async fn whoever_calls_notices_nothing() {
    let cases: [(&str, &str, &[&str]); 4] = [
        ("slow", "done, as a task: true", &[]),
        ("reserve", "window: true", &["seat by a task"]),
        ("two", "Ada: true", &["seat by a task", "name by a task"]),
        (
            "later",
            "Ada: true true",
            &["seat in a round", "name by a task"],
        ),
    ];
    for (tool, said, questions) in cases {
        let asked = Asked::default();
        let host = host(&asked);
        let client = connecting(None)
            .host(host.clone())
            .connect(to(builder().build().unwrap()));
        let client = client.await.unwrap();
        let result = client.call_tool(tool, ()).await.unwrap();
        assert_eq!(text(&result), said, "{tool}");
        assert_eq!(*asked.lock().unwrap(), questions, "{tool}");
        let told = |event| match event {
            Event::Task { status, .. } => Some(status),
            _ => None,
        };
        let told: Vec<_> = host.heard().into_iter().filter_map(told).collect();
        assert_eq!(told.first(), Some(&TaskStatus::Working), "{tool}");
        assert_eq!(told.last(), Some(&TaskStatus::Completed), "{tool}");
        client.close().await;
    }
}

// Shows VE-05, TA25-02, TA25-03, TA25-04, TA25-05.
#[tokio::test(start_paused = true)]
async fn without_tasks_a_call_is_a_call() {
    let no_tasks = [
        connecting(None).tasks(false),
        connecting(Some(Revision::V2025_11_25)),
        connecting(Some(Revision::V2025_06_18)),
    ];
    for connecting in no_tasks {
        let asked = Asked::default();
        let client = connecting
            .host(host(&asked))
            .connect(to(builder().build().unwrap()));
        let client = client.await.unwrap();
        let is_legacy = client.revision() < Revision::V2026_07_28;
        for (tool, said) in [
            ("slow", "done, as a task: false"),
            ("reserve", "window: true"),
            ("later", "Ada: true true"),
        ] {
            let result = client.call_tool(tool, ()).await.unwrap();
            assert_eq!(text(&result), said);
        }
        let refused = client.call_tool("strictly_later", ()).await;
        match refused {
            Ok(result) => assert!(is_legacy && result.failed()),
            Err(ClientError::Server(error)) => assert_eq!((error.code, is_legacy), (-32021, false)),
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_fails_its_call() {
    let client = connecting(None)
        .connect(to(builder().build().unwrap()))
        .await
        .unwrap();
    let failed = client.call_tool("failing", ()).await.unwrap();
    assert!(failed.failed());
    match client.call_tool("forbidden", ()).await {
        Err(ClientError::Server(error)) => assert_eq!(error.code, -32000),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_cancels_its_task() {
    let (began, begins) = tokio::sync::oneshot::channel::<DropTold>();
    let began = Arc::new(Mutex::new(Some(began)));
    let endless = move || {
        let began = Arc::clone(&began);
        async move {
            let (told, dropped) = DropTold::new();
            let _told = told;
            if let Some(began) = began.lock().unwrap().take() {
                let _ = began.send(dropped);
            }
            std::future::pending::<Result<String>>().await
        }
    };
    let server = Server::new("painter", "1")
        .tool(Tool::new("endless", endless).task(TaskSupport::Required))
        .build()
        .unwrap();
    let client = connecting(None).connect(to(server)).await.unwrap();
    let calling = tokio::time::timeout(WORK, client.call_tool("endless", ())).await;
    assert!(calling.is_err());
    let dropped = begins.await.unwrap();
    dropped.0.await.unwrap_err();
}

/// Resolves with an error when the sender is dropped.
struct DropTold(tokio::sync::oneshot::Receiver<()>);

impl DropTold {
    fn new() -> (tokio::sync::oneshot::Sender<()>, Self) {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        (sender, Self(receiver))
    }
}

// Shows TA-25.
#[tokio::test(start_paused = true)]
async fn a_task_the_server_forgot_is_lost() {
    let server = builder()
        .limits(limits(|limits| limits.tasks.ttl = WORK))
        .build()
        .unwrap();
    let client = connecting(None).connect(to(server)).await.unwrap();
    match client.call_tool("slow", ()).await {
        Err(ClientError::TaskLost(_)) => {}
        other => panic!("{other:?}"),
    }
}

/// A host that notifies when it is asked, and never answers.
fn absent(asked: &Arc<Notify>) -> Scripted {
    let asked = Arc::clone(asked);
    Scripted::waiting(move |_| {
        asked.notify_one();
        Box::pin(std::future::pending())
    })
}

/// Calls a tool until its task asks a user who does not answer, and leaves the task. Returns its
/// id.
async fn leave_asking(server: &Server, tool: &str) -> String {
    let asked = Arc::new(Notify::new());
    let host = absent(&asked);
    let client = connecting(None).host(host.clone());
    let client = client.connect(to(server.clone())).await.unwrap();
    let mut calling = client.call_tool(tool, ());
    tokio::select! {
        ended = &mut calling => panic!("{ended:?}"),
        () = asked.notified() => {}
    }
    calling.leave();
    client.close().await;
    let mut ids = host.heard().into_iter().filter_map(|event| match event {
        Event::Task { task_id, ttl, .. } => {
            assert_eq!(ttl, Some(Limits::default().tasks.ttl));
            Some(task_id)
        }
        _ => None,
    });
    ids.next().expect("it became a task")
}

// Shows TA-16.
#[tokio::test(start_paused = true)]
async fn a_task_that_was_left_is_taken_up_by_another_client() {
    let server = builder().build().unwrap();
    let task = leave_asking(&server, "reserve").await;
    let asked = Asked::default();
    let host = host(&asked);
    let client = connecting(None).host(host.clone());
    let client = client.connect(to(server)).await.unwrap();
    let result = client.resume_task(&task, "reserve").await.unwrap();
    assert_eq!(text(&result), "window: true");
    assert_eq!(*asked.lock().unwrap(), ["seat by a task"]);
    let heard = host.heard();
    let is_told = |wanted: TaskStatus| {
        let mut told = heard.iter();
        told.any(|event| matches!(event, Event::Task { status, .. } if *status == wanted))
    };
    assert!(is_told(TaskStatus::InputRequired) && is_told(TaskStatus::Completed));
    // A later client gets the result, and the user is not asked again.
    let again = client.resume_task(&task, "reserve").await.unwrap();
    assert_eq!(text(&again), "window: true");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_task_is_cancelled_if_its_handle_is_dropped() {
    let server = builder().build().unwrap();
    let task = leave_asking(&server, "reserve").await;
    let client = connecting(None).host(absent(&Arc::default()));
    let client = client.connect(to(server.clone())).await.unwrap();
    let taken = tokio::time::timeout(WORK, client.resume_task(&task, "reserve"));
    assert!(taken.await.is_err());
    match client.resume_task(&task, "reserve").await {
        Err(ClientError::TaskCancelled(_)) => {}
        other => panic!("{other:?}"),
    }
    match client.resume_task("none", "reserve").await {
        Err(ClientError::TaskLost(_)) => {}
        other => panic!("{other:?}"),
    }
    let without = connecting(None).tasks(false);
    let older = connecting(Some(Revision::V2025_11_25));
    for connecting in [without, older] {
        let client = connecting.connect(to(server.clone())).await.unwrap();
        match client.resume_task(&task, "reserve").await {
            Err(ClientError::Unsupported(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[cfg(feature = "json-schema")]
#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_that_was_taken_up_is_checked() {
    async fn typed() -> Result<askback::Json<std::collections::BTreeMap<String, String>>> {
        Ok(askback::Json([].into()))
    }
    let server = builder().tool(Tool::new("typed", typed)).build().unwrap();
    let task = leave_asking(&server, "reserve").await;
    let client = connecting(None).host(host(&Asked::default()));
    let client = client.connect(to(server)).await.unwrap();
    client.tools().await.unwrap();
    // The result belongs to another tool, without structured content.
    match client.resume_task(&task, "typed").await {
        Err(ClientError::Output { tool, .. }) => assert_eq!(tool, "typed"),
        other => panic!("{other:?}"),
    }
}
