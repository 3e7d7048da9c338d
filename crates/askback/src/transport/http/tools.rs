//! The arguments that tools want mirrored in headers
//! (2026-07-28, basic/transports/streamable-http, Custom Headers from Tool Parameters).

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback_core::{http::params::Annotations, protocol::Schema};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What the lists of tools said last, and the lists before that: until a new list was read to its
/// end, a tool may stand in the old one alone.
#[derive(Debug, Default)]
pub(super) struct Tools(Mutex<Lists>);

#[derive(Debug, Default)]
struct Lists {
    current: HashMap<String, Arc<Annotations>>,
    before: HashMap<String, Arc<Annotations>>,
}

#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    input_schema: Schema,
}

/// What came of reading a page of tools.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// The page without the tools whose annotations are forbidden, if it has any.
    pub(super) mended: Option<Box<RawValue>>,
    /// Why tools were left out.
    pub(super) notes: Vec<String>,
}

impl Tools {
    pub(super) fn get(&self, tool: &str) -> Option<Arc<Annotations>> {
        let lists = self.lock();
        let known = lists.current.get(tool).or_else(|| lists.before.get(tool));
        known.cloned()
    }

    /// Takes in a page. What cannot be read as one is for others to complain of.
    pub(super) fn read(&self, page: &RawValue, is_first: bool) -> Read {
        let mut read = Read::default();
        let Ok(listed) = serde_json::from_str::<Listed<'_>>(page.get()) else {
            return read;
        };
        let mut lists = self.lock();
        if is_first {
            lists.before = mem::take(&mut lists.current);
        }
        let mut kept = Vec::with_capacity(listed.tools.len());
        for raw in listed.tools {
            let Ok(tool) = serde_json::from_str::<Tool>(raw.get()) else {
                kept.push(raw);
                continue;
            };
            match Annotations::of(&tool.input_schema) {
                Ok(annotations) => {
                    kept.push(raw);
                    lists.before.remove(&tool.name);
                    if annotations.is_empty() {
                        lists.current.remove(&tool.name);
                    } else {
                        lists.current.insert(tool.name, Arc::new(annotations));
                    }
                }
                Err(bad) => {
                    let note = format!("the tool {:?} was left out: {bad}", tool.name);
                    read.notes.push(note);
                }
            }
        }
        if !read.notes.is_empty() {
            read.mended = with_tools(page, &kept);
        }
        read
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The page with these tools.
fn with_tools(page: &RawValue, tools: &[&RawValue]) -> Option<Box<RawValue>> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(page.get()).ok()?;
    let tools = serde_json::value::to_raw_value(tools).ok()?;
    members.insert("tools".to_owned(), tools);
    serde_json::value::to_raw_value(&members).ok()
}
