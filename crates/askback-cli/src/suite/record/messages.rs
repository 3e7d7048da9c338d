//! The messages of a recorded session, in a file beside the suite.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use askback_host::wire;
use serde_json::Value;

use super::secrets::Secrets;
use crate::{own_files::OwnFile, private_file, wire::WireLog};

/// The messages of a session, and the file that they are written to.
pub(super) struct Messages {
    path: PathBuf,
    log: Option<WireLog>,
    /// The file, once something was written.
    file: Option<OwnFile>,
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

    /// Takes note of the tokens in what the server sent since the last time.
    pub(super) fn note_tokens(&self, secrets: &mut Secrets) {
        let Some(log) = &self.log else { return };
        let wire = log.lock();
        let is_new = |entry: &&wire::Entry| {
            entry.number() > self.last && !entry.is_sent() && !entry.is_beside()
        };
        for entry in wire.entries().filter(is_new) {
            if let Ok(message) = serde_json::from_slice(entry.message()) {
                secrets.note_tokens(&message);
            }
        }
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
            if entry.is_beside() {
                continue;
            }
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

#[cfg(test)]
mod tests {
    use askback::transport::WireEvent;
    use askback_core::limits::Limits;
    use askback_host::relay::Relay;
    use serde_json::json;

    use super::*;

    /// Records messages, each of the client (`>`) or of the server (`<`): what is written, and how many were dropped.
    #[track_caller]
    fn check(name: &str, room: usize, travelled: &[&str], written: &[Value], dropped: u64) {
        let path =
            std::env::temp_dir().join(format!("askback-messages-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut limits = Limits::default();
        limits.host.wire_bytes = room;
        let log = WireLog::new(&limits);
        let observer = log
            .observer(None, &Relay::new().0)
            .expect("no file is wanted");
        for line in travelled {
            let (way, message) = line.split_at(1);
            observer(match way {
                ">" => WireEvent::Sent(message.as_bytes()),
                _ => WireEvent::Received(message.as_bytes()),
            });
        }
        let mut secrets = Secrets::default();
        secrets.note("password", &json!("hush"));
        let mut messages = Messages::new(path.clone());
        messages.attach(Some(&log));
        for _ in 0..2 {
            messages
                .write(&mut secrets)
                .expect("the temporary folder is ours");
        }
        let text = std::fs::read_to_string(&path).expect("it was written");
        std::fs::remove_file(&path).expect("it is ours");
        let found = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("it is JSON");
            line["message"].clone()
        });
        assert_eq!(found.collect::<Vec<_>>(), written);
        assert_eq!(messages.dropped(), dropped);
    }

    #[test]
    fn messages_are_written_once_and_without_secrets() {
        check(
            "batch",
            1 << 20,
            &[
                r#"<[{"id":"hush","result":{"was":"hush"}},{"error":"hush","more":"hush"}]"#,
                "<no JSON: hush",
                r#"<{"id":7,"result":{}}"#,
            ],
            &[
                json!([
                    {"id": "(left out)", "result": {"was": "(left out)"}},
                    {"error": "(left out)", "more": "(left out)"},
                ]),
                json!({"id": 7, "result": {}}),
            ],
            0,
        );
        check(
            "sent",
            1 << 20,
            &[
                r#">{"id":"hush","method":"m","params":{"_meta":{"token":"t1"},"a":"hush","b":"x"}}"#,
                r#"<{"id":"e","method":"m","params":{"mode":"url","url":"https://a.test/?who=ada"}}"#,
                r#"<{"id":1,"result":{"requestState":"hush"}}"#,
            ],
            &[
                json!({
                    "id": "(left out)", "method": "m",
                    "params": {"_meta": {"token": "t1"}, "a": null, "b": "x"},
                }),
                json!({"id": "e", "method": "m", "params": {"mode": "url", "url": "https://a.test/"}}),
                json!({"id": 1, "result": {"requestState": "state 1"}}),
            ],
            0,
        );
    }

    #[test]
    fn messages_that_did_not_fit_are_counted() {
        let long = format!(r#"<{{"id":1,"result":"{}"}}"#, "x".repeat(10_000));
        let last: Value = serde_json::from_str(&long[1..]).expect("it is JSON");
        check("dropped", 15_000, &[&long, &long, &long], &[last], 2);
    }
}
