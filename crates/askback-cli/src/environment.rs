//! Secrets of ours in the environment, which no server is given.

use std::{env, ffi::OsString};

use askback::authorization::Secret;

/// How the names of our own variables begin. All of them are kept from servers, so that one that
/// is added later is, too.
const OURS: &str = "ASKBACK_";

/// Holds the secret of the client that `--client-id` names, if no file does.
pub const CLIENT_SECRET: &str = "ASKBACK_CLIENT_SECRET";

/// The secret in a variable; none where it is not set, or is no text.
pub fn secret(name: &str) -> Option<Secret> {
    env::var(name).ok().map(Secret::new)
}

pub fn ours() -> impl Iterator<Item = OsString> {
    env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| is_ours(&name.to_string_lossy()))
}

/// Whether a variable is ours. Some systems do not tell small letters from capitals.
pub fn is_ours(name: &str) -> bool {
    name.get(..OURS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OURS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_known_by_its_name() {
        for (name, expected) in [
            (CLIENT_SECRET, true),
            ("ASKBACK_ANYTHING", true),
            ("askback_client_secret", true),
            ("ASKBACK", false),
            ("MY_ASKBACK_SECRET", false),
            ("ÄÄÄÄÄ", false),
            ("", false),
        ] {
            assert_eq!(is_ours(name), expected, "{name}");
        }
    }
}
