//! The client's cache of results (2026-07-28, server/utilities/caching).

use alloc::{borrow::ToOwned, boxed::Box, collections::BTreeMap, string::String};
use core::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    limits::ClientLimits,
    protocol::{CacheScope, ClientRequest},
};

/// The method of a request and the parameter that selects its result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    method: &'static str,
    /// The cursor of a list, or the URI of a read.
    parameter: Option<String>,
}

#[derive(Debug)]
pub(super) struct Cache {
    most: usize,
    most_bytes: usize,
    bytes: usize,
    entries: BTreeMap<Key, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StaleResult<'a> {
    Pages(&'a str),
    Read(&'a str),
}

#[derive(Debug)]
struct Entry {
    result: Box<RawValue>,
    until: Duration,
    is_public: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    ttl_ms: Option<i64>,
    cache_scope: Option<CacheScope>,
}

impl Key {
    /// Returns the key if the method is cacheable and the round carries neither answers nor state.
    pub(super) fn of(request: &ClientRequest) -> Option<Self> {
        let parameter = match request {
            ClientRequest::ListTools(params)
            | ClientRequest::ListPrompts(params)
            | ClientRequest::ListResources(params)
            | ClientRequest::ListResourceTemplates(params) => params.cursor.clone(),
            ClientRequest::ReadResource(params)
                if params.input_responses.is_none() && params.request_state.is_none() =>
            {
                Some(params.uri.clone())
            }
            _ => return None,
        };
        Some(Self {
            method: request.known_method(),
            parameter,
        })
    }

    /// Whether this is a page of a list other than the first.
    pub(super) fn is_later_page(&self) -> bool {
        self.method != READ && self.parameter.is_some()
    }

    pub(super) fn method(&self) -> &'static str {
        self.method
    }

    fn bytes(&self) -> usize {
        self.parameter.as_ref().map_or(0, String::len)
    }

    pub(super) fn is_stale(&self, stale: &StaleResult<'_>) -> bool {
        match stale {
            StaleResult::Pages(method) => self.method == *method,
            StaleResult::Read(uri) => self.method == READ && self.parameter.as_deref() == Some(uri),
        }
    }
}

impl Cache {
    pub(super) fn new(limits: &ClientLimits) -> Self {
        Self {
            most: limits.cache_entries,
            most_bytes: limits.cache_bytes,
            bytes: 0,
            entries: BTreeMap::new(),
        }
    }

    pub(super) fn get(&self, key: &Key, now: Duration) -> Option<&RawValue> {
        let entry = self.entries.get(key).filter(|entry| now < entry.until);
        entry.map(|entry| &*entry.result)
    }

    /// Stores a result for the time and audience that it states. A result without a time is not
    /// stored, nor is one larger than the whole cache.
    pub(super) fn put(&mut self, key: Key, result: &RawValue, now: Duration) {
        self.drop_entry(&key);
        let Ok(hints) = serde_json::from_str::<Hints>(result.get()) else {
            return;
        };
        let ttl = hints
            .ttl_ms
            .and_then(|ttl| u64::try_from(ttl).ok())
            .unwrap_or(0);
        let bytes = key.bytes().saturating_add(result.get().len());
        if ttl == 0 || self.most == 0 || bytes > self.most_bytes {
            return;
        }
        self.make_room(bytes, now);
        let entry = Entry {
            result: result.to_owned(),
            until: now.saturating_add(Duration::from_millis(ttl)),
            is_public: hints.cache_scope == Some(CacheScope::Public),
        };
        self.bytes += bytes;
        self.entries.insert(key, entry);
    }

    pub(super) fn forget_private(&mut self) {
        self.retain(|_, entry| entry.is_public);
    }

    pub(super) fn forget(&mut self, stale: &StaleResult<'_>) {
        self.retain(|key, _| !key.is_stale(stale));
    }

    pub(super) fn clear(&mut self) {
        self.retain(|_, _| false);
    }

    fn make_room(&mut self, bytes: usize, now: Duration) {
        if self.fits(bytes) {
            return;
        }
        self.retain(|_, entry| now < entry.until);
        while !self.fits(bytes)
            && let Some(first) = self
                .entries
                .iter()
                .min_by_key(|(_, entry)| entry.until)
                .map(|(key, _)| key.clone())
        {
            self.drop_entry(&first);
        }
    }

    fn fits(&self, bytes: usize) -> bool {
        self.entries.len() < self.most && self.bytes.saturating_add(bytes) <= self.most_bytes
    }

    fn drop_entry(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes(key);
        }
    }

    fn retain(&mut self, mut stays: impl FnMut(&Key, &Entry) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let stays = stays(key, entry);
            if !stays {
                *bytes -= entry.bytes(key);
            }
            stays
        });
    }
}

impl Entry {
    fn bytes(&self, key: &Key) -> usize {
        key.bytes() + self.result.get().len()
    }
}

const READ: &str = "resources/read";
