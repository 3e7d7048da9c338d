//! A client checks results against the output schemas that the server listed.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use askback::{
    Limits, Result, Revision, Server, Tool,
    client::{Client, ClientBuilder, ClientError, Event, Protocol},
    protocol::CallToolResult,
    transport,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{gives, schema, structured};

/// A client of a server with this tool. The server does not check results.
async fn connect(tool: Tool, limits: Limits, check: bool) -> Client {
    let client = Client::builder("clerk", "1").limits(limits);
    connect_as(client.check_results(check), tool).await
}

async fn connect_as(client: ClientBuilder, tool: Tool) -> Client {
    let server = Server::new("desk", "1").tool(tool.unchecked());
    let server = server.build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    client.connect(near).await.unwrap()
}

/// The outcome of a call, with and without a cached list.
async fn outcomes(tool: &Tool) -> [Result<(), ClientError>; 3] {
    let limits = Limits::default;
    let unlisted = connect(tool.clone(), limits(), true).await;
    let listed = connect(tool.clone(), limits(), true).await;
    listed.tools().await.unwrap();
    let unchecked = connect(tool.clone(), limits(), false).await;
    unchecked.tools().await.unwrap();
    let mut outcomes = [Ok(()), Ok(()), Ok(())];
    for (client, outcome) in [unlisted, listed, unchecked].iter().zip(&mut outcomes) {
        *outcome = called(client).await;
    }
    outcomes
}

/// The outcome of a call. The result in an error has no `_meta`, because the server's name and version do not matter
/// here.
async fn called(client: &Client) -> Result<(), ClientError> {
    let mut error = match client.call_tool("gives", ()).await {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    if let ClientError::Output { result, .. } = &mut error {
        result.meta = None;
    }
    Err(error)
}

fn misfit(why: &str, result: CallToolResult) -> ClientError {
    ClientError::Output {
        tool: "gives".to_owned(),
        why: why.to_owned(),
        result: Box::new(result),
    }
}

// Shows BA-29, TO-33.
#[tokio::test]
async fn a_result_is_checked_by_the_schema_its_tool_was_listed_with() {
    for (result, why) in [
        (structured(&json!({"total": 1})), None),
        (CallToolResult::error("no luck"), None),
        (
            structured(&json!({"total": "many"})),
            Some("total: expected a number"),
        ),
    ] {
        let [unlisted, listed, unchecked] = outcomes(&gives(result.clone())).await;
        assert_eq!(unlisted, Ok(()));
        assert_eq!(unchecked, Ok(()));
        assert_eq!(listed.err(), why.map(|why| misfit(why, result)));
    }
    let words = misfit("total: expected a number", CallToolResult::default()).to_string();
    let expected =
        "the result of the tool `gives` does not fit its output schema: total: expected a number";
    assert_eq!(words, expected);
}

// Shows BA-33, BA-35, BA-36, BA-70, TO-42.
#[tokio::test]
async fn a_tool_is_called_whose_results_cannot_be_checked() {
    let mut long = json!({"type": "object"});
    long["description"] = "x".repeat(Limits::default().forms.schema_bytes).into();
    for (output, why) in [
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
            "its dialect is `http://json-schema.org/draft-04/schema#`, and 2020-12 and draft-07 are \
             interpreted",
        ),
        (
            json!({"$ref": "http://169.254.169.254/latest"}),
            "it refers to `http://169.254.169.254/latest`, which is not in it and is not fetched",
        ),
        (
            long,
            "it is longer than the 262144 bytes that are read of a schema",
        ),
    ] {
        let tool = gives(structured(&json!({"total": 1}))).output_schema(schema(&output));
        let [unlisted, listed, unchecked] = outcomes(&tool).await;
        assert_eq!(unlisted, Ok(()));
        assert_eq!(unchecked, Ok(()));
        assert_eq!(listed, Ok(()));
        let notes = Arc::new(Mutex::new(Vec::new()));
        let noted = notes.clone();
        let client = Client::builder("clerk", "1").on_event(move |event| {
            if let Event::Note(note) = event {
                noted.lock().unwrap().push(note);
            }
        });
        let client = connect_as(client, tool).await;
        client.tools().await.unwrap();
        assert_eq!(called(&client).await, Ok(()));
        client.close().await;
        let expected = format!(
            "the results of the tool `gives` are not checked, because of its output schema: {why}"
        );
        assert_eq!(*notes.lock().unwrap(), [expected]);
    }
}

#[tokio::test]
async fn what_is_known_of_tools_is_bounded_and_forgotten() {
    let tool = || gives(structured(&json!({"total": "many"})));
    let fails = async |client: &Client| client.call_tool("gives", ()).await.is_err();

    let client = connect(tool(), Limits::default(), true).await;
    client.tools_page(None).await.unwrap();
    assert!(fails(&client).await);
    // Another principal may be listed other tools.
    client.set_principal(Some("ada".to_owned()));
    client.ping().await.ok();
    assert!(!fails(&client).await);
    client.tools().await.unwrap();
    assert!(fails(&client).await);

    let mut limits = Limits::default();
    limits.client.list_bytes = 100;
    let client = connect(tool(), limits, true).await;
    let listed = client.tools_page(None).await;
    assert!(listed.is_err(), "a list of more bytes is refused");
    assert!(!fails(&client).await);
}

/// The outcome of a call after the server was restarted with other tools, and of one after the client has listed them.
async fn outcomes_after_a_start(revision: Revision) -> [Result<(), ClientError>; 2] {
    let starts = Arc::new(AtomicU32::new(0));
    let serving: Arc<Mutex<Option<JoinHandle<()>>>> = Arc::default();
    let (counted, running) = (Arc::clone(&starts), Arc::clone(&serving));
    let connector = move || {
        let kind = match counted.fetch_add(1, Ordering::Relaxed) {
            0 => "number",
            _ => "string",
        };
        let output = json!({"type": "object", "properties": {"total": {"type": kind}}});
        let tool = gives(structured(&json!({"total": 1}))).output_schema(schema(&output));
        let server = Server::new("desk", "1").tool(tool.unchecked()).build();
        let (near, far) = transport::memory();
        let task = tokio::spawn(async move { drop(server.unwrap().serve(far).await) });
        *running.lock().unwrap() = Some(task);
        near
    };
    let client = Client::builder("clerk", "1")
        .protocol(Protocol::Only(revision))
        .connect(connector)
        .await
        .unwrap();
    client.tools().await.unwrap();
    client.call_tool("gives", ()).await.unwrap();
    let first = serving.lock().unwrap().take().unwrap();
    first.abort();
    while starts.load(Ordering::Relaxed) < 2 {
        drop(client.call_tool("gives", ()).await);
    }
    let unlisted = called(&client).await;
    client.tools().await.unwrap();
    [unlisted, called(&client).await]
}

#[tokio::test]
async fn a_server_that_was_started_again_is_held_to_what_it_lists_then() {
    for revision in Revision::ALL {
        let expected = match revision.facts().structured_content {
            true => Err(misfit(
                "total: expected a string",
                structured(&json!({"total": 1})),
            )),
            false => Ok(()),
        };
        assert_eq!(outcomes_after_a_start(revision).await, [Ok(()), expected]);
    }
}

#[tokio::test]
async fn a_list_that_changed_is_not_held_against_the_server() {
    let changes = async |ctx: askback::Ctx| -> Result<CallToolResult> {
        ctx.changed(askback::Change::Tools);
        Ok(structured(&json!({"total": "many"})))
    };
    let output: Value = json!({
        "type": "object",
        "properties": {"total": {"type": "number"}},
    });
    let tool = Tool::new("gives", changes).output_schema(schema(&output));
    let server = Server::new("desk", "1").changing_tools();
    let server = server.tool(tool.unchecked());
    let server = server.build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let client = Client::builder("clerk", "1")
        .protocol(askback::client::Protocol::Only(
            askback::Revision::V2025_11_25,
        ))
        .connect(near)
        .await
        .unwrap();
    client.tools().await.unwrap();
    assert!(client.call_tool("gives", ()).await.is_err());
    assert!(client.call_tool("gives", ()).await.is_ok());
}
