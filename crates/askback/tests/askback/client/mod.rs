//! The client, in front of servers of ours and servers that misbehave.

#[cfg(unix)]
mod child;
#[cfg(feature = "http-client")]
pub(crate) mod http;
mod lists;
mod memory;

use std::sync::{Arc, Mutex};

use askback::{
    Limits, Revision,
    client::{Answering, Client, ClientBuilder, Event, Host, HostQuestion, Protocol},
    protocol::{ClientCapabilities, ElicitResult, InputResponse, RawObject},
};
use askback_core::jsonrpc::ErrorObject;
use serde_json::{Value, json};

pub(crate) type Answer = Result<InputResponse, ErrorObject>;

/// A host that answers by a function and writes down what it hears.
#[derive(Clone)]
pub(crate) struct Scripted {
    answer: Arc<dyn Fn(HostQuestion) -> Answering<'static> + Send + Sync>,
    heard: Arc<Mutex<Vec<Event>>>,
}

impl Scripted {
    pub(crate) fn new(answer: impl Fn(HostQuestion) -> Answer + Send + Sync + 'static) -> Self {
        Self::waiting(move |question| {
            let answer = answer(question);
            Box::pin(async { answer })
        })
    }

    pub(crate) fn waiting(
        answer: impl Fn(HostQuestion) -> Answering<'static> + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Arc::new(answer),
            heard: Arc::default(),
        }
    }

    pub(crate) fn heard(&self) -> Vec<Event> {
        self.heard.lock().unwrap().clone()
    }

    fn lines(&self) -> Vec<String> {
        let lines = self.heard().into_iter().filter_map(|event| match event {
            Event::ServerStderr(line) => Some(line),
            _ => None,
        });
        lines.collect()
    }
}

impl Host for Scripted {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({
            "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": true},
        }))
        .unwrap()
    }

    fn answer(&self, question: HostQuestion) -> Answering<'_> {
        (self.answer)(question)
    }

    fn event(&self, event: Event) {
        self.heard.lock().unwrap().push(event);
    }
}

pub(crate) fn builder(protocol: Option<Revision>) -> ClientBuilder {
    let protocol = protocol.map_or(Protocol::Auto, Protocol::Only);
    Client::builder("test", "1").protocol(protocol)
}

pub(crate) fn accept(content: Value) -> Answer {
    let Value::Object(content) = content else {
        panic!("a form is an object")
    };
    Ok(InputResponse::Elicit(ElicitResult::accept(content)))
}

fn arguments(value: &Value) -> RawObject {
    RawObject::new(value).unwrap()
}

pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}
