//! Calls of a fleet whose clients leave before the calls have asked.

use std::sync::{Arc, Weak};

use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use super::Session;
use crate::{
    server::fleet::{self, BegunCall, Standing},
    store::Owner,
};

/// A call whose client has left, and which is written down as one that goes on here.
pub(in crate::server::http) struct LeftCall {
    ended: oneshot::Sender<LeftCallEnd>,
    /// Locked while the call is written down.
    writing: Arc<Mutex<()>>,
}

/// How such a call ends. It was cancelled if nothing says so.
enum LeftCallEnd {
    /// With this message, and its number.
    Answered(u64, Vec<u8>),
    /// It asks.
    Parked,
}

impl LeftCall {
    pub(in crate::server::http) fn answer(self, number: u64, message: Vec<u8>) {
        // Without a receiver, the call could not be written down.
        let _ = self.ended.send(LeftCallEnd::Answered(number, message));
    }

    /// The call is about to be written down with its questions.
    pub(super) async fn park(self) {
        let _ = self.ended.send(LeftCallEnd::Parked);
        drop(self.writing.lock().await);
    }
}

impl Session {
    /// Writes down that a call goes on whose client has left its stream: the client may come back to another process.
    pub(in crate::server::http) fn leave(self: &Arc<Self>, number: u32) {
        let (Some(node), Some(member)) = (&self.shared.fleet, self.member) else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let mut state = self.lock();
        let owner = state
            .engine
            .principal()
            .map(|principal| Owner::of(principal));
        let Some(stream) = state.stream(number) else {
            return;
        };
        let is_read = stream.has_ended() && !stream.is_unread();
        if is_read || stream.is_followed || stream.has_reader() || stream.left_call.is_some() {
            return;
        }
        let Some((call, request)) = stream.call.zip(stream.request.as_deref()) else {
            return;
        };
        let request = fleet::read_request_name(&self.shared, (member, call), request);
        let writing = Arc::new(Mutex::new(()));
        let locked = Arc::clone(&writing).try_lock_owned();
        let (Some(request), Ok(locked)) = (request, locked) else {
            return;
        };
        let begun = BegunCall {
            shared: Arc::clone(&self.shared),
            node: Arc::clone(node),
            owner,
            standing: Standing::new(call, member, request, stream.next_number()),
        };
        let (ended, end) = oneshot::channel();
        stream.left_call = Some(LeftCall { ended, writing });
        if stream.has_ended() {
            stream.answer_left();
        }
        runtime.spawn(keep(Arc::downgrade(self), number, begun, locked, end));
    }

    /// Ends a call that another process has cancelled or taken over.
    fn end_left(&self, number: u32) {
        let mut state = self.lock();
        let mut running = state.running.iter();
        let running = running.find(|running| running.stream == number);
        if let Some(id) = running.map(|running| running.id.clone()) {
            state.engine.let_go(&id);
            state.cancel(&id);
        }
    }
}

/// Keeps a call in the journal until it ends.
async fn keep(
    session: Weak<Session>,
    number: u32,
    begun: BegunCall,
    writing: OwnedMutexGuard<()>,
    end: oneshot::Receiver<LeftCallEnd>,
) {
    let is_written = begun.write_down().await;
    drop(writing);
    if !is_written {
        return;
    }
    let lease = begun.lease();
    let end = tokio::select! {
        () = lease.stopped() => {
            if let Some(session) = session.upgrade() {
                session.end_left(number);
            }
            return;
        }
        end = end => end,
    };
    match end {
        Ok(LeftCallEnd::Answered(number, message)) => begun.finish(number, message).await,
        Ok(LeftCallEnd::Parked) => {}
        Err(_) => {
            fleet::end_cancelled(&begun.shared, &begun.node, begun.standing.call).await;
        }
    }
}
