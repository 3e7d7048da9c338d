//! Framing: one message a line (2026-07-28, basic/transports/stdio).

use std::io;

use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, oneshot},
};

use super::{Channel, Sent, WAITING, inbox::Inbox};

/// A channel over any two byte streams, for messages of at most so many bytes: the framing of
/// stdio, which works unchanged over sockets and pipes.
///
/// It must be called within a tokio runtime, on which it reads and writes.
pub fn lines<R, W>(reader: R, writer: W, max_message_bytes: usize) -> Channel
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (received, incoming) = Inbox::new(max_message_bytes);
    let (outgoing, sent) = mpsc::channel(WAITING);
    let reading = tokio::spawn(read(reader, received, max_message_bytes));
    let writing = tokio::spawn(write(writer, sent));
    // A stream may lead anywhere.
    Channel::elsewhere(incoming, Some(reading.abort_handle()), outgoing, writing)
}

/// Reads a line without its end, or `None` at the end of the stream.
///
/// Of a line longer than `most` bytes, `most + 1` are given and the rest is read over.
pub(super) async fn read_line<R>(reader: &mut R, most: usize) -> io::Result<Option<Vec<u8>>>
where
    R: AsyncBufRead + Unpin,
{
    let mut line = Vec::new();
    loop {
        let read = reader.fill_buf().await?;
        if read.is_empty() {
            return Ok((!line.is_empty()).then_some(line));
        }
        let (used, ended) = take(&mut line, read, most);
        reader.consume(used);
        if ended {
            return Ok(Some(line));
        }
    }
}

/// Adds to a line what was read of it: how much of that is used, and whether the line has ended.
/// Of a line longer than `most` bytes, `most + 1` are kept.
pub(super) fn take(line: &mut Vec<u8>, read: &[u8], most: usize) -> (usize, bool) {
    let end = read.iter().position(|byte| *byte == b'\n');
    let piece = &read[..end.unwrap_or(read.len())];
    let room = (most + 1).saturating_sub(line.len());
    line.extend_from_slice(&piece[..piece.len().min(room)]);
    if end.is_some() && line.last() == Some(&b'\r') {
        line.pop();
    }
    (piece.len() + usize::from(end.is_some()), end.is_some())
}

async fn read<R>(reader: R, received: Inbox<Vec<u8>>, most: usize)
where
    R: AsyncRead + Unpin,
{
    let mut reader = BufReader::new(reader);
    // A stream that fails has ended: there is nobody to be told, and nothing else to read.
    while let Ok(Some(line)) = read_line(&mut reader, most).await {
        let bytes = line.len();
        if !line.trim_ascii().is_empty() && received.put(line, bytes).await.is_err() {
            return;
        }
    }
}

async fn write<W>(mut writer: W, mut sent: mpsc::Receiver<Sent>)
where
    W: AsyncWrite + Unpin,
{
    let mut next = sent.recv().await;
    while let Some(first) = next {
        let batch = Batch::gather(first, &mut sent);
        if writer.write_all(&batch.lines).await.is_err() || writer.flush().await.is_err() {
            return;
        }
        next = batch.written();
        if next.is_none() {
            next = sent.recv().await;
        }
    }
    // The other side sees the end of the stream either way.
    let _ = writer.shutdown().await;
}

/// How much is written at once, in bytes, unless one message is longer. What others write to the
/// same pipe cannot cut a write of this length in two (POSIX, `PIPE_BUF`, as most systems have it).
const AT_ONCE: usize = 4096;

/// Messages that are written together: those that wait already, so that none waits for others.
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    /// The senders that wait until these are written.
    flushed: Vec<oneshot::Sender<()>>,
    /// The message that no longer fitted.
    left: Option<Sent>,
}

impl Batch {
    pub(super) fn gather(first: Sent, sent: &mut mpsc::Receiver<Sent>) -> Self {
        let mut batch = Self {
            lines: Vec::new(),
            flushed: Vec::new(),
            left: None,
        };
        let mut next = Some(first);
        while let Some(sent_next) = next {
            match sent_next {
                Sent::Flush(done) => batch.flushed.push(done),
                Sent::Message(mut message) => {
                    let fits = batch.lines.len() + message.len() < AT_ONCE;
                    if !batch.lines.is_empty() && !fits {
                        batch.left = Some(Sent::Message(message));
                        break;
                    }
                    frame(&mut message);
                    if batch.lines.is_empty() {
                        batch.lines = message;
                    } else {
                        batch.lines.append(&mut message);
                    }
                }
            }
            next = sent.try_recv().ok();
        }
        batch
    }

    /// Tells that these are written; what comes next, if it is known.
    pub(super) fn written(self) -> Option<Sent> {
        for done in self.flushed {
            // Whoever asked may have stopped waiting.
            let _ = done.send(());
        }
        self.left
    }
}

/// Ends a message with the only newline in it. A line break inside JSON text stands between its
/// tokens, where a space means the same: text carried from a peer or an author may hold some.
pub(super) fn frame(message: &mut Vec<u8>) {
    for byte in message.iter_mut() {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    message.push(b'\n');
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::lines;

    /// Checks the messages that a channel receives over a stream of these bytes.
    async fn check(bytes: &str, messages: &[&str]) {
        let (mut peer, ours) = duplex(3);
        let (reader, writer) = tokio::io::split(ours);
        let (mut receiver, _sender) = lines(reader, writer, 8).split();
        let bytes = bytes.to_owned();
        let sending = tokio::spawn(async move {
            peer.write_all(bytes.as_bytes()).await.unwrap();
        });
        let mut received = Vec::new();
        while let Some(message) = receiver.receive().await.unwrap() {
            received.push(String::from_utf8(message).unwrap());
        }
        sending.await.unwrap();
        assert_eq!(received, messages);
    }

    #[tokio::test]
    async fn a_message_is_a_line() {
        check("", &[]).await;
        check("{}\n", &["{}"]).await;
        check("{}\r\n\r\n \n[]\n", &["{}", "[]"]).await;
        check("{}\n[]", &["{}", "[]"]).await;
        check("12345678\n", &["12345678"]).await;
        // One byte over the limit is enough to see that it was too long.
        check("123456789\n", &["123456789"]).await;
        check("1234567890123456789\n{}\n", &["123456789", "{}"]).await;
        check("123456789012345", &["123456789"]).await;
    }

    #[tokio::test]
    async fn closing_waits_until_all_is_written_with_one_newline_each() {
        let (mut peer, ours) = duplex(4);
        let (reader, writer) = tokio::io::split(ours);
        let (_receiver, mut sender) = lines(reader, writer, 8).split();
        let closing = tokio::spawn(async move {
            sender.send(b"{\n\"a\":\r\n1}".to_vec()).await.unwrap();
            sender.flush().await.unwrap();
            sender.send(b"[]".to_vec()).await.unwrap();
            sender.close().await.unwrap();
        });
        let mut written = String::new();
        peer.read_to_string(&mut written).await.unwrap();
        closing.await.unwrap();
        assert_eq!(written, "{ \"a\":  1}\n[]\n");
    }

    #[tokio::test]
    async fn sending_fails_once_the_other_side_is_gone() {
        let (peer, ours) = duplex(4);
        let (reader, writer) = tokio::io::split(ours);
        let (_receiver, mut sender) = lines(reader, writer, 8).split();
        drop(peer);
        let mut left = 1000;
        while sender.send(b"{}".to_vec()).await.is_ok() {
            left -= 1;
            assert!(left > 0, "nobody noticed");
            tokio::task::yield_now().await;
        }
        assert!(sender.flush().await.is_err());
        sender.close().await.unwrap();
    }
}
