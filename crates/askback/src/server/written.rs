//! The pages of lists that are the same for everybody, as they were written.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback_core::{
    jsonrpc::{RequestId, WrittenResponse},
    revision::Revision,
};

/// The pages of a catalog that were written, for as long as that is the catalog.
#[derive(Default)]
pub(super) struct WrittenPages(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    pages: HashMap<Place, Arc<WrittenResponse>>,
    bytes: usize,
}

/// Which page: of what kind of offers, in the words of which revision, and from which item on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) kind: &'static str,
    pub(super) revision: Revision,
    pub(super) start: usize,
}

impl WrittenPages {
    /// The page at a place, if it was written.
    pub(super) fn get(&self, place: &Place) -> Option<Arc<WrittenResponse>> {
        self.lock().pages.get(place).cloned()
    }

    /// Keeps the response to the request of this id, which is the page at a place, if that leaves all
    /// pages together at `most` bytes.
    pub(super) fn keep(&self, place: Place, response: &[u8], id: &RequestId, most: usize) {
        if response.len() > most.saturating_sub(self.lock().bytes) {
            return;
        }
        let Some(page) = WrittenResponse::new(response, id) else {
            return;
        };
        let mut kept = self.lock();
        let bytes = kept.bytes + page.kept_bytes();
        if bytes <= most && !kept.pages.contains_key(&place) {
            kept.pages.insert(place, Arc::new(page));
            kept.bytes = bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy is for the next catalog, of which nothing is written yet.
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
        assert!(pages.lock().bytes <= most);

        let given = pages.get(&at(0)).unwrap().to_vec(&"b".into());
        assert_eq!(given, write_result(&"b".into(), &["a tool"; 32]));
        assert!(pages.clone().get(&at(0)).is_none());
    }
}
