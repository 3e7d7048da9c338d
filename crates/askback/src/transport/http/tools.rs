//! The arguments that tools want mirrored in headers (2026-07-28, basic/transports/streamable-http,
//! Custom Headers from Tool Parameters).

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback_core::{http::params::HeaderAnnotations, limits::Limits, protocol::Schema};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The current and the previous lists of tools. Until a new list is complete, a tool may be only in
/// the old one.
#[derive(Debug, Default)]
pub(super) struct Tools(Mutex<Lists>);

#[derive(Debug, Default)]
struct Lists {
    current: List,
    before: List,
}

#[derive(Debug, Default)]
struct List {
    tools: HashMap<String, ToolHeaders>,
    /// The length of these tools in the listing, in bytes.
    bytes: usize,
}

#[derive(Debug)]
struct ToolHeaders {
    annotations: Arc<HeaderAnnotations>,
    bytes: usize,
}

#[derive(Deserialize)]
struct ToolList<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    input_schema: Schema,
}

#[derive(Debug, Default)]
pub(super) struct ToolPage {
    /// The page without the tools that have forbidden annotations, if there were any.
    pub(super) mended: Option<Box<RawValue>>,
    pub(super) notes: Vec<String>,
}

impl Tools {
    pub(super) fn get(&self, tool: &str) -> Option<Arc<HeaderAnnotations>> {
        let lists = self.lock();
        let current = lists.current.tools.get(tool);
        let known = current.or_else(|| lists.before.tools.get(tool))?;
        Some(Arc::clone(&known.annotations))
    }

    /// Reads a page. An unreadable page is reported elsewhere. Tools beyond
    /// [`limits.client.list_bytes`](crate::limits::ClientLimits::list_bytes) are not mirrored.
    pub(super) fn read(&self, page: &RawValue, is_first: bool, limits: &Limits) -> ToolPage {
        let mut read = ToolPage::default();
        let Ok(listed) = serde_json::from_str::<ToolList<'_>>(page.get()) else {
            return read;
        };
        let mut lists = self.lock();
        if is_first {
            lists.before = mem::take(&mut lists.current);
        }
        let mut left_out = 0;
        let mut kept = Vec::with_capacity(listed.tools.len());
        for raw in listed.tools {
            let Ok(tool) = serde_json::from_str::<Tool>(raw.get()) else {
                kept.push(raw);
                continue;
            };
            match HeaderAnnotations::of(&tool.input_schema) {
                Ok(annotations) => {
                    kept.push(raw);
                    lists.before.remove(&tool.name);
                    lists.current.remove(&tool.name);
                    let room = limits.client.list_bytes.saturating_sub(lists.current.bytes);
                    if !annotations.is_empty() && raw.get().len() <= room {
                        lists.current.insert(tool.name, annotations, raw);
                    }
                }
                Err(bad) => {
                    left_out += 1;
                    if left_out <= limits.client.malformed_reports {
                        let note = format!("the tool {:?} was left out: {bad}", tool.name);
                        read.notes.push(note.chars().take(LONGEST_NOTE).collect());
                    }
                }
            }
        }
        if left_out > 0 {
            read.mended = with_tools(page, &kept);
        }
        let more = left_out.saturating_sub(limits.client.malformed_reports);
        if more > 0 {
            read.notes.push(format!("{more} more tools were left out"));
        }
        read
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn insert(&mut self, name: String, annotations: HeaderAnnotations, listed: &RawValue) {
        let bytes = listed.get().len();
        let annotations = Arc::new(annotations);
        self.tools.insert(name, ToolHeaders { annotations, bytes });
        self.bytes += bytes;
    }

    fn remove(&mut self, name: &str) {
        if let Some(removed) = self.tools.remove(name) {
            self.bytes -= removed.bytes;
        }
    }
}

/// The maximum length of a note, in characters.
const LONGEST_NOTE: usize = 500;

fn with_tools(page: &RawValue, tools: &[&RawValue]) -> Option<Box<RawValue>> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(page.get()).ok()?;
    let tools = serde_json::value::to_raw_value(tools).ok()?;
    members.insert("tools".to_owned(), tools);
    serde_json::value::to_raw_value(&members).ok()
}
