//! Batches: the responses to what came together go out together (2025-03-26, basic/index,
//! Batching).

use alloc::{collections::BTreeMap, vec::Vec};

use crate::jsonrpc;

/// The batches whose requests are being answered.
#[derive(Debug, Default)]
pub(super) struct Batches {
    open: BTreeMap<u64, Batch>,
    last: u64,
}

#[derive(Debug, Default)]
struct Batch {
    /// How many responses are still to come; the reading of the batch itself counts as one.
    waiting: usize,
    responses: Vec<Vec<u8>>,
    /// How long the batch was that is answered: about as long as its responses.
    bytes: usize,
}

impl Batches {
    /// How much the open ones take.
    pub(super) fn bytes(&self) -> usize {
        self.open.values().map(|batch| batch.bytes).sum()
    }

    /// Begins to read a batch of so many bytes; [`Batches::close`] ends it.
    pub(super) fn begin(&mut self, bytes: usize) -> u64 {
        self.last += 1;
        self.open.insert(
            self.last,
            Batch {
                waiting: 1,
                responses: Vec::new(),
                bytes,
            },
        );
        self.last
    }

    /// One more response is to come.
    pub(super) fn expect(&mut self, number: u64) {
        if let Some(batch) = self.open.get_mut(&number) {
            batch.waiting += 1;
        }
    }

    /// Takes a response; the whole batch comes back with the last.
    pub(super) fn respond(&mut self, number: u64, response: Vec<u8>) -> Option<Vec<u8>> {
        self.open.get_mut(&number)?.responses.push(response);
        self.close(number)
    }

    /// One response less is to come. A batch in which nothing wanted a response has none.
    pub(super) fn close(&mut self, number: u64) -> Option<Vec<u8>> {
        let batch = self.open.get_mut(&number)?;
        batch.waiting = batch.waiting.saturating_sub(1);
        if batch.waiting > 0 {
            return None;
        }
        let batch = self.open.remove(&number)?;
        (!batch.responses.is_empty()).then(|| jsonrpc::write_batch(&batch.responses))
    }
}
