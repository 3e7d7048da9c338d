//! Why headers and body do not match.

use alloc::{borrow::Cow, string::ToString};

use crate::{jsonrpc::ErrorObject, protocol::codes::HEADER_MISMATCH};

/// The headers of a request do not match its body. The client is to blame. The response has status
/// 400 and this error (2026-07-28, basic/transports/streamable-http, Server Validation).
///
/// The text names the header but not its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    #[error("Header mismatch: the {0} header is missing")]
    Missing(Cow<'static, str>),
    /// A header occurs more than once, so that two readers may see different values.
    #[error("Header mismatch: the {0} header is there more than once")]
    Repeated(Cow<'static, str>),
    #[error("Header mismatch: the {0} header holds invalid characters or invalid base64")]
    Invalid(Cow<'static, str>),
    #[error("Header mismatch: the {0} header does not match the body")]
    Differs(Cow<'static, str>),
    /// A header repeats an argument that the body does not have.
    #[error("Header mismatch: the {0} header is there, but the argument it mirrors is not")]
    Unexpected(Cow<'static, str>),
    /// An argument cannot be repeated in a header: it is not a string, boolean or whole number from
    /// -2^53+1 to 2^53-1, or occurs twice.
    #[error(
        "Header mismatch: the argument mirrored in the {0} header must be given once, as a string, a boolean or a whole number from -2^53+1 to 2^53-1"
    )]
    Unfit(Cow<'static, str>),
    /// The arguments contain an unreadable value, so the headers cannot be checked.
    #[error("Header mismatch: the arguments to compare the headers with cannot be read")]
    Unreadable,
}

impl From<Mismatch> for ErrorObject {
    fn from(mismatch: Mismatch) -> Self {
        Self::new(HEADER_MISMATCH, mismatch.to_string())
    }
}
