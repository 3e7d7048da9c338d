//! Framing: one message a line (2026-07-28, basic/transports/stdio).

use std::io;

use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
};

use super::{Channel, Messages, Receiver, Sender, Sent, WAITING};

/// A channel over any two byte streams, for messages of at most so many bytes: the framing of
/// stdio, which works unchanged over sockets and pipes.
///
/// It must be called within a tokio runtime, on which it reads and writes.
pub fn lines<R, W>(reader: R, writer: W, max_message_bytes: usize) -> Channel
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (received, incoming) = mpsc::channel(WAITING);
    let (outgoing, sent) = mpsc::channel(WAITING);
    let reading = tokio::spawn(read(reader, received, max_message_bytes));
    let writing = tokio::spawn(write(writer, sent));
    Channel {
        receiver: Receiver {
            messages: incoming,
            reader: Some(reading.abort_handle()),
        },
        sender: Sender {
            messages: Some(Messages::Written(outgoing)),
            writer: Some(writing),
        },
    }
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
        let end = read.iter().position(|byte| *byte == b'\n');
        let piece = &read[..end.unwrap_or(read.len())];
        let room = (most + 1).saturating_sub(line.len());
        line.extend_from_slice(&piece[..piece.len().min(room)]);
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(Some(line));
        }
    }
}

async fn read<R>(reader: R, received: mpsc::Sender<Vec<u8>>, most: usize)
where
    R: AsyncRead + Unpin,
{
    let mut reader = BufReader::new(reader);
    // A stream that fails has ended: there is nobody to be told, and nothing else to read.
    while let Ok(Some(line)) = read_line(&mut reader, most).await {
        if !line.trim_ascii().is_empty() && received.send(line).await.is_err() {
            return;
        }
    }
}

/// Each message is one write, so that what others write to the same stream cannot cut it in two
/// where the system keeps writes whole.
async fn write<W>(mut writer: W, mut sent: mpsc::Receiver<Sent>)
where
    W: AsyncWrite + Unpin,
{
    while let Some(sent) = sent.recv().await {
        match sent {
            Sent::Message(mut message) => {
                frame(&mut message);
                if writer.write_all(&message).await.is_err() || writer.flush().await.is_err() {
                    return;
                }
            }
            Sent::Flush(done) => {
                // Whoever asked may have stopped waiting.
                let _ = done.send(());
            }
        }
    }
    // The other side sees the end of the stream either way.
    let _ = writer.shutdown().await;
}

/// Ends a message with the only newline in it. A line break inside JSON text stands between its
/// tokens, where a space means the same: text carried from a peer or an author may hold some.
fn frame(message: &mut Vec<u8>) {
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

    /// What a channel over a stream of these bytes receives.
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
