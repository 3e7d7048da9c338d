//! Connects a client and a front end: the client asks the [`Relay`], which sends each question as
//! an [`Arrival`] and waits for the reply.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use askback::{
    Error, Result,
    client::{CallId, ClientBuilder, Event, HostQuestion, RefusedQuestion},
    forms::FormSchema,
    protocol::{
        AnswerSource, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams,
        ElicitParams, ElicitResult, ElicitUrlParams, HasMeta, Implementation, InputRequest,
        InputResponse, ListRootsResult, Meta, RequestParams, Root, codes::USER_REJECTED,
    },
};
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::{
    arrivals::{self, Sender},
    ending::QuestionEnd,
    folder,
    model::{Ask, Call, PERSON, Question, Refused, Reply, Typed, Why},
    receipts::{Receipts, ShownReply, add_receipt},
    tasks::Tasks,
    text::{Words, given},
    wire::Row,
    words,
};

pub use crate::{
    arrivals::{Arrival, Arrivals, Surplus},
    question_link::QuestionLink,
    server_id::ServerId,
};

/// Passes the questions of one server's client to a front end. Clones share the front end.
#[derive(Debug, Clone)]
pub struct Relay {
    server: ServerId,
    arrivals: Sender,
    last: Arc<AtomicU64>,
    visited: Arc<Mutex<VecDeque<Visit>>>,
    tasks: Tasks,
    receipts: Option<Arc<dyn Receipts>>,
}

/// A link that the user has visited, in a call that will be sent again.
#[derive(Debug, PartialEq)]
struct Visit {
    server: ServerId,
    call: CallId,
    key: Option<String>,
    url: String,
}

/// The maximum number of remembered visits. The oldest are forgotten, and their links are asked
/// about as new ones.
const VISITS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    pub forms: bool,
    pub links: bool,
    pub sampling: bool,
    pub roots: bool,
}

impl Relay {
    /// Creates the relay of the first server and the receiving end.
    pub fn new() -> (Self, Arrivals) {
        let (arrivals, received) = arrivals::queue();
        let relay = Self {
            server: ServerId::default(),
            arrivals,
            last: Arc::default(),
            visited: Arc::default(),
            tasks: Tasks::default(),
            receipts: None,
        };
        (relay, received)
    }

    /// The calls that run in the background. Events about them go there and not to the front end,
    /// and questions for them name them.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The relay of another server, to the same front end. They number questions together.
    #[must_use]
    pub fn of(&self, server: ServerId) -> Self {
        Self {
            server,
            arrivals: self.arrivals.another(),
            receipts: None,
            ..self.clone()
        }
    }

    #[must_use]
    pub fn with_receipts(mut self, receipts: Arc<dyn Receipts>) -> Self {
        self.receipts = Some(receipts);
        self
    }

    #[must_use]
    pub fn without_receipts(mut self) -> Self {
        self.receipts = None;
        self
    }

    fn send(&self, arrival: Arrival) {
        self.arrivals.send(self.server, arrival);
    }

    /// Asks the user to sign in. Ends with the user's reply, or when `returned` completes with the
    /// address to which the browser was redirected.
    pub async fn sign_in(
        &self,
        question: Question,
        returned: impl Future<Output = String>,
    ) -> Reply {
        let (waiting, replied) = self.put(None, question, None);
        let reply = tokio::select! {
            reply = replied => reply.map_or(Reply::Cancelled(Why::Nobody), |shown| shown.reply),
            address = returned => {
                self.send(Arrival::Settled(waiting.id));
                Reply::Returned(address)
            }
        };
        std::mem::forget(waiting);
        reply
    }

    /// Asks the user a question of this program, outside of any call.
    pub async fn confirm(&self, question: Question) -> Reply {
        self.ask(None, question, None).await.reply
    }

    /// Shows a line about a message.
    pub fn trace(&self, row: Row) {
        self.send(Arrival::Travelled(row));
    }

    pub fn tell(&self, words: impl Into<Words>) {
        self.send(Arrival::Told(words.into()));
    }

    /// Connects a client's questions (of the kinds in `abilities`) and events to the front end.
    pub fn answering(&self, client: ClientBuilder, abilities: Abilities) -> ClientBuilder {
        let relays = [(); 5].map(|()| self.clone());
        let [forms, links, models, folders, ears] = relays;
        let mut client = client.on_event(move |event| ears.event(event));
        if abilities.forms {
            client = client
                .elicits_any_form()
                .on_elicit(move |form| forms.clone().fill(form));
        }
        if abilities.links {
            client = client.on_elicit_url(move |link| links.clone().open(link));
        }
        if abilities.sampling {
            client = client.on_sample(move |request| models.clone().sample(request));
        }
        if abilities.roots {
            client = client.on_roots(move |request| folders.clone().roots(request));
        }
        client
    }

    /// Fails if the reply is not for a form.
    pub async fn fill(self, form: HostQuestion<ElicitFormParams>) -> Result<ElicitResult> {
        let question = ElicitParams::Form(form.request.clone());
        self.elicit(form.with(question)).await
    }

    /// Fails if the reply is not for a link.
    pub async fn open(self, link: HostQuestion<ElicitUrlParams>) -> Result<ElicitResult> {
        let question = ElicitParams::Url(link.request.clone());
        self.elicit(link.with(question)).await
    }

    async fn elicit(&self, asked: HostQuestion<ElicitParams>) -> Result<ElicitResult> {
        let question = asked.request.clone();
        let request = InputRequest::Elicit(question.clone());
        let shown = self.reply_to(asked.with(request), None).await;
        self.elicited(&question, shown)
    }

    /// The answer to a question, with a receipt if the question asks for one.
    fn elicited(&self, question: &ElicitParams, shown: ShownReply) -> Result<ElicitResult> {
        let mut answer = elicited(shown.reply)?;
        let has_challenge = question
            .meta()
            .is_some_and(|meta| meta.challenge().is_some());
        // A cancellation without a user or a rule needs no receipt.
        let is_answered = shown.showing.is_some() || answer.action != ElicitAction::Cancel;
        if let (Some(receipts), true) = (&self.receipts, has_challenge && is_answered) {
            let added = add_receipt(&**receipts, question, &mut answer, shown.showing);
            if let Err(error) = added {
                self.tell(words!(
                    "The answer is sent without a receipt: {}",
                    given(error)
                ));
            }
        }
        Ok(answer)
    }

    /// Asks a question of any kind. If no user answered, the answer says so.
    ///
    /// # Errors
    ///
    /// As the methods for each kind of question.
    pub async fn answer(self, question: HostQuestion) -> Result<InputResponse> {
        let request = question.request.clone();
        let shown = self.reply_to(question, None).await;
        let is_unasked = matches!(shown.reply, Reply::Cancelled(Why::Nobody | Why::Unmatched));
        Ok(match self.response(&request, shown)? {
            InputResponse::Elicit(answer) if is_unasked => {
                InputResponse::Elicit(answer.answered_by(AnswerSource::Client))
            }
            response => response,
        })
    }

    fn leaves(&self, visit: &Visit) -> bool {
        let mut visited = self.visited.lock().unwrap_or_else(PoisonError::into_inner);
        let at = visited.iter().position(|known| known == visit);
        at.is_some_and(|at| visited.remove(at).is_some())
    }

    fn visits(&self, visit: Visit) {
        let mut visited = self.visited.lock().unwrap_or_else(PoisonError::into_inner);
        if visited.len() >= VISITS {
            visited.pop_front();
        }
        visited.push_back(visit);
    }

    /// Fails if the user declines or cancels.
    pub async fn sample(
        self,
        request: HostQuestion<CreateMessageParams>,
    ) -> Result<CreateMessageResult> {
        let asked = InputRequest::Sample(Box::new(request.request.clone()));
        sampled(self.reply_to(request.with(asked), None).await.reply)
    }

    /// Fails if the user declines or cancels.
    pub async fn roots(self, request: HostQuestion<RequestParams>) -> Result<Vec<Root>> {
        let asked = InputRequest::Roots(request.request.clone());
        listed(self.reply_to(request.with(asked), None).await.reply)
    }

    /// Asks a question. `link` connects it with the program that holds it.
    pub(crate) async fn reply_to(
        &self,
        asked: HostQuestion,
        link: Option<QuestionLink>,
    ) -> ShownReply {
        let call = asked.call.filter(|_| asked.retried);
        let visit = match (&asked.request, call) {
            (InputRequest::Elicit(ElicitParams::Url(url)), Some(call)) => Some(Visit {
                server: self.server,
                call,
                key: asked.key.clone(),
                url: url.url.clone(),
            }),
            _ => None,
        };
        let again = visit.as_ref().is_some_and(|visit| self.leaves(visit));
        let claims = asked.server.clone();
        let shown = self.ask(claims, self.question(asked, again), link).await;
        if let (Reply::Link, Some(visit)) = (&shown.reply, visit) {
            self.visits(visit);
        }
        shown
    }

    /// `again` says that the user already agreed to its link.
    pub(crate) fn question(&self, asked: HostQuestion, again: bool) -> Question {
        let ask = match asked.request {
            InputRequest::Elicit(ElicitParams::Form(form)) => Ask::Form {
                message: form.message,
                schema: FormSchema::clone(&form.requested_schema),
            },
            InputRequest::Elicit(ElicitParams::Url(url)) => Ask::Link {
                message: url.message,
                url: url.url,
                id: url.elicitation_id,
                retried: asked.retried,
                again,
            },
            InputRequest::Sample(request) => Ask::Sample(request),
            InputRequest::Roots(_) => Ask::Roots,
        };
        Question {
            call: asked
                .target
                .map(|target| self.tasks.named(self.server, asked.call, target.into())),
            key: asked.key,
            ask,
        }
    }

    pub(crate) fn response(
        &self,
        request: &InputRequest,
        shown: ShownReply,
    ) -> Result<InputResponse> {
        Ok(match request {
            InputRequest::Elicit(question) => {
                InputResponse::Elicit(self.elicited(question, shown)?)
            }
            InputRequest::Sample(_) => InputResponse::Sample(Box::new(sampled(shown.reply)?)),
            InputRequest::Roots(_) => InputResponse::Roots(ListRootsResult {
                roots: listed(shown.reply)?,
                ..ListRootsResult::default()
            }),
        })
    }

    pub fn event(&self, event: Event) {
        if let Some(event) = self.tasks.hear(self.server, event) {
            self.send(Arrival::Heard(event));
        }
    }

    pub(crate) fn retype(&self, question: u64, fields: Typed) {
        self.send(Arrival::Typed(question, fields));
    }

    async fn ask(
        &self,
        claims: Option<Implementation>,
        question: Question,
        link: Option<QuestionLink>,
    ) -> ShownReply {
        let (waiting, replied) = self.put(claims, question, link);
        // The front end is gone.
        let reply = replied.await.unwrap_or(ShownReply {
            reply: Reply::Cancelled(Why::Nobody),
            showing: None,
        });
        std::mem::forget(waiting);
        reply
    }

    fn put(
        &self,
        claims: Option<Implementation>,
        question: Question,
        link: Option<QuestionLink>,
    ) -> (WaitingQuestion<'_>, oneshot::Receiver<ShownReply>) {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (reply, replied) = oneshot::channel();
        let end = link.as_ref().map(|link| Arc::clone(&link.end));
        let waiting = WaitingQuestion {
            id,
            relay: self,
            end,
        };
        // If the front end is gone, the caller sees that the reply channel is closed.
        self.send(Arrival::Asked {
            id,
            claims,
            question: Box::new(question),
            reply,
            link,
        });
        (waiting, replied)
    }
}

/// An open question. On drop, it is withdrawn from the front end.
struct WaitingQuestion<'a> {
    id: u64,
    relay: &'a Relay,
    end: Option<Arc<OnceLock<QuestionEnd>>>,
}

impl Drop for WaitingQuestion<'_> {
    fn drop(&mut self) {
        let end = self.end.as_ref().and_then(|end| end.get());
        let end = end.copied().unwrap_or_default();
        self.relay.send(Arrival::Ended(self.id, end));
    }
}

/// Converts the question of an [`Event::Refused`].
pub(crate) fn refused(question: RefusedQuestion) -> Refused {
    #[derive(Deserialize)]
    struct RefusedParams {
        message: Option<String>,
    }
    let asked = question.params.and_then(|params| params.decode().ok());
    Refused {
        call: question.target.map(Call::from),
        what: match question.method.as_str() {
            "roots/list" => "for folders in a way that askback does not support",
            "sampling/createMessage" => {
                "for the reply of a model in a way that askback does not support"
            }
            _ => "something that cannot be shown here",
        },
        message: asked.and_then(|asked: RefusedParams| asked.message),
        // The client itself reports a flood or a question that is too long.
        is_told: question.error.code == USER_REJECTED,
        reason: question.error.message,
    }
}

fn elicited(reply: Reply) -> Result<ElicitResult> {
    Ok(match reply {
        Reply::Form(content) => ElicitResult::accept(content),
        Reply::Link => ElicitResult::agree(),
        Reply::Declined { reason, .. } => {
            let mut meta = Meta::default();
            if let Some(reason) = reason {
                meta.set_reason(reason);
            }
            ElicitResult {
                meta: meta.boxed(),
                ..ElicitResult::decline()
            }
        }
        Reply::Cancelled(_) => ElicitResult::cancel(),
        other => return Err(no(other)),
    })
}

fn sampled(reply: Reply) -> Result<CreateMessageResult> {
    match reply {
        Reply::Text(text) => Ok(CreateMessageResult::text(PERSON, text)),
        Reply::Sampled(reply) => Ok(*reply),
        other => Err(no(other)),
    }
}

/// The folders in a reply, without those that no longer exist.
fn listed(reply: Reply) -> Result<Vec<Root>> {
    match reply {
        Reply::Roots(mut roots) => {
            roots.retain(folder::is_there);
            Ok(roots)
        }
        other => Err(no(other)),
    }
}

/// The error for a refusal, if the protocol has no such answer, or for a reply of the wrong kind.
fn no(reply: Reply) -> Error {
    Error::not_done(match reply {
        Reply::Declined { reason, .. } => {
            let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            format!("User rejected the request{because}")
        }
        _ => "The request was cancelled".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
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
        fn check<T: Serialize>(response: Result<T>, expected: serde_json::Value) {
            let value = match response {
                Ok(result) => json!(result),
                Err(error) => {
                    assert!(error.is_not_done());
                    json!(error.message())
                }
            };
            assert_eq!(value, expected);
        }
        let content = Reply::Form(Default::default());
        check(
            elicited(content),
            json!({"action": "accept", "content": {}}),
        );
        check(elicited(Reply::Link), json!({"action": "accept"}));
        check(elicited(declined(None)), json!({"action": "decline"}));
        check(
            elicited(declined(Some("too dear"))),
            json!({"action": "decline", "_meta": {"dev.askback/reason": "too dear"}}),
        );
        let cancelled = || Reply::Cancelled(Why::Person);
        check(elicited(cancelled()), json!({"action": "cancel"}));
        let text = json!({
            "role": "assistant", "content": {"type": "text", "text": "hi"},
            "model": "person", "stopReason": "endTurn",
        });
        check(sampled(Reply::Text("hi".to_owned())), text);
        check(
            sampled(declined(Some("no"))),
            json!("User rejected the request: no"),
        );
        check(sampled(declined(None)), json!("User rejected the request"));
        check(sampled(cancelled()), json!("The request was cancelled"));
        check(listed(declined(None)), json!("User rejected the request"));
        check(listed(Reply::Roots(Vec::new())), json!([]));
    }
}
