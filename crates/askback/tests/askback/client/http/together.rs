//! The askback client and the askback server, over HTTP.

use std::{sync::Arc, time::Duration};

use askback::{
    Change, Ctx, Form, Result, Revision, Server, Tool,
    client::{Client, ClientError, Event},
    forms::{ChoicesField, Field, FieldKind, FormSchema},
    protocol::{ElicitParams, InputResponse, ListRootsResult, SubscriptionFilter, TaskSupport},
    transport::Http,
};
use askback_core::protocol::InputRequest;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::AbortHandle};

use super::{
    super::{Hosted, Scripted, limits},
    accept, builder, call, impatient,
};
use crate::log::Log;

#[derive(Form, Debug)]
struct Seat {
    /// By the window?
    window: bool,
}

async fn reserve(ctx: Ctx) -> Result<String> {
    let first: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    let second: Seat = ctx.elicit("And back?").await?.accepted()?;
    Ok(format!("{} {}", first.window, second.window))
}

/// Asks small questions, which need no form type.
async fn small(ctx: Ctx) -> Result<String> {
    let sure = ctx.confirm("Sure?").await?;
    let seat = ctx
        .choose("Which seat?", ["12A", "12C"])
        .await?
        .accepted()?;
    let nights = ctx.elicit::<u8>("How many nights?").await?.accepted()?;
    let form = FormSchema::new([Field::new("extras", ChoicesField::new(["meal", "bag"]))]);
    let form = ctx.elicit_form("And?", form).await?.accepted()?;
    Ok(format!(
        "{sure} {seat} {nights} {}",
        form.chosen("extras")?.join(" ")
    ))
}

async fn roots(ctx: Ctx) -> Result<String> {
    Ok(format!(
        "{} roots",
        ctx.roots().await?.as_client_says().len()
    ))
}

/// Notifies when it is dropped, as when a call is cancelled.
struct Ending(Arc<Notify>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// An askback server, which runs until it is dropped.
struct Served {
    url: String,
    server: Server,
    begun: Arc<Notify>,
    ended: Arc<Notify>,
    task: AbortHandle,
}

impl Served {
    async fn start() -> Self {
        let (begun, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begins, ends) = (Arc::clone(&begun), Arc::clone(&ended));
        let endless = move || {
            let (begins, ends) = (Arc::clone(&begins), Ending(Arc::clone(&ends)));
            async move {
                let _ends = ends;
                begins.notify_one();
                std::future::pending::<Result<&'static str>>().await
            }
        };
        let server = Server::new("agency", "1")
            .tool(Tool::new("reserve", reserve))
            .tool(Tool::new("small", small))
            .tool(Tool::new("roots", roots))
            .tool(Tool::new("endless", endless))
            .tool(Tool::new("later", reserve).task(TaskSupport::Optional))
            .limits(limits(|limits| {
                limits.tasks.poll = Duration::from_millis(1)
            }))
            .changing_tools()
            .build()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = server.clone();
        let task = tokio::spawn(async move { serving.http().serve(listener).await });
        Self {
            url,
            server,
            begun,
            ended,
            task: task.abort_handle(),
        }
    }

    async fn connect(&self, revision: Revision, host: Scripted) -> Client {
        let http = Http::new(&self.url).unwrap();
        let builder = builder(Some(revision)).limits(impatient()).host(host);
        builder.connect(http).await.unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn host() -> Scripted {
    Scripted::new(|question| match question.request {
        InputRequest::Roots(_) => Ok(InputResponse::Roots(ListRootsResult::default())),
        _ => accept(json!({"window": true})),
    })
}

/// Fills in each form field by its name, as the revision asks for it.
fn filling() -> Scripted {
    Scripted::new(|question| {
        let InputRequest::Elicit(ElicitParams::Form(form)) = question.request else {
            panic!("a form")
        };
        let fields = form.requested_schema.fields.iter();
        let filled = fields.map(|field| {
            let value = match (&*field.name, &field.kind) {
                ("confirm" | "extras.bag", _) => json!(true),
                ("extras.meal", _) => json!(false),
                ("extras", _) => json!(["bag"]),
                ("answer", FieldKind::Number(_)) => json!(3),
                ("answer", _) => json!("12C"),
                (other, _) => panic!("what is {other}?"),
            };
            (field.name.clone(), value)
        });
        accept(Value::Object(filled.collect()))
    })
}

#[tokio::test]
async fn small_questions_are_asked_wherever_forms_are() {
    let served = Served::start().await;
    for revision in Revision::ALL {
        let client = served.connect(revision, filling()).await;
        let result = call(&client, "small").await.unwrap();
        let told = match revision.facts().elicitation_form {
            true => "true 12C 3 bag",
            false => "this client cannot be asked",
        };
        assert!(result.contains(told), "{revision}: {result}");
    }
}

// Shows HT25-39, BA-01, BA25-01, TR-02, VE-11.
#[tokio::test]
async fn every_revision_is_spoken() {
    let served = Served::start().await;
    for revision in Revision::ALL {
        let client = served.connect(revision, host()).await;
        assert_eq!(client.revision(), revision);
        assert_eq!(client.tools().await.unwrap().len(), 5);
        assert!(call(&client, "roots").await.unwrap().contains("0 roots"));
        if revision.facts().elicitation_form {
            assert!(
                call(&client, "reserve")
                    .await
                    .unwrap()
                    .contains("true true")
            );
        }
        let (first, second, third) = tokio::join!(
            call(&client, "roots"),
            call(&client, "roots"),
            call(&client, "roots"),
        );
        assert!(first.is_ok() && second.is_ok() && third.is_ok());
        client.close().await;
    }
}

// Shows CA-01, CA-13, CA-14.
// Shows CA-17.
#[tokio::test]
async fn a_cancelled_call_is_cancelled_there_and_the_reason_is_logged() {
    let served = Served::start().await;
    for revision in Revision::ALL {
        let log = Log::default();
        let logging = log.listen();
        let client = served.connect(revision, host()).await;
        let calling = client.clone();
        let calling = tokio::spawn(async move { call(&calling, "endless").await });
        served.begun.notified().await;
        calling.abort();
        served.ended.notified().await;
        client.close().await;
        drop(logging);
        let log = log.text();
        assert!(log.contains("a call is cancelled"), "{revision}: {log}");
        // In the stateless era, closing the request cancels it, so the reason is not sent.
        let reason = r#"reason="the caller no longer waits for the result""#;
        let has_reason = revision != Revision::V2026_07_28;
        assert_eq!(log.contains(reason), has_reason, "{revision}: {log}");
    }
}

// Shows TA-48.
#[tokio::test]
async fn a_task_is_followed_to_its_end() {
    let served = Served::start().await;
    let host = host();
    let impatient = limits(|limits| limits.tasks.poll_least = Duration::from_millis(1));
    let builder = builder(None).limits(impatient).host(host.clone());
    let client = builder
        .connect(Http::new(&served.url).unwrap())
        .await
        .unwrap();
    let said = call(&client, "later").await.unwrap();
    assert!(said.contains("true true"), "{said}");
    let was_task = |event: &Event| matches!(event, Event::Task { .. });
    assert!(host.heard().iter().any(was_task));
    client.close().await;
}

/// Starts a task whose question no user answers, and closes its client, either by leaving the task
/// or by dropping the call. Returns what another client finds.
async fn after_close(leaves: bool) -> std::result::Result<String, ClientError> {
    let served = Served::start().await;
    let asked = Arc::new(Notify::new());
    let absent = Scripted::waiting({
        let asked = Arc::clone(&asked);
        move |_| {
            asked.notify_one();
            Box::pin(std::future::pending())
        }
    });
    let connect = |host: Scripted| {
        let impatient = limits(|limits| limits.tasks.poll_least = Duration::from_millis(1));
        let http = Http::new(&served.url).unwrap();
        builder(None).limits(impatient).host(host).connect(http)
    };
    let client = connect(absent.clone()).await.unwrap();
    let mut calling = client.call_tool("later", ());
    tokio::select! {
        ended = &mut calling => panic!("{ended:?}"),
        () = asked.notified() => {}
    }
    match leaves {
        true => calling.leave(),
        false => drop(calling),
    }
    client.close().await;
    let heard = absent.heard();
    let mut ids = heard.iter().filter_map(|event| match event {
        Event::Task { task_id, .. } => Some(task_id),
        _ => None,
    });
    let task = ids.next().unwrap();
    let client = connect(host()).await.unwrap();
    let result = client.resume_task(task, "later").await;
    client.close().await;
    Ok(result?.text()?)
}

// Shows TA-16.
#[tokio::test]
async fn a_task_is_taken_up_on_another_connection() {
    assert_eq!(after_close(true).await, Ok("true true".to_owned()));
}

#[tokio::test]
async fn a_client_that_is_closed_has_had_its_task_cancelled() {
    let found = after_close(false).await;
    assert!(
        matches!(found, Err(ClientError::TaskCancelled(_))),
        "{found:?}"
    );
}

// Shows TO25-01, TR-02.
#[tokio::test]
async fn changes_are_told() {
    let served = Served::start().await;
    for revision in Revision::ALL {
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let http = Http::new(&served.url).unwrap();
        let builder = builder(Some(revision)).limits(impatient());
        let builder = builder.on_event(move |event| told.send(event).unwrap_or_default());
        let client = builder.connect(http).await.unwrap();
        let filter = SubscriptionFilter {
            tools_list_changed: Some(true),
            ..SubscriptionFilter::default()
        };
        let subscription = client.listen(filter).await.unwrap();
        // In a session, the stream for notifications may open a little later than the session.
        let telling = served.server.clone();
        let telling = tokio::spawn(async move {
            loop {
                telling.changed(Change::Tools);
                tokio::task::yield_now().await;
            }
        });
        while heard.recv().await.unwrap() != Event::ToolsChanged {}
        telling.abort();
        drop(subscription);
        client.close().await;
    }
}
