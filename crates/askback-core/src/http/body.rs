//! Collects a body that arrives in pieces.

use alloc::vec::Vec;

#[derive(Debug)]
pub struct BodyBuffer {
    bytes: Vec<u8>,
    most: usize,
}

/// The body is longer than this limit. The rest was not read, so its length is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is longer than the {0} bytes accepted here")]
pub struct BodyTooLong(pub usize);

impl BodyBuffer {
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            bytes: Vec::new(),
            most,
        }
    }

    /// Appends the next piece.
    ///
    /// # Errors
    ///
    /// [`BodyTooLong`] if the limit would be exceeded. The piece is then not added.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), BodyTooLong> {
        if piece.len() > self.most - self.bytes.len() {
            return Err(BodyTooLong(self.most));
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
