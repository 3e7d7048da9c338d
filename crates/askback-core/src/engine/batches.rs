//! The responses to a batch are sent together (2025-03-26, basic/index, Batching).

use alloc::{collections::BTreeMap, vec::Vec};

use crate::jsonrpc;

#[derive(Debug, Default)]
pub(super) struct Batches {
    open: BTreeMap<u64, Batch>,
    last: u64,
}

#[derive(Debug)]
struct Batch {
    /// The number of responses still to come, plus one while the batch is being read.
    waiting: usize,
    responses: Vec<Vec<u8>>,
    /// The memory of the requests.
    bytes: usize,
}

impl Batches {
    /// The memory of the batches, in bytes: of the requests or of the responses, whichever is larger.
    pub(super) fn bytes(&self) -> usize {
        let bytes = self.open.values().map(|batch| {
            let responses: usize = batch.responses.iter().map(Vec::len).sum();
            responses.max(batch.bytes)
        });
        bytes.sum()
    }

    /// Begins to read a batch; [`Batches::close`] ends the reading.
    pub(super) fn begin(&mut self, bytes: usize) -> u64 {
        self.last += 1;
        let batch = Batch {
            waiting: 1,
            responses: Vec::new(),
            bytes,
        };
        self.open.insert(self.last, batch);
        self.last
    }

    /// Counts a response that is still to come.
    pub(super) fn expect(&mut self, number: u64) {
        if let Some(batch) = self.open.get_mut(&number) {
            batch.waiting += 1;
        }
    }

    /// Takes a response. Returns the whole batch with the last one.
    pub(super) fn respond(&mut self, number: u64, response: Vec<u8>) -> Option<Vec<u8>> {
        self.open.get_mut(&number)?.responses.push(response);
        self.close(number)
    }

    /// Expects one response fewer. Returns the batch if it is complete and not empty.
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
