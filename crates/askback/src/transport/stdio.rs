//! The standard streams of this process, for a server that a client started.

#[cfg(unix)]
use std::fs::File;
use std::{
    io::{self, Read, Write},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use askback_core::{engine::server::ClientLocation, jsonrpc::KEPT_ENDS};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use super::{
    Channel, WAITING,
    framing::{LineBuffer, LineQueue, WRITTEN_AT_ONCE},
    inbox::{ClosedInbox, Inbox, QueuedMessage},
};
#[cfg(unix)]
use super::{descriptor, lines};

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Makes the channel over standard input and output, for messages of at most the given number of
/// bytes.
///
/// On Unix, standard output then carries only messages: they are written to a duplicate of it, and
/// everything else that the process, a C library or a child prints goes to standard error. Standard
/// input is duplicated as well, and other readers see it as empty, so that a child cannot take
/// messages away. This lasts until the process ends, because the client sees the end of the stream
/// when the channel is closed. On other systems nothing may print to standard output while the
/// channel is in use, because the output would appear between the messages.
///
/// The task that serves the channel reads and writes pipes and sockets, which clients give to their
/// servers. Files and terminals, and all streams on systems other than Unix, get a thread each,
/// because the system cannot wait for all of them.
///
/// Must be called within a tokio runtime whose I/O is enabled, such as that made by
/// `#[tokio::main]`. Before the process ends, call [`close`](super::Sender::close), which waits
/// until the last message is written.
///
/// # Errors
///
/// Fails if the streams cannot be duplicated, or if this process has called it before.
///
/// # Panics
///
/// If the runtime has no I/O, or the system cannot start a thread that is needed.
pub fn stdio(max_message_bytes: usize) -> io::Result<Channel> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other(
            "the standard streams of this process serve a client already",
        ));
    }
    Ok(Channel {
        // The process at the other end started this process.
        place: ClientLocation::Here,
        ..streams(max_message_bytes)?
    })
}

#[cfg(unix)]
fn streams(max_message_bytes: usize) -> io::Result<Channel> {
    use std::os::fd::AsFd;
    // Duplicates are closed when a child executes another program.
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(over(input, output, max_message_bytes))
}

/// Makes the channel over the standard streams as they are: they cannot be redirected safely.
#[cfg(not(unix))]
fn streams(max_message_bytes: usize) -> io::Result<Channel> {
    Ok(threads(io::stdin(), io::stdout(), max_message_bytes))
}

#[cfg(unix)]
fn over(input: File, output: File, max_message_bytes: usize) -> Channel {
    match descriptor::streams(input, output) {
        Ok((input, output)) => lines(input, output, max_message_bytes),
        Err((input, output)) => threads(input, output, max_message_bytes),
    }
}

fn threads(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    max_message_bytes: usize,
) -> Channel {
    let (received, incoming) = Inbox::new(max_message_bytes);
    let runtime = Handle::current();
    let (outgoing, sent) = mpsc::channel(WAITING);
    let (ended, writing) = oneshot::channel::<()>();
    let put = move |line: Vec<u8>| {
        let bytes = line.len();
        received.blocking_put(line, bytes, &runtime)
    };
    thread::spawn(move || read(reader, put, max_message_bytes));
    thread::spawn(move || {
        write(writer, sent);
        drop(ended);
    });
    // The thread never sends a value: `writing` completes when the thread drops its end.
    let writer = tokio::spawn(async move { writing.await.unwrap_or_default() });
    Channel::of_queues(incoming, None, outgoing, Some(writer))
}

/// Ends when the stream ends or fails, or the receiver is gone.
fn read(mut reader: impl Read, put: impl Fn(Vec<u8>) -> Result<(), ClosedInbox>, most: usize) {
    let mut lines = LineBuffer::new(most, KEPT_ENDS);
    let put_line = |line: &[u8]| {
        let is_blank = line.trim_ascii().is_empty();
        if is_blank { Ok(()) } else { put(line.to_vec()) }
    };
    loop {
        while let Some(line) = lines.next() {
            if put_line(lines.get(line)).is_err() {
                return;
            }
        }
        match reader.read(lines.space()) {
            Ok(0) => break,
            Ok(bytes) => lines.add(bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
    if let Some(line) = lines.last() {
        // The stream has ended either way.
        let _ = put_line(lines.get(line));
    }
}

fn write(mut writer: impl Write, mut sent: mpsc::Receiver<QueuedMessage<Vec<u8>>>) {
    let mut lines = LineQueue::default();
    while let Some(first) = sent.blocking_recv() {
        let (mut next, mut flushed) = (Some(first), Vec::new());
        while let Some(queued) = next {
            match queued.written {
                Some(done) => flushed.push(done),
                None => lines.add(queued.message),
            }
            let has_room = lines.len() < WRITTEN_AT_ONCE;
            next = if has_room { sent.try_recv().ok() } else { None };
        }
        while let Some(piece) = lines.piece() {
            if writer.write_all(piece).is_err() {
                return;
            }
            let bytes = piece.len();
            lines.wrote(bytes);
        }
        if writer.flush().is_err() {
            return;
        }
        for done in flushed {
            // The caller may have stopped waiting.
            let _ = done.send(());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs::{self, File},
        io::pipe,
        os::{fd::OwnedFd, unix::net::UnixStream},
    };

    use super::{over, threads};
    use crate::transport::{Channel, contract::broken_rules};

    /// Two ends of a connection, each as the descriptors to read and to write.
    type Ends = [(File, File); 2];

    fn pipes() -> Ends {
        let (ours, theirs) = (pipe().unwrap(), pipe().unwrap());
        let file = |descriptor: OwnedFd| File::from(descriptor);
        [
            (file(ours.0.into()), file(theirs.1.into())),
            (file(theirs.0.into()), file(ours.1.into())),
        ]
    }

    /// Node gives its children a pair of sockets for each direction.
    fn sockets() -> Ends {
        let (ours, theirs) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        let file = |socket: UnixStream| File::from(OwnedFd::from(socket));
        [
            (file(ours.0), file(theirs.0)),
            (file(theirs.1), file(ours.1)),
        ]
    }

    async fn check(ends: fn() -> Ends, channel: fn(File, File, usize) -> Channel) {
        let broken = broken_rules(async |max_bytes| {
            ends().map(|(input, output)| channel(input, output, max_bytes))
        });
        assert_eq!(broken.await, []);
    }

    #[tokio::test]
    async fn streams_that_are_waited_for_keep_the_contract() {
        for ends in [pipes, sockets] {
            check(ends, over).await;
        }
    }

    /// The system cannot report when a file is ready.
    #[tokio::test]
    async fn files_are_read_and_written_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        fs::write(path("input"), "{\"a\":1}\n[]\n").unwrap();
        let input = File::open(path("input")).unwrap();
        let output = File::create(path("output")).unwrap();
        let (mut receiver, mut sender) = over(input, output, 100).split();
        let mut received = Vec::new();
        while let Some(message) = receiver.receive().await.unwrap() {
            received.push(String::from_utf8(message).unwrap());
        }
        assert_eq!(received, ["{\"a\":1}", "[]"]);
        sender.send(b"{}".to_vec()).await.unwrap();
        sender.close().await.unwrap();
        assert_eq!(fs::read_to_string(path("output")).unwrap(), "{}\n");
    }

    #[tokio::test]
    async fn streams_with_a_thread_each_keep_the_contract() {
        for ends in [pipes, sockets] {
            check(ends, threads).await;
        }
    }
}
