//! Every bound askback puts on what a peer may make it do, grouped by who it bounds.

/// Defines a group of limits, each with its default.
macro_rules! limits {
    ($(#[$doc:meta])* $name:ident { $($(#[$limit_doc:meta])* $limit:ident: $type:ty = $default:expr;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[$limit_doc])*
                #[serde(deserialize_with = "crate::limits::Limit::read")]
                pub $limit: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($limit: $default,)* }
            }
        }
    };
}

mod asking;
mod client;
mod forms;
mod host;
mod http;
mod server;
mod sign_in;
mod tasks;
mod wire;

pub use asking::AskingLimits;
pub use client::ClientLimits;
pub use forms::FormLimits;
pub use host::HostLimits;
pub use http::HttpLimits;
pub use server::ServerLimits;
pub use sign_in::SignInLimits;
pub use tasks::TaskLimits;
pub use wire::WireLimits;

use core::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};

/// Seconds in a minute.
const MINUTE: u64 = 60;

/// The bounds on messages, forms, questions, tasks, servers, clients and HTTP.
///
/// Nothing a peer sends may make a server or client grow or wait without end; each way it could is
/// bounded by a field here. The defaults suit a person answering and a server on the open
/// internet; the `Default` of each group is the only place that sets them.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use askback_core::limits::Limits;
///
/// let mut limits = Limits::default();
/// limits.asking.round_ttl = Duration::from_secs(3600);
/// limits.http.sessions = 1000;
/// ```
/// A configuration file sets what it names. A time is a number of seconds:
///
/// ```
/// use askback_core::limits::Limits;
///
/// let limits: Limits = serde_json::from_str(r#"{"asking": {"run": 300}, "http": {"sessions": 1000}}"#)?;
/// assert_eq!(limits.asking.run.as_secs(), 300);
/// assert_eq!(limits.asking.rounds, Limits::default().asking.rounds);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Messages and requests.
    pub wire: WireLimits,
    /// Forms and schemas.
    pub forms: FormLimits,
    /// Questions, and the calls that ask them.
    pub asking: AskingLimits,
    /// Tasks.
    pub tasks: TaskLimits,
    /// Servers, for all their clients together.
    pub server: ServerLimits,
    /// Clients, for one server.
    pub client: ClientLimits,
    /// Hosts, for one server.
    pub host: HostLimits,
    /// Connections, sessions and streams over HTTP.
    pub http: HttpLimits,
    /// Signing in with OAuth.
    pub sign_in: SignInLimits,
}

/// Reads a limit from a configuration file.
trait Limit: Sized {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Implements [`Limit`] for numbers.
macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Limit for $number {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
}

numbers! { u32 usize }

impl Limit for Duration {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Self::try_from_secs_f64(seconds).map_err(|_| {
            D::Error::custom(format_args!("expected a number of seconds, got {seconds}"))
        })
    }
}
