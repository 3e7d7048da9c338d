//! A hostile server: it sends every message that a server can send, for any request.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{BufRead, BufReader, Write},
    process::Command,
    thread::{self, JoinHandle},
};

use askback::{Revision, internal::revision::Era};
use serde_json::{Value, json};

use super::strings::{Vocabulary, demanding, hostile, text, twins, with_names};
use crate::scratch::Scratch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// All its messages are valid.
    Readable,
    /// Like [`Readable`](Self::Readable), but without stderr, whose timing is unpredictable.
    InTime,
    /// The responses are errors, and the other messages are invalid.
    Unreadable,
    /// It sends [`FLOOD`] extra messages after each response.
    Flooding,
}

/// The number of messages of a flooding server.
pub(crate) const FLOOD: usize = 2000;

/// A server in a thread of the test. The command starts it like any server.
pub(crate) struct Server {
    /// The command line that starts it.
    pub(crate) command: Vec<String>,
    serving: Option<JoinHandle<()>>,
}

/// Connects the command with the pipes of the test.
const RELAY: &str = "cat \"$1/stderr\" >&2 & cat \"$1/out\" & exec cat > \"$1/in\"\n";

impl Server {
    pub(crate) fn start(scratch: &Scratch, revision: Revision, way: Way) -> Self {
        let folder = scratch.path(".");
        for name in ["in", "out", "stderr"] {
            let made = Command::new("mkfifo").arg(folder.join(name)).status();
            assert!(made.is_ok_and(|status| status.success()));
        }
        let script = scratch.file("relay.sh", RELAY);
        let command = ["sh", &script, &folder.display().to_string()].map(str::to_owned);
        let serving = thread::spawn(move || {
            let open = |name: &str, write: bool| {
                let mut options = OpenOptions::new();
                options.read(!write).write(write).open(folder.join(name))
            };
            let (Ok(input), Ok(out), Ok(stderr)) =
                (open("in", false), open("out", true), open("stderr", true))
            else {
                return;
            };
            let mut serving = Serving::new(revision, way, out, stderr);
            for line in BufReader::new(input).lines().map_while(Result::ok) {
                // The command has exited.
                if serving.hear(&line).is_err() {
                    return;
                }
            }
        });
        Self {
            command: command.to_vec(),
            serving: Some(serving),
        }
    }

    /// Waits until the command has closed the connection.
    pub(crate) fn end(mut self) {
        if let Some(serving) = self.serving.take() {
            assert!(serving.join().is_ok(), "the server failed");
        }
    }
}

struct Serving<W> {
    revision: Revision,
    way: Way,
    readable: Vocabulary,
    unreadable: Vocabulary,
    out: W,
    stderr: W,
    /// The number of calls of each method.
    calls: BTreeMap<String, usize>,
    /// The call that waits for an answer, and the number of questions so far.
    waiting: Option<Value>,
    asked: usize,
}

impl<W: Write> Serving<W> {
    fn new(revision: Revision, way: Way, out: W, stderr: W) -> Self {
        let (readable, unreadable) = hostile(revision);
        Self {
            revision,
            way,
            readable,
            unreadable,
            out,
            stderr,
            calls: BTreeMap::new(),
            waiting: None,
            asked: 0,
        }
    }

    fn hear(&mut self, line: &str) -> std::io::Result<()> {
        let message: Value = serde_json::from_str(line).expect("the client writes JSON");
        let Some(method) = message["method"].as_str() else {
            // The answer to a question: the call can end now.
            return match self.waiting.take() {
                Some(call) if message["id"] == json!("Ж") => self.answer(&call),
                waiting => {
                    self.waiting = waiting;
                    Ok(())
                }
            };
        };
        if message.get("id").is_none() {
            return Ok(());
        }
        let opening = matches!(method, "initialize" | "server/discover");
        if !opening && !method.starts_with("tasks/") {
            self.say_everything(&message)?;
        }
        let question = self.readable.requests.get(self.asked).cloned();
        match question {
            Some(mut question) if method == "tools/call" && self.way != Way::Unreadable => {
                self.asked += 1;
                question["id"] = json!("Ж");
                self.waiting = Some(message.clone());
                self.send(&question)
            }
            _ => self.answer(&message),
        }
    }

    /// Sends all unsolicited messages.
    fn say_everything(&mut self, call: &Value) -> std::io::Result<()> {
        let all = match self.way {
            Way::Readable | Way::InTime => self.readable.notifications.clone(),
            Way::Flooding => Vec::new(),
            Way::Unreadable => self.unreadable.notifications.clone(),
        };
        let token = &call["params"]["_meta"]["progressToken"];
        // Progress that does not increase is not shown.
        let mut progress = [-1e300, 1.0 / 3.0, 1e99, f64::MAX].into_iter();
        for mut message in all {
            if message["method"] == json!("notifications/progress") && !token.is_null() {
                message["params"]["progressToken"] = token.clone();
                message["params"]["progress"] = json!(progress.next());
            }
            self.send(&message)?;
        }
        let number = self.calls.len();
        let mut about_nothing = json!({"jsonrpc": "2.0", "error": {"code": -32603}});
        about_nothing["error"]["message"] = json!(text(number));
        about_nothing["error"]["data"] = json!(text(number + 1));
        self.send(&about_nothing)?;
        writeln!(self.out, "{}", text(number + 2))?;
        if self.way == Way::InTime {
            return self.out.flush();
        }
        writeln!(self.stderr, "{}", text(number))?;
        self.stderr.flush()
    }

    fn answer(&mut self, call: &Value) -> std::io::Result<()> {
        let method = call["method"].as_str().unwrap_or_default().to_owned();
        let times = self.calls.entry(method.clone()).or_default();
        let time = *times;
        *times += 1;
        let opening = matches!(method.as_str(), "initialize" | "server/discover");
        if self.way == Way::Unreadable && !opening {
            return self.answer_badly(call, &method, time);
        }
        let results = self.readable.of(&method);
        let result = match results.len() {
            0 => {
                let mut error = json!({"jsonrpc": "2.0", "error": {"code": -32601}});
                error["id"] = call["id"].clone();
                error["error"]["message"] = json!(text(time));
                return self.send(&error);
            }
            // All results, in turn.
            many => results[time % many].clone(),
        };
        let result = self.fitted(&method, result, call);
        self.send(&json!({"jsonrpc": "2.0", "id": call["id"], "result": result}))?;
        if self.way == Way::Flooding && !opening {
            let line = json!({"level": "error", "data": text(time)});
            for _ in 0..FLOOD {
                let method = "notifications/message";
                self.send(&json!({"jsonrpc": "2.0", "method": method, "params": line}))?;
            }
        }
        Ok(())
    }

    /// Sends an error or an invalid result, in turn.
    fn answer_badly(&mut self, call: &Value, method: &str, time: usize) -> std::io::Result<()> {
        let bad = self.unreadable.of(method);
        let errors = &self.readable.errors;
        let mut message = match bad.get(time / 2) {
            Some(&result) if time.is_multiple_of(2) => json!({"jsonrpc": "2.0", "result": result}),
            _ => errors[(time / 2) % errors.len()].clone(),
        };
        message["id"] = call["id"].clone();
        self.send(&message)
    }

    /// Changes a result so that the client can continue: the right revision, names that can be
    /// typed, and questions if the revision has them in results.
    fn fitted(&self, method: &str, mut result: Value, call: &Value) -> Value {
        let capabilities = json!({
            "tools": {"listChanged": true}, "prompts": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true}, "completions": {}, "logging": {},
        });
        match method {
            "initialize" => {
                result["protocolVersion"] = json!(self.revision.as_str());
                result["capabilities"] = capabilities;
            }
            "server/discover" => {
                result["supportedVersions"] = json!([self.revision.as_str()]);
                result["capabilities"] = capabilities;
            }
            "tools/list" => {
                result = with_names(result, "tools", "name", "t");
                let tools = result["tools"].as_array_mut().expect("it is a list");
                tools.push(demanding());
                tools.push(json!({"name": "v0", "inputSchema": {"type": "object"}}));
            }
            "prompts/list" => {
                result = with_names(result, "prompts", "name", "p");
                result["prompts"]
                    .as_array_mut()
                    .expect("it is a list")
                    .push(twins());
            }
            "tools/call" if self.revision.era() == Era::Modern => {
                let is_answered = !call["params"]["inputResponses"].is_null();
                let question = self.readable.questions.get(self.asked_of());
                if let (false, Some(question)) = (is_answered, question) {
                    let mut questions = json!({});
                    questions[text(9)] = question.clone();
                    return json!({
                        "resultType": "input_required", "inputRequests": questions,
                        "requestState": text(0),
                    });
                }
                // The client polls a task for as long as the server says.
                if result["resultType"] != json!("complete") {
                    result = json!({"resultType": "complete", "content": [{"type": "text", "text": text(1)}]});
                }
            }
            _ => {}
        }
        if let Some(object) = result.as_object_mut() {
            // One page is enough.
            object.remove("nextCursor");
        }
        result
    }

    /// The index of the question for the current call of 2026-07-28.
    fn asked_of(&self) -> usize {
        self.calls.get("tools/call").map_or(0, |calls| calls / 2)
    }

    fn send(&mut self, message: &Value) -> std::io::Result<()> {
        writeln!(self.out, "{message}")?;
        self.out.flush()
    }
}
