//! A connection between a board and a front end, with bounded lines in both directions.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};

use super::line::{self, Line};

/// The maximum size of a line, in bytes. Forms and links are far smaller; a request to a model with
/// pictures can be larger, and is then not asked.
pub(super) const MAX_LINE_BYTES: usize = 4 << 20;

/// How long the peer may take to send its first line.
pub(super) const HELLO: Duration = Duration::from_secs(10);

/// The queue for a slow reader, in lines.
const MAX_LINES_WAITING: usize = 64;

pub(super) struct Reader {
    lines: BufReader<OwnedReadHalf>,
}

#[derive(Debug, Clone)]
pub(super) struct Writer(mpsc::Sender<Vec<u8>>);

/// Splits a connection. Returns `None` if the peer runs as another user.
pub(super) fn split(stream: UnixStream) -> io::Result<Option<(Reader, Writer)>> {
    if stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
        return Ok(None);
    }
    let (read, write) = stream.into_split();
    let (writer, lines) = Writer::new();
    tokio::spawn(write_all(write, lines));
    let lines = BufReader::new(read);
    Ok(Some((Reader { lines }, writer)))
}

async fn write_all(mut write: OwnedWriteHalf, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        // The reader on this side notices that the peer is gone.
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
}

impl Writer {
    /// Returns the receiver of the lines, too.
    pub(super) fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (sent, lines) = mpsc::channel(MAX_LINES_WAITING);
        (Self(sent), lines)
    }

    /// Whether the peer reads slowly. Optional lines are then left out, because a peer whose queue is
    /// full is disconnected.
    pub(super) fn is_behind(&self) -> bool {
        self.0.capacity() < MAX_LINES_WAITING / 2
    }

    /// Returns false if the peer is too slow or gone.
    pub(super) fn send<L: Line>(&self, line: &L) -> bool {
        line::write(line).is_ok_and(|bytes| self.0.try_send(bytes).is_ok())
    }
}

impl Reader {
    /// Reads the next line of a known kind; `None` at the end. Not cancel safe.
    pub(super) async fn read<L: Line>(&mut self) -> io::Result<Option<L>> {
        loop {
            let mut bytes = Vec::new();
            let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
            let mut bounded = (&mut self.lines).take(most.saturating_add(1));
            bounded.read_until(b'\n', &mut bytes).await?;
            if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.pop() != Some(b'\n') {
                let error = match bytes.len() >= MAX_LINE_BYTES {
                    true => format!("a line is longer than {MAX_LINE_BYTES} bytes"),
                    false => "the connection ended in the middle of a line".to_owned(),
                };
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            if let Some(line) = line::read(&bytes)? {
                return Ok(Some(line));
            }
        }
    }
}
