//! The standard streams of this process, for a server that a client started.

#[cfg(unix)]
use std::{fs::File, io::BufReader};
use std::{
    io::{self, BufRead, Write},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use askback_core::engine::server::Place;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use super::{
    Channel, Sent, WAITING,
    inbox::{Gone, Inbox},
    lines::{Batch, take},
};

/// Whether the standard streams are in use.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The channel over standard input and output, for messages of at most so many bytes.
///
/// On Unix, standard output belongs to the messages alone from here on: they are written to a
/// duplicate of it, and whatever else the process prints, a C library or a child of it too, goes to
/// standard error. Standard input is duplicated as well, and is empty for everybody else: a child that
/// reads it would take messages away. It stays so until the process ends, as the client sees the end of
/// the stream when the channel is closed. On other systems nothing may print to standard output while the channel is
/// in use: what is printed ends up between the messages.
///
/// Each stream has a thread of its own: no system lets a program wait for them all, and a thread
/// that is asked for each line anew costs many times what the line does.
///
/// It must be called within a tokio runtime. Before the process ends,
/// [`close`](super::Sender::close) waits until the last message is written.
///
/// # Errors
///
/// Fails where the streams cannot be duplicated, and where it was called before in this process.
///
/// # Panics
///
/// If the system has no threads to give.
pub fn stdio(max_message_bytes: usize) -> io::Result<Channel> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other(
            "the standard streams of this process serve a client already",
        ));
    }
    let (input, output) = take_streams()?;
    Ok(Channel {
        // Whoever holds the other ends of these streams started this process.
        place: Place::Here,
        ..threads(input, output, max_message_bytes)
    })
}

/// The channel over two streams that block, each with a thread of its own. The reader is made on its
/// thread.
fn threads<R: BufRead>(
    reader: impl FnOnce() -> R + Send + 'static,
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
    thread::spawn(move || read(reader(), put, max_message_bytes));
    thread::spawn(move || {
        write(writer, sent);
        drop(ended);
    });
    // The thread never sends: it is done when its end is dropped.
    let writer = tokio::spawn(async move { writing.await.unwrap_or_default() });
    // A stream may lead anywhere.
    Channel::elsewhere(incoming, None, outgoing, writer)
}

/// Takes the standard streams away from everything but the messages; gives what leads to them.
#[cfg(unix)]
fn take_streams() -> io::Result<(impl FnOnce() -> BufReader<File>, File)> {
    use std::os::fd::AsFd;
    // Duplicates are closed in children, when another program is executed.
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((|| BufReader::new(input), output))
}

/// Gives the standard streams as they are: no safe way leads to others.
#[cfg(not(unix))]
fn take_streams() -> io::Result<(impl FnOnce() -> io::StdinLock<'static>, io::Stdout)> {
    Ok((|| io::stdin().lock(), io::stdout()))
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

#[cfg(test)]
mod tests {
    #[cfg(feature = "testing")]
    #[tokio::test]
    async fn streams_that_block_keep_the_contract() {
        use std::io::{BufReader, pipe};

        let checked = crate::testing::check_transport(async |max_bytes| {
            let (ours, theirs) = (pipe().unwrap(), pipe().unwrap());
            [(ours.0, theirs.1), (theirs.0, ours.1)].map(|(reader, writer)| {
                super::threads(|| BufReader::new(reader), writer, max_bytes)
            })
        });
        checked.await.unwrap_or_else(|broken| panic!("{broken}"));
    }
}
