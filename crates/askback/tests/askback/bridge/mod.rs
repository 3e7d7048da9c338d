//! A client and a server with a bridge between them.

mod disconnects;
mod handshakes;
mod holds;
mod hostile;
mod older;
mod parks;
mod passing;
mod questions;
#[cfg(feature = "witness")]
mod receipts;
mod seam;
mod tasks;

use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    BoxFuture, Ctx, Form, Prompt, Resource, Result, Revision, Server, ServerBuilder, Tool,
    bridge::{Answers, Bridge},
    client::{Client, HostQuestion},
    keys::{Key, KeyRing, KeySource},
    protocol::{
        ClientCapabilities, CreateMessageResult, ElicitParams, ElicitResult, InputRequest,
        InputResponse, ListRootsResult, Root,
    },
    transport::{self, Channel, Receiver, Sender},
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::timeout};

use crate::client::{Hosted, Scripted, accept, builder};

/// The revisions in which a server can ask the user.
const ASKING: [Revision; 3] = [
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

/// Each client revision with each server revision.
fn cells() -> Vec<[Revision; 2]> {
    let all = ASKING.iter().flat_map(|down| ASKING.map(|up| [*down, up]));
    // The bridge offers the older revision of its two sides. A 2025-11-25 client refuses it.
    let older = [Revision::V2025_11_25, Revision::V2025_06_18];
    all.filter(|cell| *cell != older).collect()
}

#[derive(Form, Debug)]
struct Seat {
    /// By the window?
    window: bool,
}

async fn reserve(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    Ok(format!("window: {}", seat.window))
}

async fn twice(ctx: Ctx) -> Result<String> {
    let first: Seat = ctx.elicit("Out?").await?.accepted()?;
    let second: Seat = ctx.elicit("Back?").await?.accepted()?;
    Ok(format!("{} {}", first.window, second.window))
}

async fn sign_in(ctx: Ctx) -> Result<&'static str> {
    let answer = ctx.elicit_url("Sign in", "https://a.test/in").await?;
    answer.accepted()?;
    Ok("signed in")
}

async fn ask_model(ctx: Ctx) -> Result<String> {
    let params = serde_json::from_value(json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        "maxTokens": 5,
    }))?;
    Ok(ctx.sample(params).await?.model)
}

async fn folders(ctx: Ctx) -> Result<String> {
    Ok(ctx.roots().await?.as_client_says().len().to_string())
}

fn agency() -> ServerBuilder {
    Server::new("agency", "7")
        .instructions("Ask nicely.")
        .tool(Tool::new("reserve", reserve))
        .tool(Tool::new("twice", twice))
        .tool(Tool::new("sign_in", sign_in))
        .tool(Tool::new("ask_model", ask_model))
        .tool(Tool::new("folders", folders))
        .prompt(Prompt::new("plan", async |ctx: Ctx| {
            let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
            Ok(format!("Plan with window: {}", seat.window))
        }))
        .resource(Resource::new("a:list", "list", async || {
            Ok("one, two".to_owned())
        }))
        .changing_tools()
        .changing_resources()
        .logging()
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
}

/// A bridge to a server in this process, which accepts any number of connections.
fn to(server: Server) -> Bridge {
    Bridge::new(move || {
        let server = server.clone();
        move || {
            let (near, far) = transport::memory();
            let server = server.clone();
            tokio::spawn(async move { server.serve(far).await });
            near
        }
    })
}

/// A bridge to a scripted server, and the server's ends of the connections.
fn to_scripted() -> (Bridge, tokio::sync::mpsc::UnboundedReceiver<Wire>) {
    let (opened, connections) = tokio::sync::mpsc::unbounded_channel();
    let bridge = Bridge::new(move || {
        let opened = opened.clone();
        move || {
            let (near, far) = transport::memory();
            let _ = opened.send(Wire::new(far));
            near
        }
    });
    (bridge, connections)
}

fn serve(bridge: &Bridge) -> (Channel, JoinHandle<std::io::Result<()>>) {
    let (near, far) = transport::memory();
    let bridge = bridge.clone();
    (near, tokio::spawn(async move { bridge.serve(far).await }))
}

/// Connects a client that accepts every kind of question.
async fn connect(bridge: &Bridge, revision: Revision, host: Scripted) -> Client {
    let (near, _) = serve(bridge);
    builder(Some(revision))
        .host(host)
        .connect(near)
        .await
        .unwrap()
}

fn willing() -> Scripted {
    Scripted::new(|question| agreed(&question.request))
}

fn agreed(request: &InputRequest) -> crate::client::Answer {
    match request {
        InputRequest::Elicit(ElicitParams::Form(_)) => accept(json!({"window": true})),
        InputRequest::Elicit(ElicitParams::Url(_)) => {
            Ok(InputResponse::Elicit(ElicitResult::agree()))
        }
        InputRequest::Sample(_) => {
            let message: CreateMessageResult = serde_json::from_value(json!({
                "role": "assistant",
                "content": {"type": "text", "text": "ho"},
                "model": "parrot",
            }))
            .unwrap();
            Ok(InputResponse::Sample(Box::new(message)))
        }
        InputRequest::Roots(_) => {
            let root: Root = serde_json::from_value(json!({"uri": "file:///a"})).unwrap();
            let roots = vec![root];
            Ok(InputResponse::Roots(ListRootsResult { roots, meta: None }))
        }
    }
}

/// Answers instead of clients, and logs the questions.
#[derive(Clone, Default)]
struct Standby(Arc<Mutex<Vec<String>>>);

impl Standby {
    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Answers for Standby {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({
            "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {},
        }))
        .unwrap()
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>> {
        let line = format!("{:?} {}", question.target, question.request.method());
        self.0.lock().unwrap().push(line);
        Box::pin(async move { Ok(agreed(&question.request).unwrap()) })
    }
}

/// One end of a connection. The test reads and writes each message itself.
struct Wire {
    receiver: Receiver,
    sender: Sender,
}

impl Wire {
    fn new(channel: Channel) -> Self {
        let (receiver, sender) = channel.split();
        Self { receiver, sender }
    }

    async fn say(&mut self, message: &str) {
        self.sender.send(message.as_bytes().to_vec()).await.unwrap();
    }

    /// The raw text of the next message, or `None` at the end.
    async fn text(&mut self) -> Option<String> {
        let message = timeout(Duration::from_secs(20), self.receiver.receive()).await;
        let message = message.expect("nothing is said").unwrap()?;
        Some(String::from_utf8(message).unwrap())
    }

    async fn hear(&mut self) -> Value {
        let text = self.text().await.expect("the connection ended");
        serde_json::from_str(&text).unwrap()
    }

    async fn say_initialize(&mut self, revision: Revision, capabilities: &Value) {
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "clientInfo": {"name": "guest", "version": "3", "title": "Guest"},
        });
        let initialize =
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.say(&initialize.to_string()).await;
    }

    async fn initialize(&mut self, revision: Revision, capabilities: &Value) -> Value {
        self.say_initialize(revision, capabilities).await;
        let greeting = self.hear().await;
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        greeting
    }

    /// Answers the handshake as a server of this revision. Returns the client's parameters.
    async fn greet(&mut self, revision: Revision) -> Value {
        let initialize = self.hear().await;
        assert_eq!(initialize["method"], "initialize");
        let capabilities = json!({
            "tools": {"listChanged": true}, "logging": {}, "resources": {"subscribe": true},
        });
        let result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "serverInfo": {"name": "s", "version": "1", "title": "S"},
        });
        self.answer(&initialize["id"], &result.to_string()).await;
        assert_eq!(self.hear().await["method"], "notifications/initialized");
        initialize["params"].clone()
    }

    async fn answer(&mut self, id: &Value, result: &str) {
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    }
}

fn modern_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "guest", "version": "3"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), waiting)
        .await
        .expect("it never came");
}

async fn soon<F: Future>(future: F) -> F::Output {
    timeout(Duration::from_secs(20), future)
        .await
        .expect("it takes too long")
}
