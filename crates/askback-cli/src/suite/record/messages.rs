//! The messages of a recorded session, in a file beside the suite.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use askback_host::wire;
use serde_json::Value;

use super::secrets::Secrets;
use crate::{private_file, wire::WireLog};

/// The messages of a session, and the file that they are written to.
pub(super) struct Messages {
    path: PathBuf,
    log: Option<WireLog>,
    /// The file, once something was written.
    file: Option<File>,
    /// The number of the last message that was written.
    last: u64,
    /// How many were dropped before they could be.
    dropped: u64,
}

impl Messages {
    /// Nothing yet, and no file.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            log: None,
            file: None,
            last: 0,
            dropped: 0,
        }
    }

    /// The path of the file.
    pub(super) fn file(&self) -> &Path {
        &self.path
    }

    /// How many messages were too large to be kept until they could be written.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Writes the messages of this log from now on, those before among them.
    pub(super) fn attach(&mut self, log: Option<&WireLog>) {
        self.log = log.cloned();
    }

    /// Writes what travelled since the last time, without the secrets.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub(super) fn write(&mut self, secrets: &mut Secrets) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            // Another program may have made it meanwhile.
            None => self.file.insert(private_file::create_new(&self.path)?),
        };
        let mut text = String::new();
        let wire = log.lock();
        let new = wire.entries().filter(|entry| entry.number() > self.last);
        let mut last = self.last;
        for entry in new {
            let missing = entry.number().saturating_sub(last).saturating_sub(1);
            self.dropped = self.dropped.saturating_add(missing);
            last = entry.number();
            // What is no message has no place in a conversation.
            let Ok(mut message) = serde_json::from_slice::<Value>(entry.message()) else {
                continue;
            };
            let left_out = match &mut message {
                Value::Array(batch) => {
                    for message in batch {
                        secrets.leave_out(message, entry.is_sent());
                    }
                    Vec::new()
                }
                message => secrets.leave_out(message, entry.is_sent()),
            };
            text.push_str(&wire::line_without(
                wire.began(),
                entry,
                &message,
                &left_out,
            ));
            text.push('\n');
        }
        drop(wire);
        self.last = last;
        file.write_all(text.as_bytes())
    }
}
