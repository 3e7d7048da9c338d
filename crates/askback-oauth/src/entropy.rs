use askback_core::auth::AuthorizationError;

/// Returns cryptographically secure random bytes from the operating system.
///
/// # Errors
///
/// [`AuthorizationError::Credentials`] if the operating system cannot provide them.
pub(crate) fn entropy<const N: usize>() -> Result<[u8; N], AuthorizationError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        AuthorizationError::Credentials(format!("there are no random bytes: {error}"))
    })?;
    Ok(bytes)
}
