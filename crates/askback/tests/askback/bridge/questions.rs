//! How questions pass through a bridge, and who answers them.

use std::sync::{Arc, Mutex};

use askback::{
    BoxFuture, Ctx, Error, Revision, Tool,
    bridge::{Answers, Bridge},
    client::{Client, ClientError, HostQuestion},
    protocol::{
        ClientCapabilities, ElicitParams, ElicitResult, ElicitUrlParams, Implementation,
        InputRequest, InputResponse,
    },
};
use serde_json::json;

use super::{
    Seat, Standby, Wire, agency, agreed, cells, connect, serve, soon, to, to_scripted, until,
    willing,
};
use crate::client::{Scripted, builder};

fn bridge(up: Revision) -> Bridge {
    to(agency().revisions([up]).build().unwrap())
}

/// A client that accepts no questions.
async fn mute(bridge: &Bridge, down: Revision) -> Client {
    let (near, _) = serve(bridge);
    builder(Some(down)).connect(near).await.unwrap()
}

async fn text(client: &Client, tool: &str) -> String {
    let result = soon(client.call_tool(tool, ())).await.unwrap();
    result
        .text()
        .unwrap_or_else(|error| panic!("{tool}: {error}"))
}

#[tokio::test]
async fn the_client_is_asked_everything_that_it_takes() {
    for [down, up] in cells() {
        let host = willing();
        let client = connect(&bridge(up), down, host.clone()).await;
        assert_eq!(
            text(&client, "reserve").await,
            "window: true",
            "{down} {up}"
        );
        assert_eq!(text(&client, "twice").await, "true true");
        assert_eq!(text(&client, "ask_model").await, "parrot");
        assert_eq!(text(&client, "folders").await, "1");
        let plan = soon(client.get_prompt("plan", ())).await.unwrap();
        assert!(plan.raw.get().contains("window: true"));
        // Links came with 2025-11-25.
        if [down, up]
            .iter()
            .all(|revision| *revision != Revision::V2025_06_18)
        {
            assert_eq!(text(&client, "sign_in").await, "signed in", "{down} {up}");
        }
        client.close().await;
    }
}

#[tokio::test]
async fn a_no_of_the_client_reaches_the_server() {
    for [down, up] in cells() {
        let host = Scripted::new(|question| match question.request {
            InputRequest::Elicit(_) => Ok(InputResponse::Elicit(ElicitResult::decline())),
            _ => Err(Error::not_done("not now").message().to_owned())
                .map_err(|why| askback::ErrorObject::new(-1, why)),
        });
        let client = connect(&bridge(up), down, host).await;
        let declined = soon(client.call_tool("reserve", ())).await.unwrap();
        let said = declined.raw.get();
        assert!(said.contains("declined"), "{down} {up}: {said}");
        let refused = soon(client.call_tool("ask_model", ())).await;
        match refused {
            Ok(result) => assert!(result.failed(), "{down} {up}: {result:?}"),
            Err(error) => assert!(
                error.to_string().contains("not now"),
                "{down} {up}: {error}"
            ),
        }
        client.close().await;
    }
}

#[tokio::test]
async fn questions_that_the_client_does_not_take_are_answered_in_its_place() {
    for [down, up] in cells() {
        let standby = Standby::default();
        let client = mute(&bridge(up).answers(standby.clone()), down).await;
        assert_eq!(
            text(&client, "reserve").await,
            "window: true",
            "{down} {up}"
        );
        assert_eq!(text(&client, "twice").await, "true true");
        assert_eq!(text(&client, "ask_model").await, "parrot");
        assert_eq!(text(&client, "folders").await, "1");
        let mut asked = vec!["elicitation/create"; 3];
        asked.extend(["sampling/createMessage", "roots/list"]);
        if up != Revision::V2025_06_18 {
            assert_eq!(text(&client, "sign_in").await, "signed in", "{down} {up}");
            asked.push("elicitation/create");
        }
        let heard = standby.asked();
        assert_eq!(heard.len(), asked.len(), "{down} {up}: {heard:?}");
        for (line, method) in heard.iter().zip(asked) {
            assert!(line.contains("Tool"), "{line}");
            assert!(line.ends_with(method), "{line}");
        }
        client.close().await;
    }
}

#[tokio::test]
async fn a_question_that_nothing_takes_is_not_asked() {
    for [down, up] in cells() {
        let client = mute(&bridge(up), down).await;
        let result = soon(client.call_tool("reserve", ())).await;
        match result {
            Ok(result) => assert!(result.failed(), "{down} {up}"),
            Err(error) => assert!(
                matches!(&error, ClientError::Server(error) if error.code == -32021),
                "{down} {up}: {error}"
            ),
        }
        client.close().await;
    }
}

#[tokio::test]
async fn one_round_is_shared_between_the_client_and_the_bridges_answers() {
    for [down, up] in cells() {
        if [down, up].contains(&Revision::V2025_06_18) {
            continue;
        }
        let tool = Tool::new("both", async |ctx: Ctx| -> askback::Result<String> {
            let questions = (
                ctx.elicit::<Seat>("Which seat?"),
                ctx.elicit_url("Sign in", "https://a.test/in"),
            );
            let (seat, link) = ctx.elicit_all(questions).await?;
            link.accepted()?;
            Ok(seat.accepted()?.window.to_string())
        });
        let server = agency().tool(tool).revisions([up]).build().unwrap();
        let standby = Standby::default();
        let (near, _) = serve(&to(server).answers(standby.clone()));
        let asked = Arc::new(Mutex::new(0));
        let counts = Arc::clone(&asked);
        let client = builder(Some(down)).on_elicit(move |_| {
            *counts.lock().unwrap() += 1;
            async { Ok(ElicitResult::form(&Seat { window: true })) }
        });
        let client = client.connect(near).await.unwrap();
        assert_eq!(text(&client, "both").await, "true", "{down} {up}");
        assert_eq!(*asked.lock().unwrap(), 1);
        assert_eq!(
            standby.asked(),
            [r#"Some(Tool("both")) elicitation/create"#]
        );
        client.close().await;
    }
}

fn link() -> ElicitUrlParams {
    serde_json::from_value(json!({
        "mode": "url", "message": "Sign in", "url": "https://a.test/in",
    }))
    .unwrap()
}

fn links() -> askback::Server {
    let opened = Arc::new(Mutex::new(false));
    let tool = Tool::new("links", move || {
        let was_opened = std::mem::replace(&mut *opened.lock().unwrap(), true);
        async move {
            match was_opened {
                true => Ok("opened"),
                false => Err(Error::url_required(link(), [])),
            }
        }
    });
    let server = agency().tool(tool).revisions([Revision::V2025_11_25]);
    server.build().unwrap()
}

#[tokio::test]
async fn links_of_an_error_are_the_clients_to_open_if_it_opens_any() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let standby = Standby::default();
        let bridge = to(links()).answers(standby.clone());
        let client = connect(&bridge, revision, willing()).await;
        assert_eq!(text(&client, "links").await, "opened");
        assert_eq!(standby.asked(), Vec::<String>::new());
        client.close().await;

        let bridge = to(links()).answers(standby.clone());
        let client = mute(&bridge, revision).await;
        assert_eq!(text(&client, "links").await, "opened");
        assert_eq!(standby.asked().len(), 1);
        client.close().await;

        let client = mute(&to(links()), revision).await;
        let result = client.call_tool("links", ()).await.unwrap();
        assert!(result.failed());
        client.close().await;
    }
}

#[tokio::test]
async fn a_question_of_no_call_goes_to_the_client_too() {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let revision = Revision::V2025_11_25;
    let serving = tokio::spawn(async move {
        let mut server = connections.recv().await.unwrap();
        let params = server.greet(revision).await;
        assert_eq!(params["capabilities"]["roots"], json!({}));
        server
            .say(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#)
            .await;
        let answer = server.hear().await;
        (server, answer)
    });
    let mut client = Wire::new(near);
    client.initialize(revision, &json!({"roots": {}})).await;
    let asked = client.hear().await;
    assert_eq!(asked["method"], "roots/list");
    client
        .answer(&asked["id"], r#"{"roots":[{"uri":"file:///x"}]}"#)
        .await;
    let (_server, answer) = soon(serving).await.unwrap();
    assert_eq!(answer["id"], "r");
    assert_eq!(answer["result"]["roots"][0]["uri"], "file:///x");
}

#[tokio::test]
async fn a_question_that_the_server_withdraws_is_withdrawn_at_the_client() {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let revision = Revision::V2025_11_25;
    let serving = tokio::spawn(async move {
        let mut server = connections.recv().await.unwrap();
        server.greet(revision).await;
        server
    });
    let mut client = Wire::new(near);
    client
        .initialize(revision, &json!({"elicitation": {}}))
        .await;
    let mut server = serving.await.unwrap();
    client
        .say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let call = server.hear().await;
    // Whether a form breaks the rules is for the client to judge.
    let form = r#"{"type":"object","properties":{"password":{"type":"string","x-widget":"w"}}}"#;
    server
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{{"message":"Password?","requestedSchema":{form}}}}}"#
        ))
        .await;
    let asked = client.hear().await;
    assert_eq!(asked["params"]["message"], "Password?");
    assert!(asked["params"].get("_meta").is_none(), "{asked}");
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;
    let withdrawn = client.hear().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    // The notice that a link is done passes only if the client was asked to open the link.
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"unknown"}}"#)
        .await;
    server.answer(&call["id"], r#"{"content":[]}"#).await;
    assert_eq!(client.hear().await["result"], json!({"content": []}));
}

#[tokio::test]
async fn a_link_that_was_opened_is_not_asked_again() {
    let (bridge, asked) = (bridge_that_asks_again(), Arc::new(Mutex::new(0)));
    let counts = Arc::clone(&asked);
    let (near, _) = serve(&bridge);
    let client =
        builder(Some(Revision::V2025_11_25)).on_elicit_url(move |question: HostQuestion<_>| {
            *counts.lock().unwrap() += 1;
            let request: InputRequest = ElicitParams::Url(question.request).into();
            async move {
                match agreed(&request).unwrap() {
                    InputResponse::Elicit(answer) => Ok(answer),
                    _ => unreachable!("a link is asked"),
                }
            }
        });
    let client = client.connect(near).await.unwrap();
    assert_eq!(text(&client, "again").await, "done");
    assert_eq!(*asked.lock().unwrap(), 1);
    client.close().await;
}

/// A 2026-07-28 server that asks for the same link in two rounds.
fn bridge_that_asks_again() -> Bridge {
    let tool = Tool::new(
        "again",
        async |ctx: Ctx| -> askback::Result<
            askback::protocol::Outcome<askback::protocol::CallToolResult>,
        > {
            use askback::protocol::{InputRequiredResult, Outcome};
            let round = match ctx.incoming().request_state() {
                None => "1",
                Some("1") => "2",
                Some(_) => {
                    return Ok(Outcome::Done(askback::protocol::CallToolResult::new(
                        "done",
                    )));
                }
            };
            let link: InputRequest = ElicitParams::Url(link()).into();
            Ok(Outcome::NeedInput(InputRequiredResult {
                input_requests: Some([("in".to_owned(), link)].into_iter().collect()),
                request_state: Some(round.to_owned()),
                meta: None,
            }))
        },
    );
    to(agency()
        .tool(tool)
        .revisions([Revision::V2026_07_28])
        .build()
        .unwrap())
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question() {
    for [down, up] in cells() {
        let (asked, dropped) = (Arc::new(Mutex::new(false)), Arc::new(Mutex::new(false)));
        let (asks, drops) = (Arc::clone(&asked), Arc::clone(&dropped));
        let host = Scripted::waiting(move |_| {
            *asks.lock().unwrap() = true;
            let guard = OnDrop(Arc::clone(&drops));
            Box::pin(async move {
                let _guard = guard;
                std::future::pending().await
            })
        });
        let client = connect(&bridge(up), down, host).await;
        let call = {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("reserve", ()).await })
        };
        until(|| *asked.lock().unwrap()).await;
        call.abort();
        until(|| *dropped.lock().unwrap()).await;
        client.close().await;
    }
}

struct OnDrop(Arc<Mutex<bool>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}

#[tokio::test]
async fn a_question_that_a_client_takes_can_be_answered_in_its_place() {
    /// Answers forms, and leaves other questions to the client.
    struct Forms(Standby);

    impl Answers for Forms {
        fn capabilities(&self) -> ClientCapabilities {
            self.0.capabilities()
        }

        fn answers_for(&self, client: &Implementation, question: &InputRequest) -> bool {
            assert!(!client.name.is_empty());
            matches!(question, InputRequest::Elicit(ElicitParams::Form(_)))
        }

        fn answer(&self, question: HostQuestion) -> BoxFuture<'_, askback::Result<InputResponse>> {
            self.0.answer(question)
        }
    }

    for [down, up] in cells() {
        let standby = Standby::default();
        let bridge = bridge(up).answers(Forms(standby.clone()));
        let host = Scripted::new(|question| match &question.request {
            InputRequest::Elicit(ElicitParams::Form(_)) => {
                Err(askback::ErrorObject::new(-1, "the client was asked"))
            }
            request => agreed(request),
        });
        let client = connect(&bridge, down, host).await;
        assert_eq!(text(&client, "twice").await, "true true", "{down} {up}");
        assert_eq!(text(&client, "ask_model").await, "parrot", "{down} {up}");
        assert_eq!(standby.asked().len(), 2, "{down} {up}");
        client.close().await;
    }
}

#[tokio::test]
async fn the_server_sees_a_mark_behind_the_title_of_a_client() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let (bridge, mut connections) = to_scripted();
        let (near, _) = serve(&bridge.mark_clients(" (askback wrap)"));
        let mut client = Wire::new(near);
        let nothing = json!({});
        let greeted = client.initialize(revision, &nothing);
        let served = async {
            let mut server = connections.recv().await.unwrap();
            let params = server.greet(revision).await;
            (server, params)
        };
        let (_, (_server, params)) = tokio::join!(greeted, served);
        assert_eq!(params["clientInfo"]["name"], "guest");
        assert_eq!(params["clientInfo"]["title"], "Guest (askback wrap)");
    }
}
