//! Exchanges with a process, line by line.

use std::{io, time::Duration};

use askback::transport::{ChildLine, OpenChild};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Bounds, Closed, End, LINES, Reply, Sent, Wait};

/// A server that was started.
#[derive(Debug)]
pub(super) struct Process {
    /// The process, until it has ended.
    child: Option<OpenChild>,
    /// The time of its slowest answer.
    slowest: Duration,
    closed: Closed,
}

impl Process {
    pub(super) fn new(child: OpenChild) -> Self {
        Self {
            child: Some(child),
            slowest: Duration::ZERO,
            closed: Closed::default(),
        }
    }

    /// Sends a line, and reads until what is waited for has come. Where the server goes away, its standard error is read
    /// to the end.
    pub(super) async fn exchange(
        &mut self,
        sent: &Sent,
        bounds: &Bounds,
        answer: impl Fn(&Value) -> Value,
    ) -> Reply {
        let began = Instant::now();
        let mut reply = Reply::default();
        let Some(child) = &mut self.child else {
            reply.end = End::Unreachable("the server was gone before".to_owned());
            return reply;
        };
        reply.end = Self::run(child, sent, bounds, answer, &mut reply).await;
        reply.took = began.elapsed();
        if reply.answer.is_some() {
            self.slowest = self.slowest.max(reply.took);
        }
        if matches!(reply.end, End::Closed(_)) {
            self.finish(bounds).await;
            reply.stderr.append(&mut self.closed.stderr);
        }
        reply
    }

    async fn run(
        child: &mut OpenChild,
        sent: &Sent,
        bounds: &Bounds,
        answer: impl Fn(&Value) -> Value,
        reply: &mut Reply,
    ) -> End {
        let patience = bounds.limits.wire.request;
        let deadline = Instant::now().checked_add(patience);
        let deadline = deadline.unwrap_or_else(Instant::now);
        bounds.sends(&sent.body);
        let sending = timeout_at(deadline, child.send(sent.body.clone())).await;
        match sending {
            Ok(Ok(())) if sent.wait == Wait::Nothing => return End::Done,
            // What it said before it went away is read below.
            Ok(_) => {}
            Err(_) => return End::Silent(patience),
        }
        for _ in 0..bounds.messages {
            let received = timeout_at(deadline, output(child, &mut reply.stderr)).await;
            let bytes = match received {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => return End::Closed("the server closed its output".to_owned()),
                Ok(Err(error)) => return End::Closed(error.to_string()),
                Err(_) => return End::Silent(patience),
            };
            reply.bytes = reply.bytes.saturating_add(bytes.len());
            if reply.bytes > bounds.limits.wire.message_bytes {
                return End::TooMuch;
            }
            bounds.receives(&bytes);
            let before = reply.asked.len();
            let is_wanted = reply.take(&bytes, &sent.wait);
            for asked in reply.asked.iter().skip(before) {
                // A server that goes away is found out when it is read.
                let answer = answer(asked).to_string().into_bytes();
                bounds.sends(&answer);
                let answered = child.send(answer);
                let _ = timeout_at(deadline, answered).await;
            }
            if is_wanted {
                return End::Done;
            }
        }
        End::TooMuch
    }

    /// Ends the process.
    pub(super) async fn end(mut self, bounds: &Bounds) -> Closed {
        self.finish(bounds).await;
        self.closed
    }

    async fn finish(&mut self, bounds: &Bounds) {
        let Some(child) = self.child.take() else {
            return;
        };
        let mut limits = bounds.limits.clone();
        limits.client.exit = bounds.patience.exit(limits.client.exit, self.slowest);
        // Where the process cannot be waited for, nothing is known of its end.
        if let Ok(end) = child.end(&limits).await {
            self.closed = Closed {
                code: end.code,
                is_by_itself: Some(end.is_by_itself),
                allowed: limits.client.exit,
                stderr: end.stderr,
                noise: Vec::new(),
            };
        }
        bounds.patience.note_end(self.closed.is_by_itself);
    }
}

/// Receives the next line of the standard output. Of the standard error, which may be of any length, the last lines are
/// kept.
async fn output(child: &mut OpenChild, stderr: &mut Vec<String>) -> io::Result<Option<Vec<u8>>> {
    loop {
        match child.receive().await? {
            Some(ChildLine::Output(bytes)) => return Ok(Some(bytes)),
            Some(ChildLine::Stderr(line)) => {
                if stderr.len() == LINES {
                    stderr.remove(0);
                }
                stderr.push(line);
            }
            Some(_) => {}
            None => return Ok(None),
        }
    }
}
