//! Streams that another process gave to this one, read and written when they are ready.
//!
//! Such a stream is shared with other processes, and so is whether it blocks: it is left as it is. Before
//! each read and write the system is asked whether it would block now, since what it told of the stream
//! before may be out of date.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::retry_on_intr,
    pipe::PIPE_BUF,
};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, unix::AsyncFd};

/// A stream that is read.
pub(super) struct Input(AsyncFd<File>);

/// A stream that is written.
pub(super) struct Output(AsyncFd<File>);

/// Makes streams of two descriptors. Gives them back where the system does not tell when they are
/// ready, as of files, or a write may block nonetheless, as to a terminal that was stopped.
pub(super) fn streams(input: File, output: File) -> Result<(Input, Output), (File, File)> {
    if input.is_terminal() || output.is_terminal() {
        return Err((input, output));
    }
    let input = match watch(input, Interest::READABLE) {
        Ok(input) => input,
        Err(input) => return Err((input, output)),
    };
    match watch(output, Interest::WRITABLE) {
        Ok(output) => Ok((Input(input), Output(output))),
        Err(output) => Err((input.into_inner(), output)),
    }
}

fn watch(stream: File, interest: Interest) -> Result<AsyncFd<File>, File> {
    #[expect(
        deprecated,
        reason = "its heir is not safe, as it takes descriptors that may be closed meanwhile: not a file's"
    )]
    let watched = AsyncFd::try_with_interest(stream, interest);
    watched.map_err(|refused| refused.into_parts().0)
}

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(cx))?;
            let mut stream = ready.get_inner();
            if is_ready(stream, PollFlags::IN)? {
                match stream.read(space.initialize_unfilled()) {
                    Ok(read) => {
                        // What ends before the space does was all there is.
                        if 0 < read && read < space.remaining() {
                            ready.clear_ready();
                        }
                        space.advance(read);
                        return Poll::Ready(Ok(()));
                    }
                    Err(error) => match error.kind() {
                        io::ErrorKind::Interrupted => continue,
                        // Another process has made the stream non-blocking.
                        io::ErrorKind::WouldBlock => {}
                        _ => return Poll::Ready(Err(error)),
                    },
                }
            }
            ready.clear_ready();
        }
    }
}

impl AsyncWrite for Output {
    /// Writes no more than a pipe that is ready takes whole (POSIX, `PIPE_BUF`): more would block.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(cx))?;
            let mut stream = ready.get_inner();
            if is_ready(stream, PollFlags::OUT)? {
                match stream.write(&bytes[..bytes.len().min(PIPE_BUF)]) {
                    Ok(written) => return Poll::Ready(Ok(written)),
                    Err(error) => match error.kind() {
                        io::ErrorKind::Interrupted => continue,
                        io::ErrorKind::WouldBlock => {}
                        _ => return Poll::Ready(Err(error)),
                    },
                }
            }
            ready.clear_ready();
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// It ends when it is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Whether the stream can be read or written now, or has failed.
fn is_ready(stream: &File, way: PollFlags) -> io::Result<bool> {
    let now = Timespec::default();
    let ready = retry_on_intr(|| poll(&mut [PollFd::new(stream, way)], Some(&now)))?;
    Ok(ready > 0)
}
