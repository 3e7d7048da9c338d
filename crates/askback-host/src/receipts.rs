//! Receipts for questions that a user saw.

use std::{fmt, io, sync::Arc, time::SystemTime};

use askback::{
    protocol::{ElicitParams, ElicitResult, HasMeta},
    witness::{Receipt, Renderer, ShownQuestion},
};

use crate::model::Reply;

pub trait Receipts: fmt::Debug + Send + Sync {
    /// Signs and stores a receipt. Returns `None` if the server did not ask for one.
    /// Fails if the receipt cannot be stored.
    fn sign(&self, shown: ShownQuestion<'_>) -> io::Result<Option<Receipt>>;
}

/// Opens the receipts of the servers whose questions a front end draws for other programs.
pub trait ReceiptBook: fmt::Debug + Send + Sync {
    /// Returns the receipts of a server. `identity` is [`BoardOptions::identity`](crate::attach::BoardOptions::identity),
    /// and `name` the user's name for the server.
    fn of(&self, identity: &str, name: &str) -> Arc<dyn Receipts>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct ShownReply {
    pub reply: Reply,
    /// `None` if no user saw the question.
    pub showing: Option<Showing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Showing {
    pub since: SystemTime,
    pub renderer: Renderer,
}

pub(crate) fn add_receipt(
    receipts: &dyn Receipts,
    question: &ElicitParams,
    answer: &mut ElicitResult,
    showing: Option<Showing>,
) -> io::Result<()> {
    let now = SystemTime::now();
    let showing = showing.unwrap_or(Showing {
        since: now,
        renderer: Renderer::Script,
    });
    let receipt = receipts.sign(ShownQuestion {
        question,
        answer,
        shown_at: millis(showing.since),
        answered_at: millis(now),
        renderer: showing.renderer,
    })?;
    if receipt.is_some() {
        answer.meta_mut().set_receipt(receipt.as_ref());
    }
    Ok(())
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
