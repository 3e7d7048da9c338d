//! The client, at askback servers and at servers that misbehave.

mod calls;
#[cfg(unix)]
mod child;
mod host;
#[cfg(feature = "http-client")]
pub(crate) mod http;
mod lists;
mod memory;
#[cfg(unix)]
mod several;
mod wire;

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
};

use askback::{
    Error, Limits, Revision,
    client::{Client, ClientBuilder, Event, HostQuestion, Protocol},
    protocol::{ElicitParams, ElicitResult, InputRequest, InputResponse},
};
use askback_core::jsonrpc::ErrorObject;
use serde_json::Value;

pub(crate) type Answer = Result<InputResponse, ErrorObject>;

pub(crate) type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A host that answers with a function and logs what it is told.
#[derive(Clone)]
pub(crate) struct Scripted {
    answer: Arc<dyn Fn(HostQuestion) -> Answering + Send + Sync>,
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
        answer: impl Fn(HostQuestion) -> Answering + Send + Sync + 'static,
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

pub(crate) trait Hosted {
    fn host(self, host: Scripted) -> Self;
}

impl Hosted for ClientBuilder {
    fn host(self, host: Scripted) -> Self {
        let Scripted { answer, heard } = host;
        let [forms, links, models, folders] = [(); 4].map(|()| Arc::clone(&answer));
        self.on_elicit(move |question| {
            let request = ElicitParams::Form(question.request.clone()).into();
            elicited(forms(question.with(request)))
        })
        .on_elicit_url(move |question| {
            let request = ElicitParams::Url(question.request.clone()).into();
            elicited(links(question.with(request)))
        })
        .on_sample(move |question| {
            let request = question.request.clone().into();
            let answer = models(question.with(request));
            async move {
                match answer.await.map_err(Error::protocol)? {
                    InputResponse::Sample(message) => Ok(*message),
                    other => panic!("{other:?} is no message"),
                }
            }
        })
        .on_roots(move |question| {
            let request = InputRequest::Roots(question.request.clone());
            let answer = folders(question.with(request));
            async move {
                match answer.await.map_err(Error::protocol)? {
                    InputResponse::Roots(listed) => Ok(listed.roots),
                    other => panic!("{other:?} is no list of roots"),
                }
            }
        })
        .on_event(move |event| heard.lock().unwrap().push(event))
    }
}

async fn elicited(answer: Answering) -> askback::Result<ElicitResult> {
    match answer.await.map_err(Error::protocol)? {
        InputResponse::Elicit(result) => Ok(result),
        other => panic!("{other:?} is no answer of a person"),
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

pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}
