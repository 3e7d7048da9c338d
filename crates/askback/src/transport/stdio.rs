//! The standard streams of this process, for a server that a client started.

use std::{
    io::{self, BufRead, Write},
    thread,
};

use askback_core::engine::server::Place;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use super::{
    Channel, Messages, Receiver, Sender, Sent, WAITING,
    inbox::{Gone, Inbox},
    lines::{Batch, take},
};

/// The channel over standard input and output, for messages of at most so many bytes. Nothing else
/// may write to standard output while it is in use.
///
/// Each stream has a thread of its own: no system lets a program wait for them all, and a thread
/// that is asked for each line anew costs many times what the line does.
///
/// It must be called within a tokio runtime, once. Before the process ends,
/// [`close`](super::Sender::close) waits until the last message is written.
///
/// # Panics
///
/// If the system has no threads to give.
#[must_use]
pub fn stdio(max_message_bytes: usize) -> Channel {
    let (received, incoming) = Inbox::new(max_message_bytes);
    let runtime = Handle::current();
    let (outgoing, sent) = mpsc::channel(WAITING);
    let (ended, writing) = oneshot::channel::<()>();
    let put = move |line: Vec<u8>| {
        let bytes = line.len();
        received.blocking_put(line, bytes, &runtime)
    };
    thread::spawn(move || read(io::stdin().lock(), put, max_message_bytes));
    thread::spawn(move || {
        write(io::stdout(), sent);
        drop(ended);
    });
    // The thread never sends: it is done when its end is dropped.
    let writer = tokio::spawn(async move { writing.await.unwrap_or_default() });
    Channel {
        receiver: Receiver {
            messages: incoming,
            reader: None,
        },
        sender: Sender {
            messages: Some(Messages::Written(outgoing)),
            writer: Some(writer),
        },
        // Whoever holds the other ends of these streams started this process.
        place: Place::Here,
    }
}

/// Reads lines until the stream ends or nobody wants them any more. A stream that fails has ended.
fn read(mut reader: impl BufRead, put: impl Fn(Vec<u8>) -> Result<(), Gone>, most: usize) {
    let mut line = Vec::new();
    loop {
        let Ok(read) = reader.fill_buf() else { return };
        let is_end = read.is_empty();
        let (used, ended) = take(&mut line, read, most);
        reader.consume(used);
        if ended || is_end {
            let line = std::mem::take(&mut line);
            let is_blank = line.trim_ascii().is_empty();
            if (!is_blank && put(line).is_err()) || is_end {
                return;
            }
        }
    }
}

fn write(mut writer: impl Write, mut sent: mpsc::Receiver<Sent>) {
    let mut next = sent.blocking_recv();
    while let Some(first) = next {
        let batch = Batch::gather(first, &mut sent);
        if writer.write_all(&batch.lines).is_err() || writer.flush().is_err() {
            return;
        }
        next = batch.written().or_else(|| sent.blocking_recv());
    }
}
