//! Clients that describe themselves with each request.

use alloc::{boxed::Box, sync::Arc};

use super::{ClientLocation, Origin};
use crate::{ask::Principal, protocol::Meta};

/// A client of the stateless era as it describes itself, and the text that does.
///
/// Each request of that era describes its client, nearly always in the words of the one before.
/// [`ReceivedMessage::parse`](super::ReceivedMessage::parse) does not read again what is known.
///
/// A principal is no part of it: what a client says of itself says nothing about who it is.
#[derive(Debug)]
pub struct KnownClient {
    text: Box<str>,
    origin: Arc<Origin>,
}

impl KnownClient {
    /// The longest text that is kept, in bytes.
    pub const TEXT_BYTES: usize = 1024;

    /// Of how many calls that say something new one is learned from. Where each says something else,
    /// learning is in vain.
    pub const RARELY: u32 = 64;

    pub(super) fn new(text: &str, origin: Origin) -> Self {
        Self {
            text: text.into(),
            origin: Arc::new(origin),
        }
    }

    /// The text of its `_meta`.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The revision it speaks.
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

    /// About how many bytes it takes.
    pub(super) fn kept_bytes(&self) -> usize {
        self.text.len() + size_of::<Origin>() + self.origin.kept_bytes()
    }
}

/// Whether nothing in a `_meta` is about one request.
pub(super) fn describes_only_a_client(meta: &Meta) -> bool {
    meta.protocol_version.is_some() && meta.progress_token.is_none() && meta.extra.is_empty()
}
