//! Streams inherited from another process, read and written when they are ready.
//!
//! The stream is shared with other processes, and so is its blocking mode, which is therefore
//! not changed. Before each read and write, the system is asked whether it would block now, because
//! earlier readiness may be out of date. A closed stream has ended even if another process opens it
//! again, as is possible with a named pipe: the system keeps reporting the end.

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

pub(super) struct Input(AsyncFd<File>);

pub(super) struct Output(AsyncFd<File>);

/// Makes streams from two descriptors. Returns the descriptors if the system cannot report when
/// they are ready (files), or if a write may still block (a terminal that was stopped).
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
                        // A short read got everything there was.
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
            if ready.ready().is_read_closed() {
                return Poll::Ready(Ok(()));
            }
            ready.clear_ready();
        }
    }
}

impl AsyncWrite for Output {
    /// Writes at most what a ready pipe takes whole (POSIX, `PIPE_BUF`), because more would block.
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
            if ready.ready().is_write_closed() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            ready.clear_ready();
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The stream closes when it is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn is_ready(stream: &File, way: PollFlags) -> io::Result<bool> {
    let now = Timespec::default();
    let ready = retry_on_intr(|| poll(&mut [PollFd::new(stream, way)], Some(&now)))?;
    Ok(ready > 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        fs::OpenOptions,
        os::fd::{AsFd, AsRawFd, OwnedFd},
        task::Waker,
    };

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        task::yield_now,
    };

    use super::*;

    fn file(end: impl Into<OwnedFd>) -> File {
        File::from(end.into())
    }

    fn open_again(end: &impl AsFd, options: &mut OpenOptions) -> File {
        let path = format!("/proc/self/fd/{}", end.as_fd().as_raw_fd());
        options.open(path).unwrap()
    }

    #[tokio::test]
    async fn a_closed_pipe_has_ended_even_if_it_was_reopened() {
        let (reader, writer) = io::pipe().unwrap();
        let reader = file(reader);
        let again = reader.try_clone().unwrap();
        let (mut input, _) = streams(reader, file(io::pipe().unwrap().1)).unwrap();
        let mut space = [0; 8];
        let mut space = ReadBuf::new(&mut space);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(
            Pin::new(&mut input)
                .poll_read(&mut cx, &mut space)
                .is_pending()
        );
        drop(writer);
        until(&input.0, Interest::READABLE).await;
        let mut writer = open_again(&again, OpenOptions::new().write(true));
        writer.write_all(b"a").unwrap();
        assert_eq!(input.read_u8().await.unwrap(), b'a');
        assert_eq!(input.read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_pipe_without_a_reader_is_broken_even_if_it_was_reopened() {
        let (reader, writer) = io::pipe().unwrap();
        let writer = file(writer);
        let again = writer.try_clone().unwrap();
        let (_, mut output) = streams(file(io::pipe().unwrap().0), writer).unwrap();
        let _ = output.0.writable().await.unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        let mut fill = || Pin::new(&mut output).poll_write(&mut cx, &[0; PIPE_BUF]);
        while fill().is_ready() {}
        drop(reader);
        until(&output.0, Interest::WRITABLE).await;
        let _reader = open_again(&again, OpenOptions::new().read(true));
        let written = output.write(b"a").await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    async fn until(stream: &AsyncFd<File>, interest: Interest) {
        loop {
            yield_now().await;
            let ready = stream.ready(interest).await.unwrap().ready();
            if ready.is_read_closed() || ready.is_write_closed() {
                return;
            }
        }
    }
}
