//! The severity of log messages.

use serde::{Deserialize, Serialize};

/// The severity of a log message, as in syslog (RFC 5424), lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// Information for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// A normal but significant event.
    Notice,
    /// A possible problem.
    Warning,
    /// A failure.
    Error,
    /// A component has failed.
    Critical,
    /// Action is needed immediately.
    Alert,
    /// The system is unusable.
    Emergency,
}
