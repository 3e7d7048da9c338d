//! How much a log line matters.

use serde::{Deserialize, Serialize};

/// How grave a log line is: the severities of syslog (RFC 5424), least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// For finding faults.
    Debug,
    /// Normal operation.
    Info,
    /// Normal, but worth notice.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part does not work any more.
    Critical,
    /// Someone has to act at once.
    Alert,
    /// Nothing works any more.
    Emergency,
}
