//! Why headers and body do not agree.

use alloc::{borrow::Cow, string::ToString};

use crate::{jsonrpc::ErrorObject, protocol::codes::HEADER_MISMATCH};

/// The headers of a request do not say what its body says; the client is to blame. It is answered
/// with status 400 and the error this turns into (2026-07-28,
/// basic/transports/streamable-http, Server Validation).
///
/// The text names the header and never what it held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// A header that must be there is not.
    #[error("Header mismatch: the {0} header is missing")]
    Missing(Cow<'static, str>),
    /// A header stands there more than once, so that two readers may see two values.
    #[error("Header mismatch: the {0} header is there more than once")]
    Repeated(Cow<'static, str>),
    /// A header holds what no header may, or base64 that cannot be decoded.
    #[error("Header mismatch: the {0} header holds invalid characters or invalid base64")]
    Invalid(Cow<'static, str>),
    /// A header and the body have different values.
    #[error("Header mismatch: the {0} header does not match the body")]
    Differs(Cow<'static, str>),
    /// A header mirrors an argument that the body does not have.
    #[error("Header mismatch: the {0} header is there, but the argument it mirrors is not")]
    Unexpected(Cow<'static, str>),
    /// An argument cannot be mirrored: it is no string, boolean or whole number from -2^53+1 to
    /// 2^53-1, or is given twice.
    #[error(
        "Header mismatch: the argument mirrored in the {0} header must be given once, as a string, a boolean or a whole number from -2^53+1 to 2^53-1"
    )]
    Unfit(Cow<'static, str>),
    /// The arguments hold something no program can read, so that nothing can be said of what
    /// mirrors them.
    #[error("Header mismatch: the arguments to compare the headers with cannot be read")]
    Unreadable,
}

impl From<Mismatch> for ErrorObject {
    fn from(mismatch: Mismatch) -> Self {
        Self::new(HEADER_MISMATCH, mismatch.to_string())
    }
}
