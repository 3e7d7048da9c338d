//! The error codes of the protocol beside those of JSON-RPC.
//!
//! From 2026-07-28 on, -32020 to -32099 belong to the specification and -32000 to -32019 to
//! implementations (2026-07-28, basic, Error Codes).

/// The headers of an HTTP request do not agree with its body (2026-07-28).
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability the client did not declare (2026-07-28); the data is
/// [`MissingCapability`](super::MissingCapability).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The revision is not served (2026-07-28); the data is
/// [`UnsupportedVersion`](super::UnsupportedVersion).
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// Links must be opened first (2025-11-25); the data is
/// [`UrlElicitationRequired`](super::UrlElicitationRequired).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// A resource does not exist (before 2026-07-28, which says invalid params).
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A person refused what a server asked of a model or of the roots (handshake revisions).
pub const USER_REJECTED: i64 = -1;
