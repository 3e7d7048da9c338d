//! Exchanges with a process, line by line.

use std::{io, time::Duration};

use askback::transport::{ChildLine, OpenChild};
use tokio::time::{Instant, timeout};

use super::{Bounds, Closed, End, Reply, Sent, Speaker, Wait, keep};

#[derive(Debug)]
pub(super) struct Process {
    /// The process, until it has ended.
    child: Option<OpenChild>,
    /// The time of its slowest answer.
    slowest: Duration,
    pub(super) closed: Closed,
}

impl Process {
    pub(super) fn new(child: OpenChild) -> Self {
        Self {
            child: Some(child),
            slowest: Duration::ZERO,
            closed: Closed::default(),
        }
    }

    /// Sends a line, and reads until what is waited for has come. If the server goes away, its standard error is read to
    /// the end.
    pub(super) async fn exchange(
        &mut self,
        sent: &Sent,
        speaker: &Speaker,
        bounds: &Bounds,
        patience: Duration,
    ) -> Reply {
        let mut reply = Reply::default();
        let Some(child) = &mut self.child else {
            return Reply::unsent(sent);
        };
        let began = Instant::now();
        let running = run(child, sent, speaker, bounds, &mut reply);
        let end = timeout(patience, running).await;
        reply.end = end.unwrap_or(End::Silent(patience));
        reply.took = began.elapsed();
        if reply.answer.is_some() {
            self.slowest = self.slowest.max(reply.took);
        }
        if matches!(reply.end, End::Closed(_)) {
            let stderr = self.finish(bounds).await;
            reply.stderr.extend(stderr);
        }
        reply
    }

    /// Ends the process, and returns what it wrote to its standard error.
    pub(super) async fn finish(&mut self, bounds: &Bounds) -> Vec<String> {
        let Some(child) = self.child.take() else {
            return Vec::new();
        };
        let mut limits = bounds.limits.clone();
        limits.client.exit = bounds.patience.exit(limits.client.exit, self.slowest);
        // If the process cannot be waited for, nothing is known of its end.
        let Ok(end) = child.end(&limits).await else {
            return Vec::new();
        };
        self.closed.is_by_itself = Some(end.is_by_itself);
        self.closed.allowed = limits.client.exit;
        bounds.patience.note_end(end.is_by_itself);
        end.stderr
    }
}

async fn run(
    child: &mut OpenChild,
    sent: &Sent,
    speaker: &Speaker,
    bounds: &Bounds,
    reply: &mut Reply,
) -> End {
    bounds.sends(&sent.body);
    let sending = child.send(sent.body.clone()).await;
    if sending.is_ok() && sent.wait == Wait::Nothing {
        return End::Done;
    }
    // What it said before it went away is read, too.
    for _ in 0..bounds.messages {
        let bytes = match output(child, &mut reply.stderr).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return End::Closed("the server closed its output".to_owned()),
            Err(error) => return End::Closed(error.to_string()),
        };
        reply.bytes = reply.bytes.saturating_add(bytes.len());
        if reply.bytes > bounds.limits.wire.message_bytes {
            return End::TooMuch;
        }
        let (is_wanted, answers) = reply.receive(&bytes, &sent.wait, speaker, bounds);
        for answer in answers {
            bounds.sends(&answer.body);
            // A server that goes away is found out when it is read.
            let _ = child.send(answer.body).await;
        }
        if is_wanted {
            return End::Done;
        }
    }
    End::TooMuch
}

/// Receives the next line of the standard output. Of the standard error, which may be of any length, the last lines are
/// kept.
async fn output(child: &mut OpenChild, stderr: &mut Vec<String>) -> io::Result<Option<Vec<u8>>> {
    loop {
        match child.receive().await? {
            Some(ChildLine::Output(bytes)) => return Ok(Some(bytes)),
            Some(ChildLine::Stderr(line)) => keep(stderr, line),
            Some(_) => {}
            None => return Ok(None),
        }
    }
}
