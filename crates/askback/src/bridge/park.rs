//! Calls from a client of 2026-07-28 to a server of a handshake revision. The server waits for answers on its session,
//! so the call is parked here until the client sends the next round.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    pin::pin,
    sync::Arc,
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
    time::{Instant, sleep},
};

use super::hold::wait;
use crate::{
    entropy::entropy,
    error::{Error, Result},
    mutex::Mutex,
    server::forward::Room,
};

/// After the first question of a round, wait this long for more.
const QUIET: Duration = Duration::from_millis(20);

/// The limit on one client's calls that run or wait for answers.
const PARKS: usize = 256;

#[derive(Default)]
pub(super) struct Parks(Mutex<HashMap<String, Arc<Park>>>);

#[derive(Default)]
pub(super) struct Park {
    state: Mutex<ParkState>,
    changed: Notify,
}

#[derive(Default)]
struct ParkState {
    questions: BTreeMap<String, OpenQuestion>,
    last_question: u64,
    done: Option<Result<RawJson, ErrorObject>>,
    /// The number of rounds that wait for this call now.
    rounds: usize,
    /// When the call is given up, if no round waits for it.
    until: Option<Instant>,
    work: Option<AbortHandle>,
    room: Option<Room>,
}

/// The result of a call, with the room reserved for it.
pub(super) type ParkedResult = (Result<RawJson, ErrorObject>, Option<Room>);

struct OpenQuestion {
    number: u64,
    request: InputRequest,
    answer: oneshot::Sender<RawJson>,
}

pub(super) enum RoundEnd {
    Done(Result<RawJson, ErrorObject>),
    /// The questions of the call, and the number of the last one.
    Asks(InputRequests, u64),
}

impl Parks {
    pub(super) fn begin(
        self: &Arc<Self>,
        ttl: Duration,
        work: impl FnOnce(Arc<Park>) -> BoxFuture<'static, ParkedResult>,
    ) -> Result<(String, Arc<Park>)> {
        let id = entropy::<16>()?.map(|byte| format!("{byte:02x}")).concat();
        let park = Arc::new(Park::default());
        let mut parks = self.0.lock();
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
        park.state.lock().work = Some(task.abort_handle());
        Ok((id, park))
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Park>> {
        self.0.lock().get(id).cloned()
    }

    pub(super) fn end(&self) {
        let parks: Vec<_> = self.0.lock().values().cloned().collect();
        for park in parks {
            park.forget();
        }
    }
}

/// Removes a call when its work ends, and notifies a round that still waits for it.
struct ParkGuard {
    parks: Arc<Parks>,
    park: Arc<Park>,
    id: String,
}

impl Drop for ParkGuard {
    fn drop(&mut self) {
        self.parks.0.lock().remove(&self.id);
        let given_up = || Err(ErrorObject::internal("the call was given up"));
        let mut state = self.park.state.lock();
        state.done.get_or_insert_with(given_up);
        let unanswered = mem::take(&mut state.questions);
        drop(state);
        drop(unanswered);
        self.park.changed.notify_waiters();
    }
}

impl Park {
    /// Asks the client in the result of a round, and waits for its answer; `None` if the call ends first. Dropping the
    /// future withdraws the question.
    pub(super) async fn ask(
        self: &Arc<Self>,
        key: Option<&str>,
        request: InputRequest,
    ) -> Option<RawJson> {
        let (answer, answered) = oneshot::channel();
        let _asked = {
            let mut state = self.state.lock();
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

    /// Delivers answers to questions up to this number, and ignores the others. So a repeated round cannot answer a
    /// later question with the same key.
    pub(super) fn answer(&self, answers: InputResponses, last_question: u64) {
        let mut state = self.state.lock();
        for (key, answer) in answers {
            let is_asked = |question: &OpenQuestion| question.number <= last_question;
            if state.questions.get(&key).is_some_and(is_asked)
                && let Some(question) = state.questions.remove(&key)
            {
                let _ = question.answer.send(answer);
            }
        }
    }

    /// Waits until the call ends or asks. Dropping the future cancels the call.
    pub(super) async fn round(self: &Arc<Self>, ttl: Duration) -> RoundEnd {
        let mut round = Round::begin(self);
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let is_asking = {
                let state = self.state.lock();
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
            let state = self.state.lock();
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

    /// Whether a round waits for this call, so that its client can be asked now.
    pub(super) fn is_listened_to(&self) -> bool {
        let state = self.state.lock();
        state.rounds > 0 && state.done.is_none()
    }

    pub(super) fn is_done(&self) -> bool {
        self.state.lock().done.is_some()
    }

    pub(super) fn forget(&self) {
        let work = self.state.lock().work.take();
        if let Some(work) = work {
            work.abort();
        }
    }

    fn end(&self, (done, room): ParkedResult, ttl: Duration) {
        let mut state = self.state.lock();
        state.done = Some(done);
        state.room = room;
        // The questions may belong to another call that was asked here. Their server gets an error.
        let unanswered = mem::take(&mut state.questions);
        if state.rounds == 0 {
            state.until = Instant::now().checked_add(ttl);
        }
        drop(state);
        drop(unanswered);
        self.changed.notify_waiters();
    }

    /// Waits until no round has come within the time limit.
    async fn expiry(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let until = self.state.lock().until;
            if until.is_some_and(|until| until <= Instant::now()) {
                return;
            }
            wait(changed, until).await;
        }
    }
}

struct AskedQuestion {
    park: Arc<Park>,
    key: String,
    number: u64,
}

impl Drop for AskedQuestion {
    fn drop(&mut self) {
        let mut state = self.park.state.lock();
        let question = state.questions.get(&self.key);
        if question.is_some_and(|question| question.number == self.number) {
            state.questions.remove(&self.key);
        }
    }
}

/// A waiting round. If it is dropped before its end, the client cancelled it, and the call with it.
struct Round {
    park: Arc<Park>,
    has_ended: bool,
}

impl Round {
    fn begin(park: &Arc<Park>) -> Self {
        let mut state = park.state.lock();
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
        let mut state = self.park.state.lock();
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
        let mut state = self.park.state.lock();
        state.rounds -= 1;
        // Another round of the same call may be waiting.
        let is_last = state.rounds == 0;
        let work = state.work.take_if(|_| is_last);
        drop(state);
        if let Some(work) = work {
            work.abort();
        }
    }
}
