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
