//! Peers that misbehave, and peers that disconnect.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback::{
    Revision,
    bridge::Bridge,
    client::{Client, ClientError, Event},
    transport::{self, Channel},
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};

use super::{Wire, agency, connect, modern_meta, serve, soon, to, to_scripted, willing};
use crate::client::limits;

const REVISION: Revision = Revision::V2025_11_25;

async fn session(bridge: &Bridge, connections: &mut Connections) -> (Wire, Wire) {
    let (near, _) = serve(bridge);
    let mut client = Wire::new(near);
    let opening = async {
        client
            .initialize(REVISION, &json!({"elicitation": {}, "roots": {}}))
            .await
    };
    let greeting = async {
        let mut server = connections.recv().await.unwrap();
        server.greet(REVISION).await;
        server
    };
    let (_, server) = tokio::join!(opening, greeting);
    (client, server)
}

type Connections = tokio::sync::mpsc::UnboundedReceiver<Wire>;

async fn call(client: &mut Wire, server: &mut Wire, id: u32) -> Value {
    client
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#
        ))
        .await;
    server.hear().await
}

#[tokio::test]
async fn invalid_messages_are_left_out() {
    let (bridge, mut connections) = to_scripted();
    let noted = Arc::new(AtomicUsize::new(0));
    let notes = Arc::clone(&noted);
    let bridge = bridge.on_event(move |event| {
        if let Event::Note(_) = event {
            notes.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (mut client, mut server) = session(&bridge, &mut connections).await;
    let request = call(&mut client, &mut server, 1).await;
    for nonsense in [
        "no JSON",
        "[]",
        "{}",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"shout","data":1}}"#,
    ] {
        server.say(nonsense).await;
    }
    for (id, question) in [
        ("a", r#""method":"x/unknown""#),
        ("b", r#""method":"elicitation/create""#),
        (
            "c",
            r#""method":"elicitation/create","params":{"message":7}"#,
        ),
        (
            "d",
            r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}"#,
        ),
    ] {
        server
            .say(&format!(r#"{{"jsonrpc":"2.0","id":"{id}",{question}}}"#))
            .await;
        let refused = server.hear().await;
        assert_eq!(refused["id"], id);
        assert!(refused["error"]["code"].is_i64(), "{refused}");
    }
    server.answer(&request["id"], r#"{"content":[]}"#).await;
    assert_eq!(client.hear().await["id"], 1);
    assert!(noted.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn a_flood_costs_a_bounded_number_of_questions_and_notifications() {
    let (bridge, mut connections) = to_scripted();
    let bridge = bridge.limits(limits(|limits| limits.client.asks = 5));
    let (mut client, mut server) = session(&bridge, &mut connections).await;
    let request = call(&mut client, &mut server, 1).await;
    let Wire {
        receiver: mut answers,
        mut sender,
    } = server;
    let reading = tokio::spawn(async move {
        let mut refused = 0;
        while let Some(answer) = answers.receive().await.unwrap() {
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            refused += usize::from(answer["error"]["code"] == -1);
            if refused == 195 {
                break;
            }
        }
        answers
    });
    for id in 0..200 {
        let question = json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"});
        sender
            .send(question.to_string().into_bytes())
            .await
            .unwrap();
        let line = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
            "level": "error", "data": "x".repeat(10_000),
        }});
        sender.send(line.to_string().into_bytes()).await.unwrap();
    }
    let _answers = soon(reading).await.unwrap();
    let done = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}});
    sender.send(done.to_string().into_bytes()).await.unwrap();
    let mut asked = 0;
    loop {
        let message = client.hear().await;
        if message.get("result").is_some() {
            break;
        }
        asked += usize::from(message["method"] == "roots/list");
    }
    assert_eq!(asked, 5);
}

#[tokio::test]
async fn a_server_that_goes_away_ends_its_calls_and_is_reached_again() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server) = session(&bridge, &mut connections).await;
    call(&mut client, &mut server, 1).await;
    server
        .say(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#)
        .await;
    let asked = client.hear().await;
    drop(server);
    let (mut withdrawn, mut failed) = (None, None);
    for _ in 0..2 {
        let message = client.hear().await;
        match message.get("id") {
            Some(_) => failed = Some(message),
            None => withdrawn = Some(message),
        }
    }
    assert_eq!(withdrawn.unwrap()["params"]["requestId"], asked["id"]);
    let failed = failed.unwrap();
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
    client
        .say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        .await;
    let mut server = connections.recv().await.unwrap();
    server.greet(REVISION).await;
    let request = server.hear().await;
    server.answer(&request["id"], r#"{"tools":[]}"#).await;
    assert_eq!(client.hear().await["id"], 2);
}

#[tokio::test]
async fn the_server_ends_with_its_client() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server) = session(&bridge, &mut connections).await;
    call(&mut client, &mut server, 1).await;
    drop(client);
    while let Some(message) = server.text().await {
        assert!(message.contains("notifications/cancelled"), "{message}");
    }
    // The call is also cancelled if the bridge's future is dropped.
    let (near, serving) = serve(&bridge);
    let mut client = Wire::new(near);
    let nothing = json!({});
    let opening = client.initialize(REVISION, &nothing);
    let greeting = async {
        let mut server = connections.recv().await.unwrap();
        server.greet(REVISION).await;
        server
    };
    let (_, mut server) = tokio::join!(opening, greeting);
    serving.abort();
    assert_eq!(server.text().await, None);
}

/// A bridge with a client that has sent its first request. The server has not greeted yet.
async fn connecting(down: Revision) -> (Wire, Wire, JoinHandle<std::io::Result<()>>) {
    let (bridge, mut connections) = to_scripted();
    let (near, serving) = serve(&bridge);
    let mut client = Wire::new(near);
    let nothing = json!({});
    match down {
        REVISION => client.say_initialize(down, &nothing).await,
        _ => {
            let params = json!({"_meta": modern_meta(&nothing)});
            let list = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params});
            client.say(&list.to_string()).await;
        }
    }
    let mut server = connections.recv().await.unwrap();
    server.hear().await;
    (client, server, serving)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_not_greeted_ends_with_its_client() {
    for down in [REVISION, Revision::V2026_07_28] {
        let (client, mut server, serving) = connecting(down).await;
        drop(client);
        soon(serving).await.unwrap().unwrap();
        while server.text().await.is_some() {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_its_side_gets_a_response_or_an_error() {
    // Whether it has sent more than its first request, and after how many seconds the server greets.
    for (sent_all, seconds, is_answered) in [
        (false, 0, true),
        (false, 2, false),
        (true, 9, true),
        (true, 11, false),
    ] {
        let (bridge, mut connections) = to_scripted();
        let (near, serving) = serve(&bridge);
        let mut client = Wire::new(near);
        client.say_initialize(REVISION, &json!({})).await;
        if sent_all {
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            client.say(&initialized.to_string()).await;
        }
        let mut server = connections.recv().await.unwrap();
        let Wire {
            mut receiver,
            mut sender,
        } = client;
        sender.close().await.unwrap();
        sleep(Duration::from_secs(seconds)).await;
        if is_answered {
            server.greet(REVISION).await;
        }
        let response = soon(receiver.receive()).await.unwrap().unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        match is_answered {
            true => assert_eq!(response["result"]["serverInfo"]["name"], "s"),
            false => {
                let says = response["error"]["message"].as_str().unwrap();
                assert!(says.contains("keep it open"), "{says}");
            }
        }
        soon(serving).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_client_is_told_that_its_server_cannot_be_reached() {
    let bridge = Bridge::new(|| {
        || {
            let (near, far) = transport::memory();
            drop(far);
            near
        }
    });
    let (near, serving) = serve(&bridge);
    let error = Client::builder("c", "1").connect(near).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Server(_) | ClientError::Crashed(_)),
        "{error}"
    );
    soon(serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn messages_before_the_first_request_are_answered_by_the_bridge() {
    let (near, serving) = serve(&to(agency().build().unwrap()));
    let mut client = Wire::new(near);
    client.say("no JSON").await;
    assert_eq!(client.hear().await["error"]["code"], -32700);
    client
        .say(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#)
        .await;
    assert_eq!(client.hear().await["result"], json!({}));
    client
        .say(r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#)
        .await;
    assert_eq!(client.hear().await["error"]["code"], -32602);
    let greeting = client.initialize(REVISION, &json!({})).await;
    assert_eq!(greeting["result"]["protocolVersion"], REVISION.as_str());
    drop(client);
    soon(serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_answers_nonsense_costs_its_question() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server) = session(&bridge, &mut connections).await;
    call(&mut client, &mut server, 1).await;
    for (answer, is_result) in [
        (
            r#""result":{"action":"accept","content":{"other":[1]}}"#,
            true,
        ),
        (r#""result":{"action":"shrug"}"#, false),
        (r#""result":7"#, false),
        (r#""error":{"code":-1,"message":"no"}"#, false),
    ] {
        server
            .say(r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}"#)
            .await;
        let asked = client.hear().await;
        client
            .say(&format!(
                r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#,
                asked["id"]
            ))
            .await;
        let heard = server.hear().await;
        assert_eq!(heard["id"], "q");
        assert_eq!(heard.get("result").is_some(), is_result, "{heard}");
    }
}

#[tokio::test]
async fn two_clients_have_two_servers() {
    let (bridge, mut connections) = to_scripted();
    let (mut one, mut of_one) = session(&bridge, &mut connections).await;
    let (mut other, mut of_other) = session(&bridge, &mut connections).await;
    let first = call(&mut one, &mut of_one, 1).await;
    let second = call(&mut other, &mut of_other, 1).await;
    of_other
        .answer(&second["id"], r#"{"content":[],"of":2}"#)
        .await;
    of_one
        .answer(&first["id"], r#"{"content":[],"of":1}"#)
        .await;
    assert_eq!(one.hear().await["result"]["of"], 1);
    assert_eq!(other.hear().await["result"]["of"], 2);
}

/// A channel that is never read must not block forever.
#[tokio::test]
async fn nothing_is_stored_for_a_client_that_sends_nothing() {
    let bridge = to(agency().build().unwrap());
    let (near, serving): (Channel, _) = serve(&bridge);
    drop(near);
    soon(serving).await.unwrap().unwrap();
    let client = connect(&bridge, REVISION, willing()).await;
    client.close().await;
}
