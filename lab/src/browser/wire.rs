//! The line protocol between a test and the browser's driver. Responses are matched by number.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{sync::oneshot, time::timeout};

use crate::install::Result;

/// The time limit for a response. The driver itself gives up earlier, with a reason.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time limit for the browser to clean up.
const FAREWELL: Duration = Duration::from_secs(5);

/// The driver's process, which exits when its stdin is closed.
pub(super) struct Wire {
    stdin: Mutex<Option<ChildStdin>>,
    waiting: Arc<Waiting>,
    process: Mutex<Child>,
    /// Notified when the driver has closed its stdout.
    ended: Mutex<mpsc::Receiver<()>>,
}

#[derive(Default)]
struct Waiting(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    last: u64,
    /// Set once there will be no more responses.
    over: bool,
    senders: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Done { id: u64, done: Value },
    Failed { id: u64, failed: String },
}

impl Wire {
    /// Starts the driver, and waits until it has a browser.
    pub(super) async fn start(mut command: Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Chromium logs many complaints on a machine without a desktop.
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().ok_or("the driver has no output")?;
        let waiting = Arc::<Waiting>::default();
        let (began, begun) = oneshot::channel();
        let (end, ended) = mpsc::channel();
        let wire = Self {
            stdin: Mutex::new(stdin),
            waiting: Arc::clone(&waiting),
            process: Mutex::new(process),
            ended: Mutex::new(ended),
        };
        // A thread, so that a browser may outlive the runtime of one test.
        std::thread::spawn(move || {
            read(stdout, &waiting, began);
            drop(end);
        });
        let first = timeout(PATIENCE, begun).await;
        let first = first.map_err(|_| format!("no browser was there within {PATIENCE:?}"))?;
        let first = first.map_err(|_| "the driver of the browser ended before it began")?;
        match first.get("failed").and_then(Value::as_str) {
            Some(reason) => Err(format!("the browser does not start: {reason}").into()),
            None => Ok(wire),
        }
    }

    pub(super) async fn send(&self, mut request: Map<String, Value>) -> Result<Value> {
        let (id, answer) = self.waiting.join().ok_or("the browser has ended")?;
        request.insert("id".to_owned(), id.into());
        self.write(&request)?;
        let answer = timeout(PATIENCE, answer).await;
        self.waiting.leave(id);
        let answer =
            answer.map_err(|_| format!("the browser did not answer within {PATIENCE:?}"))?;
        Ok(answer.map_err(|_| "the browser ended before it was done")??)
    }

    pub(super) fn forget(&self, person: &str) {
        let leave = [("act", "leave"), ("person", person)];
        let mut request: Map<String, Value> = leave
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into_iter()
            .collect();
        request.insert("id".to_owned(), 0.into());
        // A browser that has ended has no persons.
        let _ = self.write(&request);
    }

    fn write(&self, request: &Map<String, Value>) -> Result<()> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        let mut stdin = held(&self.stdin);
        let stdin = stdin.as_mut().ok_or("the driver has no input")?;
        Ok(stdin.write_all(line.as_bytes())?)
    }
}

impl Waiting {
    /// Returns a new number, and the receiver of its response; `None` if there will be no more responses.
    fn join(&self) -> Option<(u64, oneshot::Receiver<Result<Value, String>>)> {
        let mut rows = held(&self.0);
        if rows.over {
            return None;
        }
        rows.last += 1;
        let id = rows.last;
        let (sender, receiver) = oneshot::channel();
        rows.senders.insert(id, sender);
        Some((id, receiver))
    }

    fn leave(&self, id: u64) -> Option<oneshot::Sender<Result<Value, String>>> {
        held(&self.0).senders.remove(&id)
    }

    fn end(&self) {
        let mut rows = held(&self.0);
        rows.over = true;
        rows.senders.clear();
    }
}

fn read(stdout: ChildStdout, waiting: &Waiting, began: oneshot::Sender<Value>) {
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let first = lines
        .next()
        .and_then(|line| serde_json::from_str(&line).ok());
    if let Some(first) = first {
        // The receiver may have given up.
        let _ = began.send(first);
    }
    for line in lines {
        let (id, answer) = match serde_json::from_str(&line) {
            Ok(Line::Done { id, done }) => (id, Ok(done)),
            Ok(Line::Failed { id, failed }) => (id, Err(failed)),
            Err(_) => continue,
        };
        if let Some(sender) = waiting.leave(id) {
            let _ = sender.send(answer);
        }
    }
    waiting.end();
}

impl Drop for Wire {
    fn drop(&mut self) {
        // The driver then closes the browser.
        held(&self.stdin).take();
        let ended = held(&self.ended).recv_timeout(FAREWELL);
        let mut process = held(&self.process);
        if ended == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = process.kill();
        }
        let _ = process.wait();
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
