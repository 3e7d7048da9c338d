//! One handler that asks, in every revision.

use askback::{
    Ctx, Form, Result, Server, Tool,
    keys::{Key, KeyRing, KeySource},
    transport,
};
use serde_json::{Value, json};

#[derive(Form, Debug)]
#[form(crate = "askback_core")]
struct Seat {
    /// By the window?
    window: bool,
}

async fn reserve(ctx: Ctx) -> Result<String> {
    let price = ctx.run("price", || async { Ok(120) }).await?;
    let seat: Seat = ctx
        .elicit(format!("A seat for {price}?"))
        .await?
        .accepted()?;
    let again: Seat = ctx.elicit("Sure?").await?.accepted()?;
    Ok(format!("{price} {} {}", seat.window, again.window))
}

struct Client {
    receiver: transport::Receiver,
    sender: transport::Sender,
}

impl Client {
    fn connect() -> Self {
        let server = Server::new("agency", "1")
            .tool(Tool::new("reserve", reserve))
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
            .check_replay(true)
            .build()
            .unwrap();
        let (near, far) = transport::memory();
        tokio::spawn(async move { server.serve(far).await });
        let (receiver, sender) = near.split();
        Self { receiver, sender }
    }

    async fn say(&mut self, message: Value) {
        self.sender
            .send(message.to_string().into_bytes())
            .await
            .unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_slice(&self.receiver.receive().await.unwrap().unwrap()).unwrap()
    }
}

// Shows MR-01, ST-08, PA-01, VE-10.
#[tokio::test]
async fn the_stateless_era_replays() {
    let mut client = Client::connect();
    let call = |id: u32, state: Option<&Value>, answers: Value| {
        let mut params = json!({
            "name": "reserve",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            },
        });
        if let Some(state) = state {
            params["requestState"] = state.clone();
            params["inputResponses"] = answers;
        }
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    client.say(call(1, None, Value::Null)).await;
    let first = client.hear().await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let accept = |window: bool| json!({"action": "accept", "content": {"window": window}});
    client
        .say(call(
            2,
            Some(&first["result"]["requestState"]),
            json!({"seat": accept(true)}),
        ))
        .await;
    let second = client.hear().await;
    assert_eq!(
        second["result"]["inputRequests"]["seat-2"]["params"]["message"], "Sure?",
        "{second}"
    );
    client
        .say(call(
            3,
            Some(&second["result"]["requestState"]),
            json!({"seat-2": accept(false)}),
        ))
        .await;
    let third = client.hear().await;
    assert_eq!(
        third["result"]["content"][0]["text"], "120 true false",
        "{third}"
    );
}

// Shows BA25-02.
#[tokio::test]
async fn the_handshake_era_waits() {
    let mut client = Client::connect();
    client
        .say(
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"}}}),
        )
        .await;
    let opened = client.hear().await;
    assert_eq!(
        opened["result"]["protocolVersion"], "2025-06-18",
        "{opened}"
    );
    client
        .say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    client
        .say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "reserve"}}))
        .await;
    let mut ids = Vec::new();
    for (key, window) in [("seat", true), ("seat-2", false)] {
        let asked = client.hear().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        assert!(!ids.contains(&asked["id"]), "{asked}");
        ids.push(asked["id"].clone());
        assert_eq!(asked["params"]["_meta"]["dev.askback/key"], key, "{asked}");
        client
            .say(json!({"jsonrpc": "2.0", "id": asked["id"], "result":
                {"action": "accept", "content": {"window": window}}}))
            .await;
    }
    let done = client.hear().await;
    assert_eq!(
        done["result"]["content"][0]["text"], "120 true false",
        "{done}"
    );
}
