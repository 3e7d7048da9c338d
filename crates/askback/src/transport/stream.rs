//! Lines that whoever wants them reads and writes itself: a task and a queue less on the way of each
//! message than with [`lines`](super::lines).

use std::{io, mem};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::lines::{frame, take};

/// Reads messages, one a line.
pub(crate) struct LineReader<R> {
    reader: BufReader<R>,
    /// What was read of a line whose end has not come yet.
    line: Vec<u8>,
    most: usize,
}

/// Writes messages, one a line: those that were sent together at once.
pub(crate) struct LineWriter<W> {
    writer: W,
    lines: Vec<u8>,
    /// How much of these is written.
    written: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// A reader of messages of at most so many bytes; of a longer one, a byte more is read.
    pub(super) fn new(reader: R, most: usize) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            most,
        }
    }

    /// The next line that is not blank, or `None` at the end of the stream. Cancel safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.ready() {
                return Ok(Some(line));
            }
            if self.reader.fill_buf().await?.is_empty() {
                let last = mem::take(&mut self.line);
                return Ok((!is_blank(&last)).then_some(last));
            }
        }
    }

    /// The next line, if it was read already.
    pub(super) fn ready(&mut self) -> Option<Vec<u8>> {
        while !self.reader.buffer().is_empty() {
            let (used, has_ended) = take(&mut self.line, self.reader.buffer(), self.most);
            self.reader.consume(used);
            if has_ended {
                let line = mem::take(&mut self.line);
                if !is_blank(&line) {
                    return Some(line);
                }
            }
        }
        None
    }
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    pub(super) fn new(writer: W) -> Self {
        Self {
            writer,
            lines: Vec::new(),
            written: 0,
        }
    }

    /// Sends a message; it is written by the next [`LineWriter::write`].
    pub(super) fn send(&mut self, mut message: Vec<u8>) {
        frame(&mut message);
        if self.lines.is_empty() {
            self.lines = message;
        } else {
            self.lines.append(&mut message);
        }
    }

    /// How many bytes wait to be written.
    pub(super) fn waiting(&self) -> usize {
        self.lines.len() - self.written
    }

    /// Writes what was sent. Cancel safe: what is not written yet is written the next time.
    ///
    /// # Errors
    ///
    /// Fails where the stream does.
    pub(super) async fn write(&mut self) -> io::Result<()> {
        while self.waiting() > 0 {
            let written = self.writer.write(&self.lines[self.written..]).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += written;
        }
        self.lines.clear();
        self.written = 0;
        self.writer.flush().await
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Poll};

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::{LineReader, LineWriter};

    /// Checks the messages that are read of these bytes, with a reader that is given up each time it
    /// has to wait.
    async fn check(bytes: &str, messages: &[&str]) {
        let (mut peer, ours) = duplex(3);
        let mut reader = LineReader::new(ours, 8);
        let bytes = bytes.to_owned();
        let sending = tokio::spawn(async move {
            peer.write_all(bytes.as_bytes()).await.unwrap();
        });
        let mut received = Vec::new();
        loop {
            let read = std::future::poll_fn(|cx| {
                let next = pin!(reader.next());
                Poll::Ready(next.poll(cx))
            });
            match read.await {
                Poll::Pending => tokio::task::yield_now().await,
                Poll::Ready(Ok(Some(line))) => received.push(String::from_utf8(line).unwrap()),
                Poll::Ready(read) => break assert!(read.unwrap().is_none()),
            }
        }
        sending.await.unwrap();
        assert_eq!(received, messages);
    }

    #[tokio::test]
    async fn a_message_is_a_line_also_when_reading_was_given_up_in_it() {
        check("", &[]).await;
        check("{}\n", &["{}"]).await;
        check("{}\r\n\r\n \n[]\n", &["{}", "[]"]).await;
        check("{}\n[]", &["{}", "[]"]).await;
        check("{}\n \r\n", &["{}"]).await;
        check("12345678\n", &["12345678"]).await;
        // One byte over the limit is enough to see that it was too long.
        check("123456789\n", &["123456789"]).await;
        check("1234567890123456789\n{}\n", &["123456789", "{}"]).await;
        check("123456789012345", &["123456789"]).await;
    }

    #[tokio::test]
    async fn what_was_sent_is_written_once_also_when_writing_was_given_up() {
        let (mut peer, ours) = duplex(4);
        let mut writer = LineWriter::new(ours);
        let writing = tokio::spawn(async move {
            let mut given_up = 0;
            for message in ["{\n\"a\":\r\n1}", "[]", "[1,2,3,4]"] {
                writer.send(message.into());
                let write = std::future::poll_fn(|cx| {
                    let write = pin!(writer.write());
                    Poll::Ready(write.poll(cx))
                });
                given_up += usize::from(write.await.is_pending());
            }
            assert!(given_up > 0);
            writer.write().await.unwrap();
            assert_eq!(writer.waiting(), 0);
        });
        let mut written = String::new();
        peer.read_to_string(&mut written).await.unwrap();
        writing.await.unwrap();
        assert_eq!(written, "{ \"a\":  1}\n[]\n[1,2,3,4]\n");
    }

    #[tokio::test]
    async fn writing_fails_once_the_other_side_is_gone() {
        let (peer, ours) = duplex(4);
        let mut writer = LineWriter::new(ours);
        drop(peer);
        writer.send(b"{}".to_vec());
        assert!(writer.write().await.is_err());
    }
}
