//! The proof over HTTP: each message is a request of its own, and what comes back comes on any of
//! their responses. In the stateless era each request reaches another server.

use std::time::Duration;

use askback::Revision;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    Plan, World,
    client::{Habit, Link},
    prove_with,
};
use crate::http::client::{Client, Response, Session, mirrored};

/// How many programs each of these tests runs: all that is new in them is the transport.
const CASES: u32 = 100;

#[test]
fn in_2025_06_18_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_06_18, Http::new);
    });
}

#[test]
fn in_2025_11_25_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_11_25, Http::new);
    });
}

#[test]
fn in_2026_07_28_programs_come_to_what_they_should() {
    prove_with(CASES, |case| case.stateless_over(Habit::Plain, Http::new));
}

#[test]
fn a_round_sent_twice_changes_nothing() {
    prove_with(CASES, |case| case.stateless_over(Habit::Twice, Http::new));
}

/// The way to servers over HTTP.
struct Http {
    plan: Plan,
    session: Option<Session>,
    heard: mpsc::UnboundedSender<Value>,
    hears: mpsc::UnboundedReceiver<Value>,
}

impl Http {
    fn new(world: &World) -> Self {
        let (heard, hears) = mpsc::unbounded_channel();
        Self {
            plan: world.plan(),
            session: None,
            heard,
            hears,
        }
    }

    /// Opens a session with the first message.
    async fn initialize(&mut self, hello: &Value) {
        let client = Client::of(&self.plan.server());
        let response = client.post(&[], hello).await;
        let id = response.header("mcp-session-id").expect("a session");
        let revision = hello["params"]["protocolVersion"].as_str();
        self.session = Some(Session {
            client,
            id: id.to_owned(),
            revision: revision.expect("a string").parse().expect("a revision"),
        });
        self.listen(response);
    }

    /// Hears what comes on a response, beside all others.
    fn listen(&self, response: Response) {
        let heard = self.heard.clone();
        tokio::spawn(tell(response, heard));
    }
}

/// Tells what comes on a response.
async fn tell(mut response: Response, heard: mpsc::UnboundedSender<Value>) {
    // At its end, nobody hears any more.
    if response.is_stream() {
        while let Some((_, message)) = response.told().await {
            let _ = heard.send(message);
        }
    } else if response.status != 202 {
        let _ = heard.send(response.json().await);
    }
}

impl Link for Http {
    /// Each request reaches another server anyway.
    async fn restart(&mut self) {}

    async fn say(&mut self, message: Value) {
        if message["method"] == "initialize" {
            return self.initialize(&message).await;
        }
        let heard = self.heard.clone();
        if let Some(session) = self.session.clone() {
            tokio::spawn(async move { tell(session.post(&message).await, heard).await });
        } else {
            let client = Client::of(&self.plan.server());
            tokio::spawn(async move {
                let response = client.post(&mirrored(&message), &message).await;
                tell(response, heard).await;
            });
        }
    }

    async fn hear(&mut self) -> Value {
        self.hears.recv().await.expect("it is kept here")
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}
