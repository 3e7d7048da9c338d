//! A client whose requests reach any live process.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    future::{Future, poll_fn},
    rc::Rc,
    task::Poll,
};

use askback::{Revision, journal::Millis};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{
    PATIENCE,
    nodes::{NODES, World},
    tools::{Call, Way, reply},
};
use crate::http::client::{Client, Response, Session, mirrored, stateless};

/// The pause between two polls of a task.
const LOOK: Millis = 500;

/// A question that the user does not answer times out after this, in milliseconds.
const LATE: Millis = 31_000;

pub(super) enum Part {
    Head(u16),
    /// An event with its id, or the whole body of a response that is not a stream.
    Message(Option<String>, Value),
    /// An event with an id but no message.
    Id(String),
    End,
}

pub(super) struct Caller {
    pub(super) world: Rc<RefCell<World>>,
    pub(super) session: Option<Session>,
    pub(super) takes_tasks: bool,
}

impl Caller {
    /// Sends a request to a live process, which may die before its response is complete.
    pub(super) async fn send<F>(
        &self,
        request: impl FnOnce(Client, Option<Session>) -> F,
    ) -> mpsc::UnboundedReceiver<Part>
    where
        F: Future<Output = Response> + Send + 'static,
    {
        loop {
            {
                let mut world = self.world.borrow_mut();
                let at = world.dice.below(NODES as u64) as usize;
                world.stride = 1;
                if let Some(node) = &world.nodes[at] {
                    let client = node.client.clone();
                    let session = self.session.clone().map(|session| Session {
                        client: client.clone(),
                        ..session
                    });
                    let (told, hears) = mpsc::unbounded_channel();
                    node.runtime.spawn(relay(request(client, session), told));
                    return hears;
                }
            }
            once().await;
        }
    }

    pub(super) fn now(&self) -> Millis {
        self.world.borrow().now()
    }

    pub(super) async fn tell(&self, message: &Value) {
        for _ in 0..100 {
            let message = message.clone();
            let mut parts = self
                .send(|_, session| async move { in_session(session).post(&message).await })
                .await;
            match parts.recv().await {
                Some(Part::Head(status)) => {
                    assert_eq!(status, 202);
                    return;
                }
                _ => once().await,
            }
        }
        panic!("no process takes {message}");
    }

    pub(super) async fn open(&mut self) {
        let capabilities = json!({"elicitation": {}, "sampling": {}});
        let (told, mut hears) = mpsc::unbounded_channel();
        let world = Rc::clone(&self.world);
        {
            let world = world.borrow();
            let node = world.nodes[0].as_ref().expect("all live");
            let client = node.client.clone();
            node.runtime.spawn(async move {
                let session = client.open_with(Revision::V2025_11_25, capabilities).await;
                let _ = told.send(session);
            });
        }
        self.session = hears.recv().await;
    }

    /// Calls, and answers questions until there is a result. Returns `None` if the call was lost
    /// before a question.
    pub(super) async fn call(&self, call: &Call) -> Option<Value> {
        match call.way {
            Way::Session => self.call_in_session(call.method, &call.params()).await,
            Way::Rounds => Some(self.call_in_rounds(call.method, &call.params()).await),
            Way::Task => Some(self.call_as_task(&call.params()).await),
        }
    }

    async fn call_in_rounds(&self, method: &str, params: &Value) -> Value {
        let mut round = params.clone();
        loop {
            let mut response = self.exchange(method, round).await;
            let result = &mut response["result"];
            if result["resultType"] != "input_required" {
                return response;
            }
            let answers = replies(&result["inputRequests"]);
            if answers.is_empty() {
                self.wait(LATE).await;
            }
            round = params.clone();
            round["requestState"] = result["requestState"].take();
            round["inputResponses"] = answers.into();
        }
    }

    async fn call_as_task(&self, params: &Value) -> Value {
        let begun = self.exchange("tools/call", params.clone()).await;
        let task = json!({"taskId": begun["result"]["taskId"]});
        loop {
            let got = self.exchange("tasks/get", task.clone()).await;
            match got["result"]["status"].as_str() {
                Some("working") => {}
                Some("input_required") => {
                    let mut update = task.clone();
                    update["inputResponses"] = replies(&got["result"]["inputRequests"]).into();
                    let taken = self.exchange("tasks/update", update).await;
                    assert!(taken["error"].is_null(), "{taken}");
                }
                Some("completed") => return json!({"result": got["result"]["result"]}),
                Some("failed") => return json!({"result": got["result"]["error"]}),
                _ => panic!("lost: {got}"),
            }
            self.wait(LOOK).await;
        }
    }

    /// Sends a request of the stateless era until a process answers.
    pub(super) async fn exchange(&self, method: &str, mut params: Value) -> Value {
        let mut capabilities = json!({"elicitation": {}, "sampling": {}});
        if self.takes_tasks {
            capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        }
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
        let message = stateless(method, params);
        loop {
            let message = message.clone();
            let post =
                |client: Client, _| async move { client.post(&mirrored(&message), &message).await };
            let mut parts = self.send(post).await;
            while let Some(part) = parts.recv().await {
                match part {
                    Part::Message(_, response) if response["id"] == 1 => return response,
                    Part::End => break,
                    _ => {}
                }
            }
            once().await;
        }
    }

    async fn wait(&self, span: Millis) {
        let until = self.now() + span;
        while self.now() < until {
            once().await;
        }
    }

    async fn call_in_session(&self, method: &str, params: &Value) -> Option<Value> {
        let begun = self.now();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut parts = self
            .send(|_, session| async move { in_session(session).post(&message).await })
            .await;
        let mut last = None;
        let mut said = BTreeMap::<String, Value>::new();
        let mut answered = BTreeSet::new();
        loop {
            assert!(
                self.now() < begun + PATIENCE,
                "lost: nothing comes any more"
            );
            match parts.recv().await {
                Some(Part::Head(status)) => {
                    if status != 200 {
                        assert!(
                            said.is_empty(),
                            "lost after a question: {status} for {last:?}"
                        );
                        return None;
                    }
                }
                Some(Part::Id(id)) => last = Some(id),
                Some(Part::Message(id, told)) => {
                    let is_result = told["id"] == 1 && told["method"].is_null();
                    last = id.clone().or(last);
                    if let Some(before) = id.and_then(|id| said.insert(id, told.clone())) {
                        assert_eq!(before, told, "an event that was told before");
                    }
                    if is_result {
                        return Some(told);
                    }
                    let name = told["id"].to_string();
                    let reply = told["id"].is_string().then(|| reply(&told)).flatten();
                    if let Some(result) = reply
                        && answered.insert(name)
                    {
                        let id = &told["id"];
                        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                        self.tell(&answer).await;
                    }
                }
                // The process has died, or drops the client.
                Some(Part::End) | None => {
                    let last = last.clone()?;
                    parts = self
                        .send(|_, session| async move { in_session(session).resume(&last).await })
                        .await;
                }
            }
        }
    }
}

/// The user's answers to these questions.
fn replies(requests: &Value) -> Map<String, Value> {
    let requests = requests.as_object().expect("questions").iter();
    requests
        .filter_map(|(key, request)| Some((key.clone(), reply(request)?)))
        .collect()
}

fn in_session(session: Option<Session>) -> Session {
    session.expect("it is open")
}

async fn relay(response: impl Future<Output = Response>, told: mpsc::UnboundedSender<Part>) {
    let relayed = async {
        let mut response = response.await;
        let _ = told.send(Part::Head(response.status.as_u16()));
        if response.is_stream() {
            while let Some(event) = response.event().await {
                let message = serde_json::from_slice(&event.data);
                let part = match (message, event.id) {
                    (Ok(message), id) => Part::Message(id, message),
                    (Err(_), Some(id)) => Part::Id(id),
                    (Err(_), None) => continue,
                };
                let _ = told.send(part);
            }
        } else if response.header("content-type") == Some("application/json") {
            let _ = told.send(Part::Message(None, response.json().await));
        }
        let _ = told.send(Part::End);
    };
    tokio::select! {
        () = told.closed() => {}
        () = relayed => {}
    }
}

async fn once() {
    let mut is_ready = false;
    poll_fn(|_| match std::mem::replace(&mut is_ready, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}
