use std::io;

/// Returns cryptographically secure random bytes from the operating system.
///
/// # Errors
///
/// If the operating system provides none.
pub(crate) fn entropy<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Random bytes that are drawn once and then taken piece by piece.
pub(crate) struct RandomBytes<const N: usize> {
    bytes: [u8; N],
    taken: usize,
}

impl<const N: usize> RandomBytes<N> {
    pub(crate) fn new() -> io::Result<Self> {
        let (bytes, taken) = (entropy()?, 0);
        Ok(Self { bytes, taken })
    }

    /// Takes the next bytes. At most `N` bytes can be taken in total.
    pub(crate) fn take<const M: usize>(&mut self) -> [u8; M] {
        let (_, left) = self.bytes.split_at(self.taken);
        self.taken += M;
        *left.first_chunk().expect("as much was drawn")
    }
}
