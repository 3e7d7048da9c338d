//! Several processes that serve together. A call that waits for a user is parked in a journal, and
//! any process continues it.
//!
//! A call in a session follows the path of the stateless era: its handler runs until it asks, and
//! is dropped. The questions and the sealed state, which a stateless client would receive, go to
//! the journal. The answer continues the call like a retry in a new round, with the same code.

mod calls;
pub(super) mod hints;
pub(super) mod keys;
mod names;
mod node;
mod record;
pub(super) mod tasks;
mod watch;

use std::{any::Any, collections::BTreeMap, sync::Arc, time::Duration};

pub use self::node::Fleet;
pub(super) use self::{calls::FleetCalls, tasks::begin_task};
pub(crate) use self::{
    names::{AskName, call_text, read_call, read_request_name, request_digest, request_name},
    node::{Follower, Node},
    record::{LogMessage, WaitingNote, opened, sealed},
    watch::POLL,
};
use self::{
    names::{MAC, is_given, mac},
    node::{LEASE, LeaseGuard},
    record::{ANSWER, AskedQuestion, PrincipalRecord, RECORD, Record, notes_since, place_in},
    tasks::WorkingTask,
};
use super::{Shared, call::waiting_for, dispatch, trace};
use crate::{
    clock::millis,
    ctx::{Arguments, CallPeer, FlowPause, Incoming, ParkingPeer, Peer},
    error::{Error, Result},
    flow::{BoxFuture, ProgressState},
    journal::{
        AnswerOutcome, AnswerRequest, CallId, Event, FinishRequest, ParkOutcome, ParkRequest,
        SessionId, TakenCall,
    },
    store::{Owner, StoreError},
};
use askback_core::{
    ask::{Millis, Principal, Reply},
    engine::server::{self as engine, Call, ClientLocation, Origin},
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{
        CallTarget, CallToolParams, CancelledParams, ClientRequest, GetPromptParams, InputRequest,
        InputRequiredResult, InputResponses, RawJson, RawObject, ReadResourceParams,
        ServerNotification,
    },
    revision::Revision,
};

#[derive(Clone)]
pub(crate) struct CallRecord {
    pub(crate) call: CallId,
    pub(crate) session: SessionId,
    pub(crate) id: RequestId,
    /// The epoch of this process's lease; 0 if the call is not in the journal yet.
    epoch: u32,
    asked: BTreeMap<u32, AskedQuestion>,
    next_ask: u32,
    /// The questions whose answers this process has.
    settled: Vec<u32>,
    pub(crate) next_event: u64,
    task: Option<WorkingTask>,
    /// The progress that was recorded, and notices since then.
    progress: ProgressState,
}

impl CallRecord {
    pub(crate) fn new(call: CallId, session: SessionId, id: RequestId, next_event: u64) -> Self {
        Self {
            call,
            session,
            id,
            epoch: 0,
            asked: BTreeMap::new(),
            next_ask: 0,
            settled: Vec::new(),
            next_event,
            task: None,
            progress: ProgressState::default(),
        }
    }

    /// The journal's key for the request that this call answers. A task outlives its request.
    fn request(&self) -> [u8; 16] {
        match self.task {
            Some(_) => self.call.0,
            None => request_digest(self.session, &self.id),
        }
    }

    fn record(
        &self,
        incoming: &Incoming,
        state: Option<String>,
        asked: BTreeMap<u32, AskedQuestion>,
        answer_by: Millis,
        asked_at: Millis,
    ) -> Result<Record> {
        let origin = &incoming.origin;
        Ok(Record {
            id: self.id.clone(),
            method: incoming.method.to_owned(),
            target: incoming.target.as_str().to_owned(),
            arguments: match incoming.arguments() {
                Arguments::Object(object) => RawJson::new(object)?,
                Arguments::Texts(texts) => RawJson::new(texts)?,
            },
            meta: incoming.meta.said.clone(),
            token: origin.progress_token.clone(),
            revision: origin.revision.as_str().to_owned(),
            client: origin.client.clone(),
            capabilities: origin.capabilities.clone(),
            principal: origin.principal.as_deref().map(PrincipalRecord::of),
            state,
            asked,
            next_ask: self.next_ask,
            answer_by,
            task: self.task.as_ref().map(WorkingTask::facts),
            asked_at,
            progress: self.progress,
        })
    }

    fn open(&self) -> impl Iterator<Item = u32> {
        let asked = self.asked.keys().copied();
        asked.filter(|number| !self.settled.contains(number))
    }

    fn withdrawal(&self, shared: &Shared, number: u32, at: u64) -> Result<LogMessage> {
        let name = AskName {
            call: self.call,
            number,
        };
        let cancelled = ServerNotification::Cancelled(CancelledParams {
            request_id: Some(name.write(shared, self.session)?),
            reason: None,
            meta: None,
        });
        Ok(LogMessage::new(at, cancelled.to_vec()))
    }
}

/// Parks a call with the questions of its round. Returns the call if an answer came meanwhile.
pub(crate) async fn park(
    shared: &Arc<Shared>,
    node: &Node,
    mut standing: CallRecord,
    incoming: &Incoming,
    round: InputRequiredResult,
    pause: FlowPause,
) -> Result<Option<TakenCall>> {
    let origin = &incoming.origin;
    let now = shared.clock().now();
    standing.progress = pause.progress.behind(standing.progress);
    let whose = (standing.session, standing.call);
    let mut open = BTreeMap::new();
    let mut messages = Vec::new();
    let mut events = Vec::new();
    for (key, question) in round.input_requests.unwrap_or_default() {
        let request = RawJson::new(&question)?;
        let known = standing.asked.iter().find(|(number, asked)| {
            asked.key == key && asked.request == request && !standing.settled.contains(number)
        });
        if let Some((number, asked)) = known {
            // The client has this question, and may be about to answer.
            open.insert(*number, asked.clone());
            continue;
        }
        let number = standing.next_ask;
        standing.next_ask += 1;
        if standing.task.is_none() {
            let name = AskName {
                call: standing.call,
                number,
            };
            let id = name.write(shared, standing.session)?;
            let token = origin.progress_token.clone();
            let waiting = token.map(|token| WaitingNote {
                token,
                about: waiting_for(&question),
                asked_at: now,
                progress: standing.progress,
            });
            let message = engine::write_question(origin, &id, &key, question);
            let message = LogMessage {
                waiting,
                ..LogMessage::new(standing.next_event + events.len() as u64, message)
            };
            events.push(message.seal(shared, whose, Some(number))?);
            messages.push(message);
        }
        open.insert(number, AskedQuestion { key, request });
    }
    // Questions that are no longer asked are withdrawn.
    let mut settled = standing.settled.clone();
    for number in standing.open().filter(|number| !open.contains_key(number)) {
        settled.push(number);
        // The status of a task lists its open questions.
        if standing.task.is_none() {
            let at = standing.next_event + events.len() as u64;
            let message = standing.withdrawal(shared, number, at)?;
            events.push(message.seal(shared, whose, None)?);
            messages.push(message);
        }
    }
    let wake = pause.wake;
    let limits = &incoming.limits.asking;
    // The questions of a task can be answered until the task expires.
    let (answer_by, wake, expires) = match &standing.task {
        Some(task) => {
            let expires = task.expires(shared);
            (expires, wake, expires)
        }
        None => {
            let answer_by = now.saturating_add(millis(limits.answer));
            let wake = wake.map_or(answer_by, |wake| wake.min(answer_by));
            let expires = answer_by.saturating_add(millis(limits.round_ttl));
            (answer_by, Some(wake), expires)
        }
    };
    let status = standing.task.as_ref().map(|task| {
        let status = task.status(now, tasks::Stage::Open(open.clone()));
        status.seal(shared, whose)
    });
    let status = status.transpose()?;
    let record = standing.record(incoming, round.request_state, open, answer_by, now)?;
    let record = sealed(shared, RECORD, &place_in(whose, "record"), &record)?;
    let request = ParkRequest {
        call: standing.call,
        session: standing.session,
        request: standing.request(),
        owner: origin.principal.as_deref().map(Owner::of),
        epoch: standing.epoch,
        record: &record,
        status: status.as_deref(),
        settled: &settled,
        events: &events,
        first_event: standing.next_event,
        wake,
        keep: None,
        now,
        expires,
    };
    let max_wait = incoming.limits.wire.request;
    let parked = node.when_reachable(max_wait, || node.journal.park(request));
    let parked = parked.await.map_err(cannot_ask)?;
    let is_new = standing.epoch == 0;
    match parked {
        // Other processes do not know a new call, and a task has no readers.
        ParkOutcome::Waiting | ParkOutcome::Answered(_) if is_new || standing.task.is_some() => {
            node.give(standing.call, &messages);
        }
        ParkOutcome::Waiting | ParkOutcome::Answered(_) => {
            node.hint_added(standing.call, &messages);
        }
        ParkOutcome::Lost => node.hint(standing.call),
    }
    if let Some(task) = &standing.task {
        task.tell_changed(shared);
    }
    Ok(match parked {
        ParkOutcome::Waiting => None,
        ParkOutcome::Answered(taken) => Some(taken),
        ParkOutcome::Lost => {
            tracing::debug!("another process has taken a call over");
            None
        }
    })
}

fn cannot_ask(error: StoreError) -> Error {
    tracing::error!(%error, "a question could not be written down");
    Error::new("the server cannot ask now: what it asks could not be written down; try again later")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeliveryOutcome {
    /// The answer was recorded, or the question was answered before.
    Accepted,
    /// The question does not exist (any more).
    Unknown,
    Unavailable,
}

/// The sender of a message that continues a call: its principal, and what its transport gives to
/// handlers.
pub(crate) type MessageSender<'a> = (
    Option<&'a Arc<Principal>>,
    Option<&'a Arc<dyn Any + Send + Sync>>,
);

pub(crate) async fn answer(
    shared: &Arc<Shared>,
    session: SessionId,
    cause: MessageSender<'_>,
    name: &str,
    outcome: Result<RawJson, ErrorObject>,
) -> DeliveryOutcome {
    let Some(node) = &shared.fleet else {
        return DeliveryOutcome::Unknown;
    };
    let Some(name) = AskName::read(shared, session, name) else {
        return DeliveryOutcome::Unknown;
    };
    answer_to(shared, node, (session, name), cause, outcome, LEASE).await
}

/// If the journal cannot be reached, waits for it for at most `max_wait`.
async fn answer_to(
    shared: &Arc<Shared>,
    node: &Arc<Node>,
    (session, AskName { call, number }): (SessionId, AskName),
    cause: MessageSender<'_>,
    outcome: Result<RawJson, ErrorObject>,
    max_wait: Duration,
) -> DeliveryOutcome {
    let place = place_in((session, call), format_args!("answer.{number}"));
    let given = Reply::from(outcome);
    let Ok(reply) = sealed(shared, ANSWER, &place, &given) else {
        return DeliveryOutcome::Unavailable;
    };
    // Each attempt has its own lease: the first one may be over when the journal can be reached again.
    let answer = || {
        let now = shared.clock().now();
        node.journal.answer(AnswerRequest {
            call,
            session,
            ask: number,
            reply: &reply,
            lease: node.lease(now),
            now,
        })
    };
    // Its lease is renewed here, also if the server has no HTTP.
    node.watch(shared);
    // Most clients do not send an answer again.
    let mut answered = node.when_reachable(max_wait, answer).await;
    for pause in ANSWER_PAUSES {
        if matches!(&answered, Err(error) if !matches!(error, StoreError::Unreachable(_))) {
            tokio::time::sleep(pause).await;
            answered = node.when_reachable(max_wait, answer).await;
        }
    }
    match answered {
        Ok(AnswerOutcome::Unknown) => DeliveryOutcome::Unknown,
        Ok(AnswerOutcome::Duplicate | AnswerOutcome::Kept) => DeliveryOutcome::Accepted,
        Ok(AnswerOutcome::Taken(taken)) => {
            let answer = GivenAnswer {
                number,
                sealed: &reply,
                reply: given,
                cause,
            };
            go_on(shared, node, taken, Some(answer));
            DeliveryOutcome::Accepted
        }
        Err(error) => {
            tracing::error!(%error, "an answer could not be written down");
            DeliveryOutcome::Unavailable
        }
    }
}

/// An answer that came to this process, and need not be opened.
struct GivenAnswer<'a> {
    number: u32,
    sealed: &'a [u8],
    reply: Reply,
    cause: MessageSender<'a>,
}

fn go_on(
    shared: &Arc<Shared>,
    node: &Arc<Node>,
    taken: TakenCall,
    answer: Option<GivenAnswer<'_>>,
) {
    let (call, epoch, was_interrupted) = (taken.call, taken.epoch, taken.was_interrupted);
    if was_interrupted {
        trace::count_takeover();
        tracing::info!("a call continues here: its process has ended or gave it up");
    }
    let cause = answer.as_ref().map(|answer| answer.cause);
    let mut continuation = Continuation::read(shared, taken, answer);
    if let (Some((principal, attachment)), Some(read)) = (cause, &mut continuation) {
        let is_theirs = read.call.origin.principal.as_ref() == principal;
        Arc::make_mut(&mut read.call.origin).attachment = attachment.cloned();
        continuation = continuation.filter(|_| is_theirs);
    }
    let (shared, node) = (Arc::clone(shared), Arc::clone(node));
    let Some(continuation) = continuation else {
        // If the call did not end here, processes would take it again and again.
        tracing::error!("a call in the journal cannot be read, or is another principal's: it ends");
        tokio::spawn(async move {
            finish(&shared, &node, (call, epoch), &[], None).await;
            node.hint(call);
        });
        return;
    };
    let lease = LeaseGuard::new(&node, &continuation.standing);
    let task = continuation.standing.task.clone();
    match task.filter(|task| was_interrupted && !task.is_durable()) {
        Some(task) => lease.work(async move {
            let whose = (continuation.standing.session, call);
            task.end(&shared, &node, whose, epoch, Err(tasks::interrupted()))
                .await;
        }),
        None => lease.work(run(shared, node, continuation)),
    }
}

async fn run(shared: Arc<Shared>, node: Arc<Node>, continuation: Continuation) {
    let Continuation {
        call,
        standing,
        errors,
    } = continuation;
    let (whose, epoch) = ((standing.session, standing.call), standing.epoch);
    let request = call.id.clone();
    let task = standing.task.clone();
    let peer = CallPeer::Journal(Arc::new(JournalPeer {
        shared: Arc::clone(&shared),
        node: Arc::clone(&node),
        standing: standing.clone(),
    }));
    if let Some(task) = task {
        let at_once = task.is_at_once();
        let work = dispatch::work_again(Arc::clone(&shared), call, peer, errors, at_once);
        // `None`: it is parked again.
        if let Some(outcome) = work.await {
            task.end(&shared, &node, whose, epoch, outcome).await;
        }
        return;
    }
    let answered = dispatch::answer_again(Arc::clone(&shared), call, peer, errors).await;
    let Some(answered) = answered else {
        return;
    };
    let last = |message, mut messages: Vec<LogMessage>| {
        let at = standing.next_event + messages.len() as u64;
        messages.push(LogMessage {
            is_last: true,
            ..LogMessage::new(at, message)
        });
        let events = messages
            .iter()
            .map(|it| it.seal(&shared, whose, None))
            .collect::<Result<Vec<_>>>()?;
        Ok((messages, events))
    };
    // Open questions are withdrawn.
    let withdrawn = (standing.next_event..).zip(standing.open());
    let withdrawn = withdrawn.map(|(at, number)| standing.withdrawal(&shared, number, at));
    let withdrawn = withdrawn.collect::<Result<_>>();
    let logged = withdrawn.and_then(|withdrawn| last(answered.message.into_vec(), withdrawn));
    let logged = logged.or_else(|error: Error| {
        tracing::error!(%error, "the result of a call could not be written down");
        let error = ErrorObject::internal("the result could not be written down");
        last(jsonrpc::write_error(Some(&request), &error), Vec::new())
    });
    let (messages, events) = logged.unwrap_or_default();
    let is_stored = finish(&shared, &node, (whose.1, epoch), &events, None).await;
    match (&*messages, &*events) {
        ([last], [event]) if is_stored => node.hint_last(whose.1, last, &event.message),
        ([_, ..], _) if is_stored => node.hint_added(whose.1, &messages),
        _ => node.hint(whose.1),
    }
}

/// The pauses between attempts to record an answer in a journal that fails.
const ANSWER_PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// The pauses between attempts to record the end of a call. After that, another process continues
/// it.
const FINISH_PAUSES: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
];

/// Returns whether the end is recorded. The caller tells the readers of the log.
async fn finish(
    shared: &Shared,
    node: &Node,
    (call, epoch): (CallId, u32),
    events: &[Event],
    status: Option<(&[u8], Millis)>,
) -> bool {
    let resume = millis(shared.limits().http.resume);
    let expires = || shared.clock().now().saturating_add(resume);
    let mut pauses = FINISH_PAUSES.iter();
    loop {
        let end = FinishRequest {
            call,
            epoch: Some(epoch),
            events,
            status: status.map(|(status, _)| status),
            expires: status.map_or_else(expires, |(_, expires)| expires),
        };
        let error = match node.journal.finish(end).await {
            Ok(true) => return true,
            Ok(false) => {
                tracing::debug!("another process has taken a call over");
                return false;
            }
            Err(error) => error,
        };
        let Some(pause) = pauses.next() else {
            tracing::error!(%error, "the result of a call could not be written down");
            return false;
        };
        tokio::time::sleep(*pause).await;
    }
}

/// Removes a call that was cancelled while it was being recorded.
pub(crate) async fn end_cancelled(shared: &Shared, node: &Node, call: CallId) {
    let end = FinishRequest {
        call,
        epoch: None,
        events: &[],
        status: None,
        expires: shared.clock().now(),
    };
    // On failure, the call ends when its answers are overdue.
    let _ = node.heard(node.journal.finish(end).await);
}

struct Continuation {
    call: Call,
    standing: CallRecord,
    errors: BTreeMap<String, Reply>,
}

impl Continuation {
    fn read(shared: &Shared, taken: TakenCall, mut given: Option<GivenAnswer<'_>>) -> Option<Self> {
        let whose = (taken.session, taken.call);
        let record: Record = opened(shared, RECORD, &place_in(whose, "record"), &taken.record)?;
        let revision: Revision = record.revision.parse().ok()?;
        let origin = Origin {
            revision,
            client: record.client,
            capabilities: record.capabilities,
            log_level: None,
            progress_token: record.token,
            principal: record.principal.map(|it| Arc::new(it.into_principal())),
            place: ClientLocation::default(),
            trace: None,
            attachment: None,
        };
        let mut responses = InputResponses::default();
        let mut errors = BTreeMap::new();
        let mut settled = Vec::new();
        for (number, reply) in &taken.answers {
            settled.push(*number);
            // An answer to a question that is no longer open changes nothing.
            let Some(asked) = record.asked.get(number) else {
                continue;
            };
            let reply =
                match given.take_if(|given| given.number == *number && given.sealed == reply) {
                    Some(given) => given.reply,
                    None => {
                        let place = place_in(whose, format_args!("answer.{number}"));
                        opened(shared, ANSWER, &place, reply)?
                    }
                };
            match reply {
                Reply::Value(value) => {
                    let question: InputRequest = asked.request.decode().ok()?;
                    let value = engine::read_answer(&origin, question, value);
                    responses.insert(asked.key.clone(), value);
                }
                error => {
                    errors.insert(asked.key.clone(), error);
                }
            }
        }
        if record.task.is_none()
            && taken.answers.is_empty()
            && record.answer_by <= shared.clock().now()
        {
            let asked = record.asked.values();
            errors.extend(asked.map(|asked| (asked.key.clone(), Reply::TimedOut)));
        }
        let responses = Some(responses);
        let request = match CallTarget::new(&record.method, record.target)? {
            CallTarget::Tool(name) => ClientRequest::CallTool(CallToolParams {
                name,
                arguments: record.arguments.decode::<RawObject>().ok(),
                input_responses: responses,
                request_state: record.state,
                ..CallToolParams::default()
            }),
            CallTarget::Prompt(name) => ClientRequest::GetPrompt(GetPromptParams {
                name,
                arguments: record.arguments.decode().ok(),
                input_responses: responses,
                request_state: record.state,
                meta: None,
            }),
            CallTarget::Resource(uri) => ClientRequest::ReadResource(ReadResourceParams {
                uri,
                input_responses: responses,
                request_state: record.state,
                meta: None,
            }),
        };
        let call = Call {
            id: record.id.clone(),
            request,
            meta: record.meta,
            origin: Arc::new(origin),
        };
        let standing = CallRecord {
            call: taken.call,
            session: taken.session,
            id: record.id,
            epoch: taken.epoch,
            next_ask: record.next_ask,
            task: record.task.map(|facts| {
                let mut open = record.asked.clone();
                open.retain(|number, _| !settled.contains(number));
                WorkingTask::new(facts, open)
            }),
            progress: record
                .progress
                .wait(notes_since(shared, record.asked_at) + 1)
                .1,
            asked: record.asked,
            settled,
            next_event: taken.next_event,
        };
        Some(Self {
            call,
            standing,
            errors,
        })
    }
}

/// The client of a call that another process may have started. Progress and log messages are not
/// recorded.
struct JournalPeer {
    shared: Arc<Shared>,
    node: Arc<Node>,
    standing: CallRecord,
}

impl Peer for JournalPeer {
    fn stands(&self, message: String) {
        if let Some(task) = &self.standing.task {
            task.say(message);
        }
    }
}

impl ParkingPeer for JournalPeer {
    fn park(
        &self,
        incoming: Arc<Incoming>,
        round: InputRequiredResult,
        pause: FlowPause,
    ) -> BoxFuture<'static, Result<()>> {
        let (shared, node) = (Arc::clone(&self.shared), Arc::clone(&self.node));
        let standing = self.standing.clone();
        Box::pin(async move {
            let taken = park(&shared, &node, standing, &incoming, round, pause).await?;
            if let Some(taken) = taken {
                go_on(&shared, &node, taken, None);
            }
            Ok(())
        })
    }
}
