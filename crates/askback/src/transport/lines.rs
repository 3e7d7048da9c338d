//! Channels over byte streams.

#[cfg(all(feature = "client", feature = "stdio"))]
use std::future::poll_fn;
use std::{
    io,
    ops::Range,
    pin::Pin,
    task::{Context, Poll, ready},
};

use askback_core::jsonrpc::KEPT_ENDS;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    Channel,
    framing::{LineBuffer, LineQueue},
};

/// Makes a channel over any two byte streams, for messages of at most the given number of bytes. It
/// uses the framing of stdio, which works over sockets and pipes as well.
///
/// The task that serves the channel, or receives and sends, reads and writes the streams.
pub fn lines<R, W>(reader: R, writer: W, max_message_bytes: usize) -> Channel
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let reader = LineReader::new(reader, max_message_bytes);
    Channel::of_lines(reader, LineWriter::new(writer))
}

pub(crate) struct LineReader {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    /// The length limit of a line, in bytes.
    most: usize,
    /// How much of a longer line's end is returned.
    end: usize,
    lines: LineBuffer,
    ended: bool,
}

pub(crate) struct LineWriter {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
    lines: LineQueue,
    /// The stream may still buffer written bytes.
    unflushed: bool,
}

impl LineReader {
    /// Reads messages of at most `most` bytes. A longer message is returned with one byte more,
    /// including its end.
    pub(super) fn new(stream: impl AsyncRead + Send + Unpin + 'static, most: usize) -> Self {
        Self::ending(stream, most, KEPT_ENDS)
    }

    /// Reads text in lines of at most `most` bytes. A longer line returns its beginning, with one
    /// byte more.
    #[cfg(all(feature = "client", feature = "stdio"))]
    pub(super) fn of_text(stream: impl AsyncRead + Send + Unpin + 'static, most: usize) -> Self {
        Self::ending(stream, most, 0)
    }

    fn ending(stream: impl AsyncRead + Send + Unpin + 'static, most: usize, end: usize) -> Self {
        Self {
            stream: Box::new(stream),
            most,
            end,
            lines: LineBuffer::new(most, end),
            ended: false,
        }
    }

    /// Returns the next line that is not blank, borrowed from the read buffer.
    pub(super) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<&[u8]>> {
        let line = loop {
            match ready!(self.poll_line(cx)) {
                Some(line) if self.is_blank(&line) => {}
                line => break line,
            }
        };
        Poll::Ready(line.map(|line| self.lines.get(line)))
    }

    #[cfg(feature = "client")]
    pub(super) fn ready(&mut self) -> Option<&[u8]> {
        let line = loop {
            let line = self.lines.next()?;
            if !self.is_blank(&line) {
                break line;
            }
        };
        Some(self.lines.get(line))
    }

    fn is_blank(&self, line: &Range<usize>) -> bool {
        self.lines.get(line.clone()).trim_ascii().is_empty()
    }

    /// Returns the next line. An error ends the stream, because it cannot be reported and nothing
    /// more can be read.
    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Option<Range<usize>>> {
        loop {
            if let Some(line) = self.lines.next() {
                return Poll::Ready(Some(line));
            }
            if self.ended {
                return Poll::Ready(self.lines.last());
            }
            let mut space = ReadBuf::new(self.lines.space());
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut space));
            let bytes = space.filled().len();
            self.lines.add(bytes);
            self.ended = bytes == 0;
            if read.is_err() {
                self.ended = true;
                self.lines = LineBuffer::new(self.most, self.end);
            }
        }
    }

    /// Returns the next line, without its newline, or `None` at the end of the stream. Cancel safe.
    #[cfg(all(feature = "client", feature = "stdio"))]
    pub(super) async fn line(&mut self) -> Option<&[u8]> {
        let line = poll_fn(|cx| self.poll_line(cx)).await;
        line.map(|line| self.lines.get(line))
    }
}

impl LineWriter {
    pub(super) fn new(stream: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            lines: LineQueue::default(),
            unflushed: false,
        }
    }

    pub(super) fn add(&mut self, message: Vec<u8>) {
        self.lines.add(message);
    }

    #[cfg(any(feature = "client", feature = "server"))]
    pub(super) fn unwritten(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(self.poll_write(cx));
        if flushed.is_err() {
            self.lines.clear();
        }
        Poll::Ready(flushed)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(piece) = self.lines.piece() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, piece))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.lines.wrote(written);
            self.unflushed = true;
        }
        if self.unflushed {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_flush(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

askback_core::debug_only!(LineReader {});

askback_core::debug_only!(LineWriter {});
