//! Calls of a client of 2026-07-28 at a server of a handshake revision. The server waits on its session for the answers,
//! so its call is parked here until the client sends the next round.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback_core::{
    future::BoxFuture,
    jsonrpc::ErrorObject,
    protocol::{InputRequest, InputRequests, InputResponses, RawJson},
};
use tokio::{
    sync::{Notify, oneshot},
    task::AbortHandle,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    entropy::entropy,
    error::{Error, Result},
    server::forward::Room,
};

/// How long the first question of a round waits for others.
const QUIET: Duration = Duration::from_millis(20);

/// The most calls of one client that are with the server or wait for answers.
const PARKS: usize = 256;

/// The parked calls of a client, by the ids that their states carry.
#[derive(Default)]
pub(super) struct Parks(Mutex<HashMap<String, Arc<Park>>>);

/// A call at a server, and the questions in it that its client has.
#[derive(Default)]
pub(super) struct Park {
    state: Mutex<ParkState>,
    /// Something in the state is another now.
    changed: Notify,
}

#[derive(Default)]
struct ParkState {
    questions: BTreeMap<String, OpenQuestion>,
    /// The number of the last question.
    last_question: u64,
    done: Option<Result<RawJson, ErrorObject>>,
    /// How many rounds wait for it now.
    rounds: usize,
    /// When it is given up, unless a round comes.
    until: Option<Instant>,
    /// The work on the call.
    work: Option<AbortHandle>,
    /// The room that the result takes until it is delivered.
    room: Option<Room>,
}

/// The result of a call, with the room that it takes.
pub(super) type ParkedResult = (Result<RawJson, ErrorObject>, Option<Room>);

struct OpenQuestion {
    number: u64,
    request: InputRequest,
    answer: oneshot::Sender<RawJson>,
}

/// The outcome of a round.
pub(super) enum RoundEnd {
    Done(Result<RawJson, ErrorObject>),
    /// The call asks: the questions, and the number of the last one.
    Asks(InputRequests, u64),
}

impl Parks {
    /// Parks a call, and begins to work on it.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub(super) fn begin(
        self: &Arc<Self>,
        ttl: Duration,
        work: impl FnOnce(Arc<Park>) -> BoxFuture<'static, ParkedResult>,
    ) -> Result<(String, Arc<Park>)> {
        let id = entropy::<16>()?.map(|byte| format!("{byte:02x}")).concat();
        let park = Arc::new(Park::default());
        let mut parks = self.lock();
        if parks.len() >= PARKS {
            return Err(Error::protocol(ErrorObject::internal(
                "too many calls wait for answers",
            )));
        }
        parks.insert(id.clone(), Arc::clone(&park));
        drop(parks);
        let guard = ParkGuard {
            parks: Arc::clone(self),
            park: Arc::clone(&park),
            id: id.clone(),
        };
        let working = work(Arc::clone(&park));
        let of_work = Arc::clone(&park);
        let task = tokio::spawn(async move {
            let _guard = guard;
            tokio::select! {
                done = working => of_work.end(done, ttl),
                () = of_work.expiry() => return,
            }
            of_work.expiry().await;
        });
        park.lock().work = Some(task.abort_handle());
        Ok((id, park))
    }

    /// The call that a state belongs to, unless it was given up.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Park>> {
        self.lock().get(id).cloned()
    }

    /// Ends the work on all calls.
    pub(super) fn end(&self) {
        let parks: Vec<_> = self.lock().values().cloned().collect();
        for park in parks {
            park.forget();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Park>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a call when the work on it ends. A round that still waits for it is told so.
struct ParkGuard {
    parks: Arc<Parks>,
    park: Arc<Park>,
    id: String,
}

impl Drop for ParkGuard {
    fn drop(&mut self) {
        self.parks.lock().remove(&self.id);
        let given_up = || Err(ErrorObject::internal("the call was given up"));
        let mut state = self.park.lock();
        state.done.get_or_insert_with(given_up);
        let unanswered = mem::take(&mut state.questions);
        drop(state);
        drop(unanswered);
        self.park.changed.notify_waiters();
    }
}

impl Park {
    /// Asks the client in the result of a round, and waits for its answer: none if the call ends before. Dropping the future
    /// withdraws the question.
    pub(super) async fn ask(
        self: &Arc<Self>,
        key: Option<&str>,
        request: InputRequest,
    ) -> Option<RawJson> {
        let (answer, answered) = oneshot::channel();
        let _asked = {
            let mut state = self.lock();
            if state.done.is_some() {
                return None;
            }
            state.last_question += 1;
            let number = state.last_question;
            let mut key = key.map_or_else(|| format!("question-{number}"), ToOwned::to_owned);
            while state.questions.contains_key(&key) {
                key = format!("{key}-{number}");
            }
            let question = OpenQuestion {
                number,
                request,
                answer,
            };
            state.questions.insert(key.clone(), question);
            AskedQuestion {
                park: Arc::clone(self),
                key,
                number,
            }
        };
        self.changed.notify_waiters();
        answered.await.ok()
    }

    /// Gives the questions up to this number their answers; others are ignored. A round that is sent twice does not answer
    /// a question that came later under the same key.
    pub(super) fn answer(&self, answers: InputResponses, last_question: u64) {
        let mut state = self.lock();
        for (key, answer) in answers {
            let is_asked = |question: &OpenQuestion| question.number <= last_question;
            if state.questions.get(&key).is_some_and(is_asked)
                && let Some(question) = state.questions.remove(&key)
            {
                // The server may have withdrawn it.
                let _ = question.answer.send(answer);
            }
        }
    }

    /// Waits until the call has ended or asks. Dropping the future cancels the call.
    pub(super) async fn round(self: &Arc<Self>, ttl: Duration) -> RoundEnd {
        let mut round = Round::begin(self);
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let is_asking = {
                let state = self.lock();
                if let Some(done) = &state.done {
                    let done = done.clone();
                    drop(state);
                    round.end(ttl);
                    return RoundEnd::Done(done);
                }
                !state.questions.is_empty()
            };
            if !is_asking {
                changed.await;
                continue;
            }
            sleep(QUIET).await;
            let state = self.lock();
            let questions = state.questions.iter();
            let asks: InputRequests = questions
                .map(|(key, question)| (key.clone(), question.request.clone()))
                .collect();
            let (is_done, last_question) = (state.done.is_some(), state.last_question);
            drop(state);
            if !is_done && asks.iter().next().is_some() {
                round.end(ttl);
                return RoundEnd::Asks(asks, last_question);
            }
        }
    }

    /// Whether a round waits for it, so that its client can be asked now.
    pub(super) fn is_listened_to(&self) -> bool {
        let state = self.lock();
        state.rounds > 0 && state.done.is_none()
    }

    /// Whether the call has ended.
    pub(super) fn is_done(&self) -> bool {
        self.lock().done.is_some()
    }

    /// Ends the work, and forgets the call.
    pub(super) fn forget(&self) {
        let work = self.lock().work.take();
        if let Some(work) = work {
            work.abort();
        }
    }

    fn end(&self, (done, room): ParkedResult, ttl: Duration) {
        let mut state = self.lock();
        state.done = Some(done);
        state.room = room;
        // A question of another call, which was asked here: its server is told that there is no answer.
        let unanswered = mem::take(&mut state.questions);
        if state.rounds == 0 {
            state.until = Instant::now().checked_add(ttl);
        }
        drop(state);
        drop(unanswered);
        self.changed.notify_waiters();
    }

    /// Waits until no round has come for too long.
    async fn expiry(&self) {
        loop {
            let changed = self.changed.notified();
            let until = self.lock().until;
            match until {
                None => changed.await,
                Some(until) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(until) => {
                        let state = self.lock();
                        if state.rounds == 0 && state.until.is_some_and(|until| until <= Instant::now()) {
                            return;
                        }
                    }
                },
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ParkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits for its answer.
struct AskedQuestion {
    park: Arc<Park>,
    key: String,
    number: u64,
}

impl Drop for AskedQuestion {
    fn drop(&mut self) {
        let mut state = self.park.lock();
        let question = state.questions.get(&self.key);
        if question.is_some_and(|question| question.number == self.number) {
            state.questions.remove(&self.key);
        }
    }
}

/// A round that waits. One that is dropped before its end was cancelled by the client, and the call with it.
struct Round {
    park: Arc<Park>,
    has_ended: bool,
}

impl Round {
    fn begin(park: &Arc<Park>) -> Self {
        let mut state = park.lock();
        state.rounds += 1;
        state.until = None;
        drop(state);
        park.changed.notify_waiters();
        Self {
            park: Arc::clone(park),
            has_ended: false,
        }
    }

    fn end(&mut self, ttl: Duration) {
        if mem::replace(&mut self.has_ended, true) {
            return;
        }
        let mut state = self.park.lock();
        state.rounds -= 1;
        if state.rounds == 0 {
            state.until = Instant::now().checked_add(ttl);
        }
        drop(state);
        self.park.changed.notify_waiters();
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let mut state = self.park.lock();
        state.rounds -= 1;
        // Another round of the same call may wait for it.
        let is_last = state.rounds == 0;
        let work = state.work.take_if(|_| is_last);
        drop(state);
        if let Some(work) = work {
            work.abort();
        }
    }
}
