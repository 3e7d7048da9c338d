//! The error codes of MCP, in addition to those of JSON-RPC.
//!
//! From 2026-07-28 on, -32020 to -32099 belong to the specification and -32000 to -32019 to
//! implementations (2026-07-28, basic, Error Codes).

/// The headers of an HTTP request do not match its body (2026-07-28).
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare (2026-07-28). The data is
/// [`MissingCapability`](super::MissingCapability).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The revision is not supported (2026-07-28). The data is
/// [`UnsupportedVersion`](super::UnsupportedVersion).
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// Links must be opened first (2025-11-25). The data is
/// [`UrlElicitationRequired`](super::UrlElicitationRequired).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// The resource does not exist (before 2026-07-28, which uses invalid params).
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user refused sampling or access to the roots (handshake revisions).
pub const USER_REJECTED: i64 = -1;
