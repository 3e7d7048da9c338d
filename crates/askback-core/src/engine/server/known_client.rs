//! Caches the description that clients send with each request.

use alloc::{boxed::Box, sync::Arc};

use super::{ClientLocation, Origin};
use crate::{ask::Principal, protocol::Meta};

/// A client's description in the stateless era, with its JSON text.
///
/// Each request of that era describes its client, nearly always with the same text.
/// [`ReceivedMessage::parse`](super::ReceivedMessage::parse) does not parse a known text again.
///
/// The principal is not part of it, because a client's description of itself proves nothing.
#[derive(Debug)]
pub struct KnownClient {
    text: Box<str>,
    origin: Arc<Origin>,
}

impl KnownClient {
    /// The longest text that is cached, in bytes.
    pub const TEXT_BYTES: usize = 1024;

    /// Only one in this many calls with an unknown text is learned, because learning is useless if
    /// every text is new.
    pub const RARELY: u32 = 64;

    pub(super) fn new(text: &str, origin: Origin) -> Self {
        Self {
            text: text.into(),
            origin: Arc::new(origin),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn version(&self) -> &'static str {
        self.origin.revision.as_str()
    }

    pub(super) fn origin(
        &self,
        principal: Option<Arc<Principal>>,
        place: ClientLocation,
    ) -> Arc<Origin> {
        if principal.is_none() && place == self.origin.place {
            return Arc::clone(&self.origin);
        }
        Arc::new(Origin {
            principal,
            place,
            ..Origin::clone(&self.origin)
        })
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.text.len() + size_of::<Origin>() + self.origin.kept_bytes()
    }
}

/// Whether a `_meta` has no members that are specific to one request.
pub(super) fn describes_only_a_client(meta: &Meta) -> bool {
    meta.protocol_version.is_some() && meta.progress_token.is_none() && meta.extra.is_empty()
}
