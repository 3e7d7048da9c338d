//! The bounds on signing in.

use core::time::Duration;

use super::MINUTE;

limits! {
    /// The bounds on signing in to a server with OAuth.
    SignInLimits {
        /// The longest document, registration or token a client fetches for authorization, in bytes.
        document_bytes: usize = 256 << 10;
        /// How long fetching one may take, redirections and all.
        document_fetch: Duration = Duration::from_secs(10);
        /// How long a client waits while another process renews or forgets the same credentials.
        credential_lock: Duration = Duration::from_secs(30);
        /// How long a person may take to sign in.
        person: Duration = Duration::from_secs(10 * MINUTE);
    }
}
