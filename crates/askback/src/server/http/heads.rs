//! The headers that describe a message and its origin.

use askback_core::http::{
    Mismatch,
    headers::MirroredHeaders,
    media::{AcceptedMedia, Media},
};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};

use super::{
    admission::{VERSION, single},
    response::SESSION_ID,
};

#[derive(Clone, Copy)]
pub(super) struct Heads<'a>(pub(super) &'a HeaderMap);

impl<'a> Heads<'a> {
    pub(super) fn media(self) -> Option<Media> {
        let mut all = self.0.get_all(CONTENT_TYPE).iter();
        match (all.next(), all.next()) {
            (Some(only), None) => Media::of(only.as_bytes()),
            _ => None,
        }
    }

    pub(super) fn accepted(self) -> AcceptedMedia {
        AcceptedMedia::of(self.0.get_all(ACCEPT).iter().map(HeaderValue::as_bytes))
    }

    /// The revision; the first one if there are several.
    pub(super) fn version(self) -> Option<&'a [u8]> {
        self.0.get(VERSION).map(HeaderValue::as_bytes)
    }

    pub(super) fn session(self) -> Result<Option<&'a [u8]>, Mismatch> {
        single(self.0, &SESSION_ID)
    }

    pub(super) fn mirrored(self) -> Result<MirroredHeaders<'a>, Mismatch> {
        let all = self.0.iter();
        MirroredHeaders::of(all.map(|(name, value)| (name.as_str(), value.as_bytes())))
    }
}
