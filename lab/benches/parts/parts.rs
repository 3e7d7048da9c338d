use std::{collections::BTreeMap, env, hint::black_box, sync::Arc};

use askback::{
    Ctx, Form, Limits, Result, Server, ServerBuilder, Tool,
    client::Client,
    keys::KeySource,
    protocol::{
        CallToolResult, ElicitParams, Implementation, InputRequest, Outcome, RawJson, Signature,
    },
    transport::{Channel, Child, Connect, Http, Receiver, Sender, memory},
};
use askback_core::{
    ask::{
        Flow, FlowId, FlowState, Reply, TokenId,
        keys::{Key, KeyRing},
        seal::{self, Binding, Entropy},
    },
    engine::server::{Connection, Profile},
    forms::Content,
    jsonrpc,
    protocol::ServerCapabilities,
    revision::Revision,
    wire,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    task::JoinSet,
};

use crate::{far, reading};

type Make = fn() -> Box<dyn FnMut()>;

pub(crate) const PARTS: &[(&str, Make)] = &[
    ("floor", floor),
    ("parse", parse),
    ("route", route),
    ("form", form),
    ("write", write),
    ("seal", seal),
    ("open", open),
    ("replay", replay),
    ("call", call),
    ("ask", ask),
    ("list", list),
    ("client", client),
    ("client-256", client_256),
    ("client-child", client_child),
    ("client-child-64", client_child_64),
    ("client-http", client_http),
    ("client-http-16", client_http_16),
    ("read-list", reading::list),
    ("read-resources", reading::resources),
    ("read-blocks", reading::blocks),
    ("read-text", reading::text),
    ("read-form", reading::form),
];

const CALL: &str = r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"message":"Hello, world!"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}"#;

/// The message that the tool returns.
#[derive(Form)]
struct Echo {
    /// The words.
    message: String,
}

/// Only parses the message into a value.
fn floor() -> Box<dyn FnMut()> {
    Box::new(|| {
        let value: serde_json::Value = serde_json::from_str(black_box(CALL)).expect("JSON");
        black_box(value["params"]["arguments"]["message"].to_string());
    })
}

fn parse() -> Box<dyn FnMut()> {
    let limits = Limits::default();
    Box::new(move || {
        black_box(jsonrpc::parse(black_box(CALL.as_bytes()), &limits.wire)).expect("a message");
    })
}

/// From the bytes to the call and its response back to bytes, without a handler.
fn route() -> Box<dyn FnMut()> {
    let profile = Profile {
        info: Implementation::new("bench", "1.0.0"),
        capabilities: ServerCapabilities::default(),
        instructions: None,
        revisions: Revision::ALL.into_iter().rev().collect(),
        ttl_ms: 0,
        limits: Arc::default(),
        forwards: false,
    };
    let mut engine = Connection::new(Arc::new(profile));
    Box::new(move || {
        engine.handle_message(black_box(CALL.as_bytes()));
        black_box(engine.poll());
        engine.respond(&17.into(), Vec::new());
        black_box(engine.poll());
    })
}

fn form() -> Box<dyn FnMut()> {
    let limits = Limits::default();
    let arguments = RawJson::from_text(r#"{"message":"Hello, world!"}"#.into()).expect("JSON");
    Box::new(move || {
        let schema = Echo::schema();
        let content: Content = black_box(&arguments).decode().expect("an object");
        let content = schema.with_defaults(content);
        schema
            .check(&content, &limits.forms)
            .expect("what was asked");
        black_box(Echo::read(&content).expect("a form").message);
    })
}

fn write() -> Box<dyn FnMut()> {
    let server = Signature::new(&Implementation::new("bench", "1.0.0"));
    Box::new(move || {
        let outcome = Outcome::Done(CallToolResult::new(black_box("Hello, world!")));
        let id = 17.into();
        black_box(wire::write_outcome(
            Revision::LATEST,
            &id,
            outcome,
            Some(&server),
        ));
    })
}

fn seal() -> Box<dyn FnMut()> {
    let state = serde_json::to_vec(&state()).expect("JSON");
    let ring = ring();
    Box::new(move || {
        let entropy = Entropy([7; 28]);
        let most = Limits::default().asking.state_bytes;
        black_box(seal::seal(&ring, &binding(), &state, entropy, most)).expect("a token");
    })
}

fn open() -> Box<dyn FnMut()> {
    let state = serde_json::to_vec(&state()).expect("JSON");
    let ring = ring();
    let most = Limits::default().asking.state_bytes;
    let token = seal::seal(&ring, &binding(), &state, Entropy([7; 28]), most).expect("a token");
    Box::new(move || {
        let opened = seal::open(&ring, &binding(), black_box(&token), most);
        let state: FlowState =
            serde_json::from_slice(&opened.expect("the state")).expect("a state");
        black_box(state);
    })
}

/// Continues from a state and an answer until the answer is delivered.
fn replay() -> Box<dyn FnMut()> {
    let (state, limits) = (state(), Arc::new(Limits::default()));
    let answer = r#"{"action":"accept","content":{"message":"Hello, world!"}}"#;
    let answer = RawJson::from_text(answer.into()).expect("JSON");
    Box::new(move || {
        let replies = BTreeMap::from([("echo".to_owned(), Reply::Value(answer.clone()))]);
        let mut flow = Flow::resume(state.clone(), replies, 2, Arc::clone(&limits));
        flow.ask("echo", question(), None).expect("a question");
        black_box(flow.verdict(2));
    })
}

/// A whole call over a channel in memory.
fn call() -> Box<dyn FnMut()> {
    let echo = Tool::new("echo", async |echo: Echo| -> Result<String> {
        Ok(echo.message)
    });
    let mut client = Near::of(Server::new("bench", "1.0.0").tool(echo));
    Box::new(move || {
        black_box(client.send(CALL.into()));
    })
}

/// A whole call with a question over a channel in memory: both rounds.
fn ask() -> Box<dyn FnMut()> {
    let ask = Tool::new("ask", async |ctx: Ctx| -> Result<String> {
        let echo: Echo = ctx.elicit("What?").await?.accepted()?;
        Ok(echo.message)
    });
    let server = Server::new("bench", "1.0.0").keys(KeySource::Ring(ring()));
    let mut client = Near::of(server.check_replay(false).tool(ask));
    let first = request("tools/call", r#""name":"ask","arguments":{}"#);
    Box::new(move || {
        let asked = client.send(first.clone().into());
        let asked = std::str::from_utf8(&asked).expect("text");
        let (_, token) = asked.split_once(r#""requestState":""#).expect("a state");
        let (token, _) = token.split_once('"').expect("its end");
        let answered = format!(
            r#""name":"ask","arguments":{{}},"requestState":"{token}","inputResponses":{{"echo":{{"action":"accept","content":{{"message":"Hello, world!"}}}}}}"#
        );
        black_box(client.send(request("tools/call", &answered).into()));
    })
}

fn list() -> Box<dyn FnMut()> {
    let mut server = Server::new("bench", "1.0.0");
    for number in 0..201 {
        let echo = async |echo: Echo| -> Result<String> { Ok(echo.message) };
        let tool = Tool::new(format!("echo_{number}"), echo);
        server = server.tool(tool.description("Says it back"));
    }
    let mut client = Near::of(server);
    let list = request("tools/list", r#""cursor":null"#);
    Box::new(move || {
        black_box(client.send(list.clone().into()));
    })
}

/// The client's end of an in-memory connection.
struct Near {
    runtime: Runtime,
    receiver: Receiver,
    sender: Sender,
}

impl Near {
    fn of(server: ServerBuilder) -> Self {
        let server = server.build().expect("a server");
        let runtime = runtime();
        stop_time(&runtime);
        let (near, far) = memory();
        runtime.spawn(async move { server.serve(far).await });
        let (receiver, sender) = near.split();
        Self {
            runtime,
            receiver,
            sender,
        }
    }

    fn send(&mut self, request: Vec<u8>) -> Vec<u8> {
        self.runtime.block_on(async {
            self.sender.send(request).await.expect("a server");
            let response = self.receiver.receive().await.expect("a server");
            response.expect("a response")
        })
    }
}

fn request(method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":17,"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"load","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}}}"#
    )
}

fn client() -> Box<dyn FnMut()> {
    calls(1, in_memory)
}

fn client_256() -> Box<dyn FnMut()> {
    calls(256, in_memory)
}

/// A whole call of a client over the stdio of a child process, whose instructions do not count.
fn client_child() -> Box<dyn FnMut()> {
    calls(1, child)
}

fn client_child_64() -> Box<dyn FnMut()> {
    calls(64, child)
}

fn client_http() -> Box<dyn FnMut()> {
    calls(1, http)
}

fn client_http_16() -> Box<dyn FnMut()> {
    calls(16, http)
}

fn calls<C: Connect>(at_once: usize, connect: impl FnOnce(&Runtime) -> C) -> Box<dyn FnMut()> {
    let runtime = runtime();
    let connector = connect(&runtime);
    let client = Client::builder("bench", "1.0.0").connect(connector);
    let client = runtime.block_on(client).expect("a server");
    let arguments = BTreeMap::from([("message", "Hello, world!")]);
    let call = move |client: &Client| {
        let call = client.call_tool("echo", &arguments);
        async move { black_box(call.await).expect("a result") }
    };
    Box::new(move || {
        runtime.block_on(async {
            if at_once == 1 {
                call(&client).await;
                return;
            }
            let mut calls: JoinSet<_> = (0..at_once).map(|_| call(&client)).collect();
            while let Some(called) = calls.join_next().await {
                called.expect("a result");
            }
        });
    })
}

fn in_memory(runtime: &Runtime) -> Channel {
    stop_time(runtime);
    let (near, far) = memory();
    runtime.spawn(far::answer_channel(far));
    near
}

fn child(_: &Runtime) -> Child {
    let this = env::current_exe().expect("this program");
    Child::command(this).arg(far::STDIO)
}

fn http(runtime: &Runtime) -> Http {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("an address");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(far::answer_http(listener));
    Http::new(&format!("http://{address}/mcp")).expect("a URL")
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Stops time in a runtime. A connection works on its calls itself until a time limit, which comes sooner on a busy
/// machine.
fn stop_time(runtime: &Runtime) {
    runtime.block_on(async { tokio::time::pause() });
}

fn question() -> InputRequest {
    InputRequest::Elicit(ElicitParams::form("What?", Echo::schema()))
}

fn state() -> FlowState {
    let mut flow = Flow::start(1, Arc::default());
    flow.ask("echo", question(), None).expect("a question");
    flow.send_questions();
    let identity = flow.identity(|| Ok::<_, ()>((FlowId([1; 16]), [2; 32])));
    let identity = identity.expect("a draw").clone();
    flow.suspend(identity, TokenId([3; 16]), 1)
}

fn ring() -> KeyRing {
    KeyRing::new(Key::new(&[5; 32]))
}

fn binding() -> Binding<'static> {
    Binding {
        audience: "bench",
        tenant: None,
        issuer: None,
        subject: None,
        client_id: None,
        method: "tools/call",
        target: "echo",
        arguments: [0; 32],
        revision: Revision::LATEST.as_str(),
    }
}
