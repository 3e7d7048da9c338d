//! Between the client and the front end: the client asks the [`Relay`], which passes each question
//! on as an [`Arrival`] and waits for the reply.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use askback::client::{Answering, CallTarget, Event, Host, HostQuestion};
use askback_core::{
    jsonrpc::ErrorObject,
    protocol::{
        ClientCapabilities, CreateMessageResult, ElicitParams, ElicitResult, ElicitationCapability,
        Implementation, InputRequest, InputResponse, JsonObject, ListRootsResult, Meta,
        RootsCapability, SamplingCapability, codes::USER_REJECTED,
    },
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    folder,
    model::{Ask, Call, Claims, Question, Reply, Why},
    text::Words,
};

/// What a person is called where a model would be named.
const MODEL: &str = "person";

/// Something that reaches a front end from the client.
#[derive(Debug)]
pub enum Arrival {
    /// A question.
    Asked {
        /// Its number.
        id: u64,
        /// What the server calls itself.
        claims: Option<Claims>,
        /// The question.
        question: Box<Question>,
        /// Where the reply goes.
        reply: oneshot::Sender<Reply>,
    },
    /// The question of that number is not waited for any more.
    Withdrawn(u64),
    /// The question of that number was answered in another way.
    Settled(u64),
    /// Something the server said.
    Heard(Event),
    /// Something of ours, in a sentence.
    Told(Words),
}

/// The host that the client knows. Clones lead to the same front end.
#[derive(Debug, Clone)]
pub struct Relay {
    arrivals: mpsc::UnboundedSender<Arrival>,
    last: Arc<AtomicU64>,
}

/// Where a front end takes its arrivals from.
pub type Arrivals = mpsc::UnboundedReceiver<Arrival>;

impl Relay {
    /// A relay, and its other end.
    pub fn new() -> (Self, Arrivals) {
        let (arrivals, received) = mpsc::unbounded_channel();
        let relay = Self {
            arrivals,
            last: Arc::default(),
        };
        (relay, received)
    }

    /// Asks the person to sign in, until that is done or, with the address the browser came back
    /// to, the browser `returned` by itself.
    pub async fn sign_in(
        &self,
        question: Question,
        returned: impl Future<Output = String>,
    ) -> Reply {
        let (waiting, replied) = self.put(None, question);
        let reply = tokio::select! {
            reply = replied => reply.unwrap_or(Reply::Cancelled(Why::Nobody)),
            address = returned => {
                let _ = self.arrivals.send(Arrival::Settled(waiting.id));
                Reply::Returned(address)
            }
        };
        std::mem::forget(waiting);
        reply
    }

    /// Tells the person something of ours.
    pub fn tell(&self, words: impl Into<Words>) {
        // Nobody is there to hear it.
        let _ = self.arrivals.send(Arrival::Told(words.into()));
    }

    async fn ask(&self, asked: HostQuestion) -> Result<InputResponse, ErrorObject> {
        let question = Question {
            call: asked.target.map(|target| match target {
                CallTarget::Tool(name) => Call::Tool(name),
                CallTarget::Prompt(name) => Call::Prompt(name),
                CallTarget::Resource(uri) => Call::Resource(uri),
            }),
            key: asked.key,
            ask: ask(&asked.request, asked.retried),
        };
        let (waiting, replied) = self.put(asked.server.map(claims), question);
        // A front end that is gone replies nothing.
        let reply = replied.await.unwrap_or(Reply::Cancelled(Why::Nobody));
        std::mem::forget(waiting);
        response(&asked.request, standing(reply))
    }

    /// Passes a question on.
    fn put(
        &self,
        claims: Option<Claims>,
        question: Question,
    ) -> (Waiting<'_>, oneshot::Receiver<Reply>) {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (reply, replied) = oneshot::channel();
        let waiting = Waiting {
            id,
            arrivals: &self.arrivals,
        };
        // If the front end is gone, nobody replies, which is seen by whoever waits.
        let _ = self.arrivals.send(Arrival::Asked {
            id,
            claims,
            question: Box::new(question),
            reply,
        });
        (waiting, replied)
    }
}

impl Host for Relay {
    fn capabilities(&self) -> ClientCapabilities {
        let some = || Some(JsonObject::default());
        ClientCapabilities {
            elicitation: Some(ElicitationCapability {
                form: some(),
                url: some(),
            }),
            sampling: Some(SamplingCapability::default()),
            roots: Some(RootsCapability {
                list_changed: Some(true),
            }),
            ..ClientCapabilities::default()
        }
    }

    fn answer(&self, question: HostQuestion) -> Answering<'_> {
        Box::pin(self.ask(question))
    }

    fn event(&self, event: Event) {
        // Nobody is there to hear it.
        let _ = self.arrivals.send(Arrival::Heard(event));
    }
}

/// A question that is waited for: the front end is told when it is not any more.
struct Waiting<'a> {
    id: u64,
    arrivals: &'a mpsc::UnboundedSender<Arrival>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let _ = self.arrivals.send(Arrival::Withdrawn(self.id));
    }
}

/// A reply without the folders that have gone since they were chosen.
fn standing(mut reply: Reply) -> Reply {
    if let Reply::Roots(roots) = &mut reply {
        roots.retain(folder::is_there);
    }
    reply
}

/// What a server calls itself, as the model keeps it.
pub fn claims(server: Implementation) -> Claims {
    Claims {
        name: server.name,
        title: server.title,
        version: server.version,
    }
}

fn ask(request: &InputRequest, retried: bool) -> Ask {
    match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => Ask::Form {
            message: form.message.clone(),
            schema: form.requested_schema.clone(),
        },
        InputRequest::Elicit(ElicitParams::Url(link)) => Ask::Link {
            message: link.message.clone(),
            url: link.url.clone(),
            id: link.elicitation_id.clone(),
            retried,
        },
        InputRequest::Sample(request) => Ask::Sample(request.clone()),
        InputRequest::Roots(_) => Ask::Roots,
    }
}

/// A reply as the protocol says it. Where a question is no elicitation, a no is an error.
fn response(request: &InputRequest, reply: Reply) -> Result<InputResponse, ErrorObject> {
    let elicit = matches!(request, InputRequest::Elicit(_));
    Ok(match reply {
        Reply::Form(content) => InputResponse::Elicit(ElicitResult::accept(content)),
        // An address answers no question of a server.
        Reply::Returned(_) => return Err(rejected("The request was cancelled")),
        Reply::Link => InputResponse::Elicit(ElicitResult::agree()),
        Reply::Text(text) => {
            InputResponse::Sample(Box::new(CreateMessageResult::text(MODEL, text)))
        }
        Reply::Roots(roots) => InputResponse::Roots(ListRootsResult { roots, meta: None }),
        Reply::Declined { reason, .. } if elicit => {
            let mut meta = Meta::default();
            if let Some(reason) = reason {
                meta.set_reason(reason);
            }
            InputResponse::Elicit(ElicitResult {
                meta: meta.boxed(),
                ..ElicitResult::decline()
            })
        }
        Reply::Cancelled(_) if elicit => InputResponse::Elicit(ElicitResult::cancel()),
        Reply::Declined { reason, .. } => {
            let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            return Err(rejected(&format!("User rejected the request{because}")));
        }
        Reply::Cancelled(_) => return Err(rejected("The request was cancelled")),
    })
}

fn rejected(why: &str) -> ErrorObject {
    ErrorObject::new(USER_REJECTED, why)
}

#[cfg(test)]
mod tests {
    use askback_core::{forms::FormSchema, protocol::CreateMessageParams};
    use serde_json::json;

    use super::*;
    use crate::model::By;

    fn declined(reason: Option<&str>) -> Reply {
        Reply::Declined {
            by: By::Person,
            reason: reason.map(str::to_owned),
        }
    }

    // Shows SA25-02.
    #[test]
    fn replies_become_responses() {
        #[track_caller]
        fn check(request: &InputRequest, reply: Reply, expected: serde_json::Value) {
            let value = match response(request, reply) {
                Ok(InputResponse::Elicit(result)) => json!(result),
                Ok(InputResponse::Sample(result)) => json!(result),
                Ok(InputResponse::Roots(result)) => json!(result),
                Err(error) => json!({"code": error.code, "message": error.message}),
            };
            assert_eq!(value, expected);
        }
        let form = InputRequest::Elicit(ElicitParams::form("?", FormSchema::default()));
        let sample = InputRequest::Sample(Box::new(CreateMessageParams::new("?", 10)));
        let roots = InputRequest::Roots(Default::default());
        let content = Reply::Form(Default::default());
        check(&form, content, json!({"action": "accept", "content": {}}));
        check(&form, Reply::Link, json!({"action": "accept"}));
        check(&form, declined(None), json!({"action": "decline"}));
        check(
            &form,
            declined(Some("too dear")),
            json!({"action": "decline", "_meta": {"dev.askback/reason": "too dear"}}),
        );
        check(
            &form,
            Reply::Cancelled(Why::Person),
            json!({"action": "cancel"}),
        );
        let text = json!({
            "role": "assistant", "content": {"type": "text", "text": "hi"},
            "model": "person", "stopReason": "endTurn",
        });
        check(&sample, Reply::Text("hi".to_owned()), text);
        check(
            &sample,
            declined(Some("no")),
            json!({"code": -1, "message": "User rejected the request: no"}),
        );
        check(
            &sample,
            declined(None),
            json!({"code": -1, "message": "User rejected the request"}),
        );
        check(
            &roots,
            declined(None),
            json!({"code": -1, "message": "User rejected the request"}),
        );
        check(&roots, Reply::Roots(Vec::new()), json!({"roots": []}));
    }
}
