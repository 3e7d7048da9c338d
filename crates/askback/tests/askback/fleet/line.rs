//! A journal as one process sees it. Its requests are counted, and the connection can be cut.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use askback::{
    journal::{
        AnswerOutcome, AnswerRequest, CallId, FinishRequest, Journal, JournalStatus, Lease, Log,
        Millis, NodeId, ParkOutcome, ParkRequest, SessionId, SessionNote, SessionRequest,
        StoreError, StoreFuture, TakenCall, TaskState,
    },
    store::SqliteStore,
};
use tokio::time::sleep;

/// The part of a request to park a call that is lost.
#[derive(Debug, Clone, Copy)]
pub(super) enum ParkLoss {
    Request,
    /// The call is parked.
    Response,
}

/// One process's requests to a journal.
#[derive(Clone)]
pub(crate) struct JournalLine {
    pub(super) journal: Arc<SqliteStore>,
    is_cut: Arc<AtomicBool>,
    /// The delay between a request's effect and its response.
    delay: Arc<Mutex<Duration>>,
    requests: Arc<Mutex<Vec<&'static str>>>,
    /// For the next requests to park a call, in reverse order.
    park_losses: Arc<Mutex<Vec<ParkLoss>>>,
    /// The request with which the line is cut.
    last: Arc<Mutex<Option<&'static str>>>,
}

impl JournalLine {
    pub(crate) fn new(journal: &Arc<SqliteStore>) -> Self {
        Self {
            journal: Arc::clone(journal),
            is_cut: Arc::default(),
            delay: Arc::default(),
            requests: Arc::default(),
            park_losses: Arc::default(),
            last: Arc::default(),
        }
    }

    /// Cuts the process off from the journal, as if it were dead.
    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    /// Cuts the process off with its next request of this name.
    pub(super) fn cut_with(&self, name: &'static str) {
        *self.last.lock().unwrap() = Some(name);
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    pub(super) fn mend(&self) {
        self.is_cut.store(false, Ordering::Relaxed);
    }

    /// Loses the next requests to park a call, or their responses.
    pub(super) fn lose_parks(&self, losses: &[ParkLoss]) {
        *self.park_losses.lock().unwrap() = losses.iter().rev().copied().collect();
    }

    pub(super) fn delay(&self, delay: Duration) {
        *self.delay.lock().unwrap() = delay;
    }

    /// The requests since the last call, without periodic ones.
    pub(super) fn requests(&self) -> Vec<&'static str> {
        let mut requests = std::mem::take(&mut *self.requests.lock().unwrap());
        let periodic = ["announce", "due", "renew", "purge", "ended_since", "keys"];
        requests.retain(|name| !periodic.contains(name));
        requests
    }

    fn pass<'a, T: Send + 'a>(
        &self,
        name: &'static str,
        request: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        self.requests.lock().unwrap().push(name);
        if self
            .last
            .lock()
            .unwrap()
            .take_if(|last| *last == name)
            .is_some()
        {
            self.cut();
        }
        match self.is_cut.load(Ordering::Relaxed) {
            true => Box::pin(async { Err(unreachable()) }),
            false => {
                let delay = *self.delay.lock().unwrap();
                Box::pin(async move {
                    let answer = request.await;
                    if !delay.is_zero() {
                        sleep(delay).await;
                    }
                    answer
                })
            }
        }
    }
}

/// The note by which processes compare their keys belongs to no session.
fn name_of(session: SessionId, name: &'static str) -> &'static str {
    match session == SessionId([0; 16]) {
        true => "keys",
        false => name,
    }
}

fn unreachable() -> StoreError {
    StoreError::Unreachable("the process is cut off".into())
}

impl Journal for JournalLine {
    fn park<'a>(&'a self, call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome> {
        let parking = self.pass("park", self.journal.park(call));
        let loss = self.park_losses.lock().unwrap().pop();
        Box::pin(async move {
            match loss {
                None => parking.await,
                Some(ParkLoss::Request) => Err(unreachable()),
                Some(ParkLoss::Response) => {
                    parking.await?;
                    Err(unreachable())
                }
            }
        })
    }

    fn answer<'a>(&'a self, answer: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome> {
        self.pass("answer", self.journal.answer(answer))
    }

    fn finish<'a>(&'a self, end: FinishRequest<'a>) -> StoreFuture<'a, bool> {
        self.pass("finish", self.journal.finish(end))
    }

    fn read(
        &self,
        call: CallId,
        session: SessionId,
        after: u64,
        most: usize,
    ) -> StoreFuture<'_, Option<Log>> {
        self.pass("read", self.journal.read(call, session, after, most))
    }

    fn due(&self, lease: Lease, now: Millis, most: usize) -> StoreFuture<'_, Vec<TakenCall>> {
        self.pass("due", self.journal.due(lease, now, most))
    }

    fn renew<'a>(
        &'a self,
        held: &'a [(CallId, u32)],
        until: Millis,
    ) -> StoreFuture<'a, Vec<(CallId, u32)>> {
        self.pass("renew", self.journal.renew(held, until))
    }

    fn announce(&self, process: NodeId, until: Millis, now: Millis) -> StoreFuture<'_, u64> {
        self.pass("announce", self.journal.announce(process, until, now))
    }

    fn set_status<'a>(&'a self, call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()> {
        self.pass("set_status", self.journal.set_status(call, epoch, status))
    }

    fn task(&self, call: CallId, session: SessionId) -> StoreFuture<'_, Option<TaskState>> {
        self.pass("task", self.journal.task(call, session))
    }

    fn cancel(&self, session: SessionId, request: [u8; 16]) -> StoreFuture<'_, bool> {
        self.pass("cancel", self.journal.cancel(session, request))
    }

    fn note<'a>(&'a self, session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()> {
        let name = name_of(session.session, "note");
        self.pass(name, self.journal.note(session, note))
    }

    fn end_session(&self, session: SessionRequest) -> StoreFuture<'_, ()> {
        self.pass("end_session", self.journal.end_session(session))
    }

    fn session(&self, session: SessionId) -> StoreFuture<'_, SessionNote> {
        let name = name_of(session, "session");
        self.pass(name, self.journal.session(session))
    }

    fn ended_since(&self, since: Millis) -> StoreFuture<'_, Vec<SessionId>> {
        self.pass("ended_since", self.journal.ended_since(since))
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        self.pass("purge", self.journal.purge(now))
    }

    fn status(&self, now: Millis) -> StoreFuture<'_, JournalStatus> {
        self.pass("status", self.journal.status(now))
    }
}
