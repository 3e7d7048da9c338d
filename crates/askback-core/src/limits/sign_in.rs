//! The bounds on signing in.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on signing in to a server with OAuth.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SignInLimits {
    /// The longest document, registration or token a client fetches for authorization, in bytes.
    pub document_bytes: usize,
    /// How long fetching one may take, redirections and all.
    #[serde(deserialize_with = "seconds")]
    pub document_fetch: Duration,
    /// How long a client waits while another process renews or forgets the same credentials.
    #[serde(deserialize_with = "seconds")]
    pub credential_lock: Duration,
    /// How long a person may take to sign in.
    #[serde(deserialize_with = "seconds")]
    pub person: Duration,
}

impl Default for SignInLimits {
    fn default() -> Self {
        Self {
            document_bytes: 256 << 10,
            document_fetch: Duration::from_secs(10),
            credential_lock: Duration::from_secs(30),
            person: Duration::from_secs(10 * MINUTE),
        }
    }
}
