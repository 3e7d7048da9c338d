//! The one place where random bytes come from.

use std::io;

/// Random bytes from the operating system, of cryptographic quality.
///
/// # Errors
///
/// When the operating system has none to give; the environment is broken then.
pub(crate) fn entropy<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Random bytes of one draw, which are handed out piece by piece.
pub(crate) struct RandomBytes<const N: usize> {
    bytes: [u8; N],
    taken: usize,
}

impl<const N: usize> RandomBytes<N> {
    /// Draws.
    ///
    /// # Errors
    ///
    /// As [`entropy`].
    pub(crate) fn new() -> io::Result<Self> {
        let (bytes, taken) = (entropy()?, 0);
        Ok(Self { bytes, taken })
    }

    /// The next bytes. No more are taken than were drawn.
    pub(crate) fn take<const M: usize>(&mut self) -> [u8; M] {
        let (_, left) = self.bytes.split_at(self.taken);
        self.taken += M;
        *left.first_chunk().expect("as much was drawn")
    }
}
