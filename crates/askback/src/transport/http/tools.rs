//! The arguments that tools want mirrored in headers (2026-07-28, basic/transports/streamable-http,
//! Custom Headers from Tool Parameters).

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback_core::{http::params::HeaderAnnotations, limits::Limits, protocol::Schema};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The tools that want headers. A tool stays known until it is listed again: until a new list is
/// complete, it may be only in the old one.
#[derive(Debug, Default)]
pub(super) struct Tools(Mutex<KnownTools>);

#[derive(Debug, Default)]
struct KnownTools {
    /// The annotations, and the length of the tool in the listing in bytes.
    by_name: HashMap<String, (Arc<HeaderAnnotations>, usize)>,
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
        let known = self.lock();
        let (annotations, _) = known.by_name.get(tool)?;
        Some(Arc::clone(annotations))
    }

    /// Reads a page. An unreadable page is reported elsewhere. Tools beyond
    /// [`limits.client.list_bytes`](crate::limits::ClientLimits::list_bytes) are not mirrored.
    pub(super) fn read(&self, page: &RawValue, is_first: bool, limits: &Limits) -> ToolPage {
        let mut read = ToolPage::default();
        let Ok(listed) = serde_json::from_str::<ToolList<'_>>(page.get()) else {
            return read;
        };
        let mut known = self.lock();
        if is_first && known.bytes > limits.client.list_bytes / 2 {
            // Tools that are gone must not keep out new ones.
            *known = KnownTools::default();
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
                    if let Some((_, bytes)) = known.by_name.remove(&tool.name) {
                        known.bytes -= bytes;
                    }
                    let bytes = raw.get().len();
                    let room = limits.client.list_bytes.saturating_sub(known.bytes);
                    if !annotations.is_empty() && bytes <= room {
                        known.bytes += bytes;
                        known
                            .by_name
                            .insert(tool.name, (Arc::new(annotations), bytes));
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

    fn lock(&self) -> MutexGuard<'_, KnownTools> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
