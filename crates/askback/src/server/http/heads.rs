//! The headers that describe a message and its origin.

use askback_core::http::{
    Mismatch,
    headers::{self, MirroredHeaders},
    media::{AcceptedMedia, Media},
};
use http::{HeaderMap, HeaderValue, header::ACCEPT};

pub(super) struct Heads<'a> {
    content_type: Head<'a>,
    accept: Head<'a>,
    version: Head<'a>,
    method: Head<'a>,
    name: Head<'a>,
    session: Head<'a>,
    all: &'a HeaderMap,
}

#[derive(Clone, Copy, Default)]
struct Head<'a> {
    first: Option<&'a [u8]>,
    is_repeated: bool,
}

impl<'a> Heads<'a> {
    pub(super) fn of(all: &'a HeaderMap) -> Self {
        let mut heads = Self {
            content_type: Head::default(),
            accept: Head::default(),
            version: Head::default(),
            method: Head::default(),
            name: Head::default(),
            session: Head::default(),
            all,
        };
        for (name, value) in all {
            let head = match name.as_str() {
                "content-type" => &mut heads.content_type,
                "accept" => &mut heads.accept,
                headers::PROTOCOL_VERSION => &mut heads.version,
                headers::METHOD => &mut heads.method,
                headers::NAME => &mut heads.name,
                headers::SESSION_ID => &mut heads.session,
                _ => continue,
            };
            head.is_repeated = head.first.is_some();
            head.first.get_or_insert(value.as_bytes());
        }
        heads
    }

    pub(super) fn all(&self) -> &'a HeaderMap {
        self.all
    }

    pub(super) fn media(&self) -> Option<Media> {
        let media = self.content_type;
        media
            .first
            .filter(|_| !media.is_repeated)
            .and_then(Media::of)
    }

    pub(super) fn accepted(&self) -> AcceptedMedia {
        if self.accept.is_repeated {
            let values = self.all.get_all(ACCEPT).iter();
            AcceptedMedia::of(values.map(HeaderValue::as_bytes))
        } else {
            AcceptedMedia::of(self.accept.first)
        }
    }

    /// The revision; the first one if there are several.
    pub(super) fn version(&self) -> Option<&'a [u8]> {
        self.version.first
    }

    pub(super) fn session(&self) -> Result<Option<&'a [u8]>, Mismatch> {
        self.session.single(headers::SESSION_ID)
    }

    pub(super) fn mirrored(&self) -> Result<MirroredHeaders<'a>, Mismatch> {
        Ok(MirroredHeaders {
            version: self.version.single(headers::PROTOCOL_VERSION)?,
            method: self.method.single(headers::METHOD)?,
            name: self.name.single(headers::NAME)?,
        })
    }
}

impl<'a> Head<'a> {
    fn single(self, name: &'static str) -> Result<Option<&'a [u8]>, Mismatch> {
        if self.is_repeated {
            return Err(Mismatch::Repeated(name.into()));
        }
        Ok(self.first)
    }
}
