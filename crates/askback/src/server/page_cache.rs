//! Written responses, and a cache for the pages of lists that are the same for all callers.

use std::{collections::HashMap, sync::Arc};

use askback_core::{
    jsonrpc::{RequestId, WrittenResponse},
    revision::Revision,
};

use crate::mutex::Mutex;

#[derive(Default)]
pub(super) struct WrittenPages(Mutex<PageCache>);

#[derive(Default)]
struct PageCache {
    pages: HashMap<Place, Arc<WrittenResponse>>,
    bytes: usize,
}

/// A response to send. The part that it shares with other responses is not copied before it is
/// written.
pub(crate) struct Message {
    own: Vec<u8>,
    page: Option<Arc<WrittenResponse>>,
}

/// The key of a page: the kind of offers, the revision, and the index of the first item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) kind: &'static str,
    pub(super) revision: Revision,
    pub(super) start: usize,
}

impl WrittenPages {
    pub(super) fn get(&self, place: &Place) -> Option<Arc<WrittenResponse>> {
        self.0.lock().pages.get(place).cloned()
    }

    /// Caches the response to this request as the page at a place, if all pages together then have
    /// at most `most` bytes.
    pub(super) fn keep(&self, place: Place, response: &[u8], id: &RequestId, most: usize) {
        if response.len() > most.saturating_sub(self.0.lock().bytes) {
            return;
        }
        let Some(page) = WrittenResponse::new(response, id) else {
            return;
        };
        let mut kept = self.0.lock();
        let bytes = kept.bytes + page.kept_bytes();
        if bytes <= most && !kept.pages.contains_key(&place) {
            kept.pages.insert(place, Arc::new(page));
            kept.bytes = bytes;
        }
    }
}

impl Message {
    pub(super) fn of_page(page: Arc<WrittenResponse>, id: &RequestId) -> Self {
        Self {
            own: page.beginning(id),
            page: Some(page),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        let Self { mut own, page } = self;
        if let Some(page) = page {
            own.extend_from_slice(page.rest());
        }
        own
    }

    /// Returns the response's own bytes, and the page whose [rest](WrittenResponse::rest) follows
    /// them.
    #[cfg(feature = "http-server")]
    pub(crate) fn into_pieces(self) -> (Vec<u8>, Option<Arc<WrittenResponse>>) {
        (self.own, self.page)
    }
}

impl From<Vec<u8>> for Message {
    fn from(own: Vec<u8>) -> Self {
        Self { own, page: None }
    }
}

/// A cloned catalog is about to change, so it starts with an empty cache.
impl Clone for WrittenPages {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use askback_core::jsonrpc::write_result;

    use super::*;

    fn at(start: usize) -> Place {
        Place {
            kind: "tools",
            revision: Revision::LATEST,
            start,
        }
    }

    #[test]
    fn pages_are_kept_up_to_a_bound() {
        let pages = WrittenPages::default();
        let page = write_result(&1.into(), &["a tool"; 32]);
        let most = 2 * page.len();
        for start in 0..3 {
            pages.keep(at(start), &page, &1.into(), most);
        }
        let kept = [0, 1, 2].map(|start| pages.get(&at(start)).is_some());
        assert_eq!(kept, [true, true, false]);
        assert!(pages.0.lock().bytes <= most);

        let given = Message::of_page(pages.get(&at(0)).unwrap(), &"b".into());
        assert_eq!(given.into_vec(), write_result(&"b".into(), &["a tool"; 32]));
        assert!(pages.clone().get(&at(0)).is_none());
    }
}
