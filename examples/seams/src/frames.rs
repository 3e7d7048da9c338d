//! A transport: length-prefixed messages over TCP.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
};

use askback::{
    Limits, Server,
    transport::{Channel, Connect, ConnectFuture, ReadMessages, WriteMessages},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
};

/// A server that is reached over TCP.
#[derive(Debug)]
pub struct Frames(pub SocketAddr);

impl Connect for Frames {
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> ConnectFuture<'a> {
        Box::pin(async {
            let stream = TcpStream::connect(self.0).await?;
            Ok(channel(stream, limits.wire.message_bytes)?.into())
        })
    }
}

/// Serves every connection, without end.
///
/// # Errors
///
/// If connections cannot be accepted.
pub async fn serve(server: Server, listener: TcpListener, limits: Limits) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let channel = channel(accepted?.0, limits.wire.message_bytes)?;
                let server = server.clone();
                connections.spawn(async move { server.serve(channel).await });
            }
            // A failed connection does not affect the others.
            Some(_) = connections.join_next() => {}
        }
    }
}

fn channel(stream: TcpStream, max_message_bytes: usize) -> io::Result<Channel> {
    // Send each message at once, without waiting for the next.
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    let reader = FrameReader {
        stream: BufReader::new(reader),
        max_message_bytes,
    };
    let writer = FrameWriter(BufWriter::new(writer));
    Ok(Channel::new(reader, writer, max_message_bytes))
}

struct FrameReader {
    stream: BufReader<OwnedReadHalf>,
    max_message_bytes: usize,
}

impl ReadMessages for FrameReader {
    async fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let length = match self.stream.read_u32().await {
            Ok(length) => usize::try_from(length).unwrap_or(usize::MAX),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        // A length above the limit must not allocate memory.
        if length > self.max_message_bytes {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("a message of {length} bytes is longer than is taken here"),
            ));
        }
        let mut message = vec![0; length];
        self.stream.read_exact(&mut message).await?;
        Ok(Some(message))
    }
}

struct FrameWriter(BufWriter<OwnedWriteHalf>);

impl WriteMessages for FrameWriter {
    async fn write(&mut self, message: Vec<u8>) -> io::Result<()> {
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        self.0.write_u32(length).await?;
        self.0.write_all(&message).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.0.shutdown().await
    }
}
