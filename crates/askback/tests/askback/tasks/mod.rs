//! Calls that become tasks.

mod client;
mod server;

use std::time::Duration;

use askback::{
    Ctx, Error, Form, Limits, Result, Server, ServerBuilder, Tool,
    ctx::Progress,
    keys::{Key, KeyRing, KeySource},
    protocol::TaskSupport,
    testing::{TestClock, Wire},
};
use askback_core::jsonrpc::ErrorObject;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::asking::Seat;

pub(crate) const WORK: Duration = Duration::from_secs(100);

#[derive(Form)]
pub(crate) struct Name {
    name: String,
}

async fn slow(ctx: Ctx) -> Result<String> {
    ctx.progress(Progress::of(1.0, 2.0).message("Half of it is done."));
    ctx.sleep(WORK).await;
    ctx.progress(Progress::of(2.0, 2.0));
    ctx.sleep(WORK).await;
    Ok(format!("done, as a task: {}", ctx.is_task()))
}

async fn failing() -> Result<String> {
    Err(Error::new("out of paint"))
}

async fn forbidden() -> Result<String> {
    Err(Error::protocol(ErrorObject::new(-32000, "not today")))
}

async fn panicking() -> Result<String> {
    panic!("a secret")
}

async fn reserve(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("By the window?").await?.accepted()?;
    ctx.sleep(WORK).await;
    Ok(format!("window: {}", seat.window))
}

async fn two(ctx: Ctx) -> Result<String> {
    let questions = (ctx.elicit("By the window?"), ctx.elicit("Who?"));
    let (seat, who) = ctx.elicit_all(questions).await?;
    let (seat, who): (Seat, Name) = (seat.accepted()?, who.accepted()?);
    Ok(format!("{}: {}", who.name, seat.window))
}

/// Asks before and after it becomes a task.
async fn later(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("By the window?").await?.accepted()?;
    let drawn = ctx.random();
    ctx.become_task().await?;
    let who: Name = ctx.elicit("Who?").await?.accepted()?;
    ctx.sleep(WORK).await;
    assert_eq!(
        ctx.is_task(),
        ctx.client_capabilities().extensions.is_some()
    );
    Ok(format!("{}: {} {}", who.name, seat.window, drawn != 0))
}

/// Becomes a task while a question is open.
async fn beside(ctx: Ctx) -> Result<String> {
    let becoming = ctx.spawn({
        let ctx = ctx.clone();
        async move { ctx.become_task().await.map(|()| "task") }
    });
    let (seat, became) = crate::asking::join(ctx.elicit("By the window?"), becoming).await;
    let seat: Seat = seat?.accepted()?;
    Ok(format!("{} {}", became?, seat.window))
}

async fn undeclared(ctx: Ctx) -> Result<String> {
    ctx.become_task().await?;
    Ok("became one".to_owned())
}

pub(crate) fn builder() -> ServerBuilder {
    use TaskSupport::{Optional, Required};
    Server::new("painter", "1")
        .tool(Tool::new("slow", slow).task(Optional))
        .tool(Tool::new("failing", failing).task(Required))
        .tool(Tool::new("forbidden", forbidden).task(Optional))
        .tool(Tool::new("panicking", panicking).task(Optional))
        .tool(Tool::new("reserve", reserve).task(Optional))
        .tool(Tool::new("two", two).task(Optional))
        .tool(Tool::new("later", later).may_become_task(Optional))
        .tool(Tool::new("strictly_later", later).may_become_task(Required))
        .tool(Tool::new("beside", beside).may_become_task(Optional))
        .tool(Tool::new("undeclared", undeclared))
        .tool(Tool::new("never", undeclared).task(TaskSupport::Forbidden))
        .clock(TestClock::new())
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
}

/// A client that only sends and receives messages.
pub(crate) struct Client {
    pub(crate) wire: Wire,
    pub(crate) capabilities: Value,
    /// The messages other than responses.
    pub(crate) heard: Vec<Value>,
}

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            wire: Wire::connect(server),
            capabilities: json!({
                "elicitation": {},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            }),
            heard: Vec::new(),
        }
    }

    pub(crate) fn without_tasks(server: &Server) -> Self {
        Self {
            capabilities: json!({"elicitation": {}}),
            ..Self::new(server)
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let message = self.wire.hear().await.expect("every request is answered");
            if message["id"] == id {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub(crate) async fn send(&mut self, method: &str, mut params: Value) -> u64 {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        self.wire.request(method, params).await
    }

    pub(crate) async fn call(&mut self, name: &str) -> Value {
        self.request("tools/call", json!({"name": name})).await["result"].take()
    }

    /// Calls a tool that returns a task. Returns the task's id.
    pub(crate) async fn begin(&mut self, name: &str) -> String {
        let task = self.call(name).await;
        assert_eq!(task["resultType"], "task", "{task}");
        task["taskId"]
            .as_str()
            .expect("a task has a name")
            .to_owned()
    }

    pub(crate) async fn get(&mut self, task: &str) -> Value {
        self.request("tasks/get", json!({"taskId": task})).await["result"].take()
    }

    pub(crate) async fn update(&mut self, task: &str, responses: Value) -> Value {
        let params = json!({"taskId": task, "inputResponses": responses});
        self.request("tasks/update", params).await
    }

    /// Returns a task after the server has done all it can for now.
    pub(crate) async fn settled(&mut self, task: &str) -> Value {
        sleep(Duration::from_millis(1)).await;
        self.get(task).await
    }
}
