//! A journal that does something around each operation of another journal.

use std::future::Future;

use askback::journal::{
    AnswerOutcome, AnswerRequest, CallId, FinishRequest, Journal, JournalStatus, Lease, Log,
    Millis, NodeId, ParkOutcome, ParkRequest, SessionId, SessionNote, SessionRequest, StoreFuture,
    TakenCall, TaskState,
};

pub(crate) trait Around: Send + Sync {
    fn around<T: Send>(operation: impl Future<Output = T> + Send)
    -> impl Future<Output = T> + Send;
}

/// A journal, with `A` around each of its operations.
pub(crate) struct Wrapped<J, A>(J, std::marker::PhantomData<A>);

impl<J, A> Wrapped<J, A> {
    pub(crate) fn new(journal: J, _: A) -> Self {
        Self(journal, std::marker::PhantomData)
    }
}

macro_rules! wrapped {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $outcome:ty;)*) => {
        impl<J: Journal, A: Around> Journal for Wrapped<J, A> {
            $(fn $name<'a>(&'a self, $($argument: $type),*) -> StoreFuture<'a, $outcome> {
                Box::pin(A::around(self.0.$name($($argument),*)))
            })*
        }
    };
}

wrapped! {
    fn park(call: ParkRequest<'a>) -> ParkOutcome;
    fn answer(answer: AnswerRequest<'a>) -> AnswerOutcome;
    fn finish(end: FinishRequest<'a>) -> bool;
    fn read(call: CallId, session: SessionId, after: u64, most: usize) -> Option<Log>;
    fn due(lease: Lease, now: Millis, most: usize) -> Vec<TakenCall>;
    fn renew(held: &'a [(CallId, u32)], until: Millis) -> Vec<(CallId, u32)>;
    fn set_status(call: CallId, epoch: u32, status: &'a [u8]) -> ();
    fn task(call: CallId, session: SessionId) -> Option<TaskState>;
    fn cancel(session: SessionId, request: [u8; 16]) -> bool;
    fn note(session: SessionRequest, note: &'a [u8]) -> ();
    fn end_session(session: SessionRequest) -> ();
    fn session(session: SessionId) -> SessionNote;
    fn ended_since(since: Millis) -> Vec<SessionId>;
    fn announce(process: NodeId, until: Millis, now: Millis) -> u64;
    fn purge(now: Millis) -> usize;
    fn status(now: Millis) -> JournalStatus;
}
