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
