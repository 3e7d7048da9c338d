//! The keys of `_meta` and the names of extensions, which have the same syntax.

use alloc::{borrow::ToOwned, string::String};

/// Why a text is not a valid key of `_meta` or extension name (2026-07-28, basic/index, `_meta`;
/// basic/versioning, Extension Negotiation).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetaKeyError {
    /// The syntax is wrong.
    #[error(
        "`{0}` cannot be a key of `_meta`: write a name of letters, digits, `-`, `_` and `.`, after a \
         prefix of your own such as `com.example/`"
    )]
    Malformed(String),
    /// The protocol or this library sets the key.
    #[error("the key `{0}` of `_meta` is set by the protocol itself; choose another")]
    Reserved(String),
    /// The name of an extension has no prefix.
    #[error(
        "`{0}` cannot name an extension: begin it with a prefix of your own such as `com.example/`"
    )]
    NoPrefix(String),
}

/// The keys of the protocol and of this library.
pub(super) mod key {
    pub(in crate::protocol) const PROGRESS_TOKEN: &str = "progressToken";
    pub(in crate::protocol) const PROTOCOL_VERSION: &str =
        "io.modelcontextprotocol/protocolVersion";
    pub(in crate::protocol) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub(in crate::protocol) const CLIENT_CAPABILITIES: &str =
        "io.modelcontextprotocol/clientCapabilities";
    pub(in crate::protocol) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub(in crate::protocol) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    pub(in crate::protocol) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    pub(in crate::protocol) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    pub(in crate::protocol) const ASK_KEY: &str = "dev.askback/key";
    pub(in crate::protocol) const REASON: &str = "dev.askback/reason";
    pub(in crate::protocol) const DECLINED: &str = "dev.askback/declined";
    pub(in crate::protocol) const ANSWERED_BY: &str = "dev.askback/answered-by";
    pub(in crate::protocol) const CHALLENGE: &str = "dev.askback/challenge";
    pub(in crate::protocol) const RECEIPT: &str = "dev.askback/receipt";

    /// The keys that have a field or belong to answers.
    pub(in crate::protocol) const RESERVED: [&str; 14] = [
        PROGRESS_TOKEN,
        PROTOCOL_VERSION,
        CLIENT_INFO,
        CLIENT_CAPABILITIES,
        LOG_LEVEL,
        SUBSCRIPTION_ID,
        SERVER_INFO,
        RELATED_TASK,
        ASK_KEY,
        REASON,
        DECLINED,
        ANSWERED_BY,
        CHALLENGE,
        RECEIPT,
    ];
}

/// Checks the syntax of a key: an optional prefix of labels, and a name. Returns whether it has a
/// prefix.
fn check_key(key: &str) -> Result<bool, MetaKeyError> {
    let malformed = || MetaKeyError::Malformed(key.to_owned());
    let (prefix, name) = match key.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_label = |label: &str| {
        label.starts_with(|c: char| c.is_ascii_alphabetic())
            && label.ends_with(|c: char| c.is_ascii_alphanumeric())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    if !prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) {
        return Err(malformed());
    }
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    match is_name {
        true => Ok(prefix.is_some()),
        false => Err(malformed()),
    }
}

/// Checks a key that is not reserved.
pub(super) fn check_free(key: &str) -> Result<(), MetaKeyError> {
    match key::RESERVED.contains(&key) {
        true => Err(MetaKeyError::Reserved(key.to_owned())),
        false => check_key(key).map(drop),
    }
}

/// Checks the name of an extension: a key with a prefix.
pub(super) fn check_extension(name: &str) -> Result<(), MetaKeyError> {
    match check_key(name)? {
        true => Ok(()),
        false => Err(MetaKeyError::NoPrefix(name.to_owned())),
    }
}
