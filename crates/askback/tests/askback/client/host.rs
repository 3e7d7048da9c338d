//! The functions that answer a server's questions.

use std::sync::{Arc, Mutex};

use askback::{
    Ctx, Error, Form, Result, Revision, Server, Tool,
    client::{ClientBuilder, ClientError, HostQuestion},
    protocol::{
        CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams,
        RequestParams, Root,
    },
    transport,
};
use serde_json::{Value, json};

use super::{builder, memory::Strange};

#[derive(Form)]
struct Seat {
    /// By the window?
    window: bool,
}

async fn fill(_: HostQuestion<ElicitFormParams>) -> Result<ElicitResult> {
    Ok(ElicitResult::form(&Seat { window: true }))
}

async fn open(_: HostQuestion<ElicitUrlParams>) -> Result<ElicitResult> {
    Ok(ElicitResult::agree())
}

async fn sample(_: HostQuestion<CreateMessageParams>) -> Result<CreateMessageResult> {
    Ok(CreateMessageResult::text("parrot", "The first."))
}

async fn roots(_: HostQuestion<RequestParams>) -> Result<Vec<Root>> {
    Ok(vec![Root::new("file:///plans")])
}

/// A client declares a capability exactly if it has a function for it.
#[tokio::test(start_paused = true)]
async fn a_client_declares_exactly_the_questions_that_it_answers() {
    async fn check(client: ClientBuilder, expected: Value) {
        let (channel, heard) = Strange::start(|_, _| Value::Null);
        let _client = client.tasks(false).connect(channel).await.unwrap();
        let first = heard.lock().unwrap()[0]["params"].clone();
        let declared = &first["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(*declared, expected);
    }
    let client = || builder(None);
    check(client(), json!({})).await;
    check(
        client().on_elicit(fill),
        json!({"elicitation": {"form": {}}}),
    )
    .await;
    check(
        client().on_elicit_url(open),
        json!({"elicitation": {"url": {}}}),
    )
    .await;
    check(
        client().on_elicit(fill).on_elicit_url(open),
        json!({"elicitation": {"form": {}, "url": {}}}),
    )
    .await;
    check(client().on_sample(sample), json!({"sampling": {}})).await;
    check(
        client()
            .on_sample(sample)
            .samples_with_tools()
            .samples_with_context(),
        json!({"sampling": {"tools": {}, "context": {}}}),
    )
    .await;
    // Tools are only declared together with a model.
    check(client().samples_with_tools(), json!({})).await;
    check(client().on_roots(roots), json!({"roots": {}})).await;
}

async fn ask(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    ctx.elicit_url("Sign in", "https://a.test/in")
        .await?
        .accepted()?;
    let folders = ctx.roots().await?;
    let reply = ctx.sample(CreateMessageParams::new("Which?", 10)).await?;
    let folder = &folders.as_client_says()[0].uri;
    Ok(format!("{} {folder} {}", seat.window, reply.content.text()))
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_question_has_its_function() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = builder(Some(revision))
            .on_elicit(fill)
            .on_elicit_url(open)
            .on_sample(sample)
            .on_roots(roots)
            .connect(server(Tool::new("ask", ask)))
            .await
            .unwrap();
        let result = client.call_tool("ask", ()).await.unwrap();
        assert_eq!(result.text().unwrap(), "true file:///plans The first.");
        client.close().await;
    }
}

async fn seat(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    Ok(seat.window.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_question_names_the_call_it_belongs_to() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let asking = Arc::clone(&asked);
    let client = builder(None)
        .on_elicit(move |question| {
            asking.lock().unwrap().push(question.call);
            fill(question)
        })
        .connect(server(Tool::new("seat", seat)))
        .await
        .unwrap();
    let call = client.call_tool("seat", ());
    let id = call.id();
    call.await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [Some(id)]);
}

async fn listing(ctx: Ctx) -> Result<String> {
    let roots = ctx.roots().await?;
    Ok(roots.as_client_says().len().to_string())
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_function_says_who_ended_the_call() {
    async fn check(error: fn() -> Error) -> ClientError {
        let client = builder(Some(Revision::V2026_07_28))
            .on_roots(move |_| async move { Err(error()) })
            .connect(server(Tool::new("listing", listing)))
            .await
            .unwrap();
        client.call_tool("listing", ()).await.unwrap_err()
    }
    let refused = check(|| Error::not_done("not here")).await;
    assert!(
        matches!(&refused, ClientError::QuestionRefused(error) if error.message == "not here"),
        "{refused:?}"
    );
    let failed = check(|| Error::new("no model is loaded")).await;
    assert!(
        matches!(&failed, ClientError::Host(why) if why.contains("no model is loaded")),
        "{failed:?}"
    );
}

fn server(tool: Tool) -> transport::Channel {
    let server = Server::new("agency", "1").tool(tool).build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    near
}
