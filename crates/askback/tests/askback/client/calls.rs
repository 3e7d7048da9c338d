//! A call's arguments, how its result is read, and how calls are told apart.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    Ctx, Json, Prompt, Resource, Result, Server, State, Tool,
    client::{CallId, Client, ClientError, Event},
    ctx::Progress,
    protocol::{
        CallToolParams, GetPromptParams, InputRequiredResult, Outcome, RawJson, RawObject,
        ReadResourceParams, ToolResultError,
    },
    schemars, transport,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::{builder, memory::Strange};

#[derive(Serialize)]
struct Flight {
    to: &'static str,
    seats: u8,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Price {
    usd: u32,
}

/// A client of an askback server in this process.
async fn connected(server: askback::ServerBuilder) -> Client {
    let server = server.build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    builder(None).connect(near).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn arguments_are_anything_that_serializes_as_an_object() {
    async fn check(arguments: impl Serialize, expected: Value) {
        let (channel, heard) = Strange::start(|_, _| json!({"result": {"content": []}}));
        let client = builder(None).connect(channel).await.unwrap();
        client.call_tool("t", arguments).await.unwrap();
        let sent = heard.lock().unwrap().last().unwrap()["params"].clone();
        assert_eq!(sent["arguments"], expected);
    }
    let oslo = json!({"to": "Oslo", "seats": 2});
    check(oslo.clone(), oslo.clone()).await;
    check(
        Flight {
            to: "Oslo",
            seats: 2,
        },
        oslo.clone(),
    )
    .await;
    check(BTreeMap::from([("a", 1)]), json!({"a": 1})).await;
    check(RawObject::new(&oslo).unwrap(), oslo).await;
    check(json!({}), json!({})).await;
    // The unit type reads `null`.
    check((), Value::Null).await;
    check(None::<Flight>, Value::Null).await;
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_object_are_refused_and_not_sent() {
    #[track_caller]
    fn check(outcome: Result<(), ClientError>, says: &str) {
        let Err(error @ ClientError::Arguments { .. }) = outcome else {
            panic!("{outcome:?}");
        };
        let told = error.to_string();
        assert!(
            told.starts_with("the arguments of `t` cannot be sent: "),
            "{told}"
        );
        assert!(told.contains(says), "{told}");
    }
    let (channel, heard) = Strange::start(|method, _| panic!("{method} was sent"));
    let client = builder(None).connect(channel).await.unwrap();
    let opened = heard.lock().unwrap().len();
    let expected = "expected an object";
    check(client.call_tool("t", "Oslo").await.map(drop), expected);
    check(client.call_tool("t", [1]).await.map(drop), expected);
    check(client.call_tool("t", 3).await.map(drop), expected);
    let odd = BTreeMap::from([(vec![1], 1)]);
    check(
        client.call_tool("t", odd).await.map(drop),
        "key must be a string",
    );
    check(client.get_prompt("t", [1]).await.map(drop), expected);
    let nights = json!({"nights": 3});
    check(
        client.get_prompt("t", nights).await.map(drop),
        "expected a string",
    );
    assert_eq!(heard.lock().unwrap().len(), opened);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_read_as_text_or_as_a_type() {
    let server = Server::new("agency", "1")
        .tool(Tool::new("price", async || Ok(Json(Price { usd: 3 }))))
        .tool(Tool::new("name", async || Ok("Oslo".to_owned())))
        .tool(Tool::new("full", async || -> Result<String> {
            Err(askback::Error::new("all seats are taken"))
        }));
    let client = connected(server).await;
    let price = client.call_tool("price", ()).await.unwrap();
    assert_eq!(price.structured(), Ok(Price { usd: 3 }));
    assert_eq!(price.text().unwrap(), r#"{"usd":3}"#);
    assert!(matches!(
        price.structured::<String>(),
        Err(ToolResultError::Unfit(why)) if why.contains("expected a string")
    ));
    let name = client.call_tool("name", ()).await.unwrap();
    assert_eq!(name.text().unwrap(), "Oslo");
    assert_eq!(
        name.structured::<Value>(),
        Err(ToolResultError::NotStructured)
    );
    // A tool error is not read as a result.
    let full = client.call_tool("full", ()).await.unwrap();
    let failed = ToolResultError::Failed("all seats are taken".to_owned());
    assert_eq!(full.text(), Err(failed.clone()));
    assert_eq!(full.structured::<Value>(), Err(failed.clone()));
    let error = ClientError::from(failed);
    assert_eq!(error.to_string(), "the tool failed: all seats are taken");
}

/// Sends progress once both calls have begun.
async fn both(
    ctx: Ctx,
    Json(Price { usd }): Json<Price>,
    State(at): State<Arc<Barrier>>,
) -> Result<String> {
    at.wait().await;
    ctx.progress(Progress::at(usd));
    at.wait().await;
    Ok(usd.to_string())
}

#[tokio::test(start_paused = true)]
async fn two_calls_at_once_are_told_apart_by_their_id() {
    let server = Server::new("agency", "1")
        .state(Arc::new(Barrier::new(2)))
        .tool(Tool::new("both", both))
        .build()
        .unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    let client = builder(None)
        .on_event(move |event| {
            if let Event::Progress { call, progress, .. } = event {
                hearing.lock().unwrap().push((call, progress));
            }
        })
        .connect(near)
        .await
        .unwrap();
    let cheap = client.call_tool("both", Price { usd: 1 });
    let dear = client.call_tool("both", Price { usd: 9 });
    let mut expected: Vec<(CallId, f64)> = vec![(cheap.id(), 1.0), (dear.id(), 9.0)];
    let (cheap, dear) = tokio::try_join!(cheap, dear).unwrap();
    assert_eq!(
        (cheap.text().unwrap(), dear.text().unwrap()),
        ("1".to_owned(), "9".to_owned())
    );
    client.close().await;
    let mut heard = heard.lock().unwrap().clone();
    for list in [&mut heard, &mut expected] {
        list.sort_by_key(|(call, _)| *call);
    }
    assert_eq!(heard, expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_outlives_the_handle_it_was_made_with() {
    let server = Server::new("agency", "1").tool(Tool::new("slow", async || {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok("done".to_owned())
    }));
    let client = connected(server).await;
    let call = tokio::spawn(client.call_tool("slow", ()));
    drop(client);
    assert_eq!(call.await.unwrap().unwrap().text().unwrap(), "done");
}

// A call's state is in its parameters, so that another process can continue it with the answer.
#[tokio::test(start_paused = true)]
async fn a_round_continues_on_another_connection() {
    async fn agree(ctx: Ctx) -> Result<String> {
        let sure = ctx.confirm("Sure?").await?;
        Ok(format!("sure: {sure}"))
    }
    let server = Server::new("s", "1").tool(Tool::new("agree", agree));
    let server = server.build().unwrap();
    let connect = async || {
        let (near, far) = transport::memory();
        let server = server.clone();
        tokio::spawn(async move { server.serve(far).await });
        let client = builder(None).on_elicit(|_| async { panic!("nobody is asked") });
        client.connect(near).await.unwrap()
    };
    let mut call = CallToolParams::new("agree");
    let asked = connect().await.call_round(call.clone()).await.unwrap();
    let Outcome::NeedInput(asks) = asked.value else {
        panic!("it asks")
    };
    let questions = asks.input_requests.unwrap();
    let answer = RawJson::new(&json!({"action": "decline"})).unwrap();
    let keys = questions.iter().map(|(key, _)| (key, answer.clone()));
    call.input_responses = Some(keys.collect());
    call.request_state = asks.request_state;
    let done = connect().await.call_round(call).await.unwrap();
    assert!(matches!(done.value, Outcome::Done(_)), "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn prompts_and_resources_have_rounds_too() {
    async fn agree(ctx: Ctx) -> Result<String> {
        let sure = ctx.confirm("Sure?").await?;
        Ok(format!("sure: {sure}"))
    }
    let server = Server::new("s", "1")
        .prompt(Prompt::new("agree", agree))
        .resource(Resource::new("a:sure", "sure", agree));
    let server = server.build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let client = builder(None).on_elicit(|_| async { panic!("nobody is asked") });
    let client = client.connect(near).await.unwrap();
    let decline = RawJson::new(&json!({"action": "decline"})).unwrap();
    let decline = |asks: &InputRequiredResult| {
        let keys = asks.input_requests.iter().flat_map(|asked| asked.iter());
        Some(
            keys.map(|(key, _)| (key.to_owned(), decline.clone()))
                .collect(),
        )
    };

    let mut get = GetPromptParams {
        name: "agree".to_owned(),
        ..GetPromptParams::default()
    };
    let Outcome::NeedInput(asks) = client.call_round(get.clone()).await.unwrap().value else {
        panic!("it asks")
    };
    get.input_responses = decline(&asks);
    get.request_state = asks.request_state;
    let done = client.call_round(get).await.unwrap();
    assert!(done.raw.get().contains("sure: false"), "{}", done.raw);

    let mut read = ReadResourceParams {
        uri: "a:sure".to_owned(),
        ..ReadResourceParams::default()
    };
    let Outcome::NeedInput(asks) = client.call_round(read.clone()).await.unwrap().value else {
        panic!("it asks")
    };
    read.input_responses = decline(&asks);
    read.request_state = asks.request_state;
    let done = client.call_round(read).await.unwrap();
    assert!(done.raw.get().contains("sure: false"), "{}", done.raw);
}
