//! The two ends of a channel, polled by the task that handles its messages.

use std::{
    collections::VecDeque,
    io, mem,
    sync::Arc,
    task::{Context, Poll, ready},
};

use askback_core::{ask::Principal, engine::server::ClientLocation, future::BoxFuture};

use super::{
    Channel, Ends, Receiver, Sender, gone,
    lines::{LineReader, LineWriter},
};

/// How many bytes may be sent before the sender waits until the transport's task has written them.
/// Waiting for each smaller message would cost more than the calls.
const WORTH_WAITING: usize = 64 << 10;

pub(crate) enum DirectReceiver {
    Lines(LineReader),
    Queue {
        receiver: Receiver,
        message: Vec<u8>,
    },
}

/// A sender that fails for good after its first failure, and drops its messages.
pub(crate) struct DirectSender {
    way: SendPath,
    failed: bool,
}

enum SendPath {
    Lines(LineWriter),
    Queue(QueueSender),
}

struct QueueSender {
    /// `None` while it writes.
    sender: Option<Sender>,
    /// The messages for which the queue had no room yet.
    waiting: VecDeque<Vec<u8>>,
    /// The bytes sent since the last flush.
    unwritten: usize,
    writing: Option<BoxFuture<'static, io::Result<Sender>>>,
}

/// A channel for one task, and what is known about its other end.
pub(crate) struct ChannelEnds {
    pub(crate) receiver: DirectReceiver,
    pub(crate) sender: DirectSender,
    pub(crate) place: ClientLocation,
    pub(crate) principal: Option<Arc<Principal>>,
    pub(crate) is_in_memory: bool,
}

impl Channel {
    /// Splits the channel for one task that polls both ends, with what is known about the other
    /// side.
    pub(crate) fn into_ends(mut self) -> ChannelEnds {
        let (place, is_in_memory) = (self.place(), self.is_in_memory());
        let principal = self.take_principal();
        let (receiver, sender) = self.into_direct();
        ChannelEnds {
            receiver,
            sender,
            place,
            principal,
            is_in_memory,
        }
    }

    pub(crate) fn into_direct(self) -> (DirectReceiver, DirectSender) {
        let (receiver, way) = match self.ends {
            Ends::Lines(reader, writer) => (DirectReceiver::Lines(reader), SendPath::Lines(writer)),
            ends => {
                let (receiver, sender) = Self::over(ends).split();
                let message = Vec::new();
                let receiver = DirectReceiver::Queue { receiver, message };
                (receiver, SendPath::Queue(QueueSender::new(sender)))
            }
        };
        (receiver, DirectSender { way, failed: false })
    }
}

impl DirectReceiver {
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<&[u8]>> {
        match self {
            Self::Lines(reader) => reader.poll_message(cx),
            Self::Queue { receiver, message } => {
                let received = ready!(receiver.messages.poll_recv(cx));
                Poll::Ready(received.map(|waiting| {
                    *message = waiting.message;
                    message.as_slice()
                }))
            }
        }
    }
}

impl DirectSender {
    /// Queues a message: JSON, without a newline at its end. [`DirectSender::poll_flush`] writes
    /// it.
    pub(crate) fn send(&mut self, message: Vec<u8>) {
        match &mut self.way {
            _ if self.failed => {}
            SendPath::Lines(writer) => writer.add(message),
            SendPath::Queue(queue) => queue.add(message),
        }
    }

    /// The bytes that are buffered, or handed on without waiting.
    pub(crate) fn unwritten(&self) -> usize {
        match &self.way {
            _ if self.failed => 0,
            SendPath::Lines(writer) => writer.unwritten(),
            SendPath::Queue(queue) => queue.unwritten,
        }
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.way {
            _ if self.failed => Err(gone()),
            SendPath::Lines(writer) => ready!(writer.poll_flush(cx)),
            SendPath::Queue(queue) => ready!(queue.poll_flush(cx)),
        };
        self.failed = flushed.is_err();
        Poll::Ready(flushed.map_err(|_| gone()))
    }

    pub(crate) async fn close(mut self) -> io::Result<()> {
        std::future::poll_fn(|cx| self.poll_flush(cx)).await?;
        match self.way {
            SendPath::Lines(mut writer) => {
                // The other side sees the end of the stream either way.
                let _ = std::future::poll_fn(|cx| writer.poll_close(cx)).await;
                Ok(())
            }
            SendPath::Queue(queue) => match queue.sender {
                Some(mut sender) => sender.close().await,
                None => Err(gone()),
            },
        }
    }
}

impl QueueSender {
    fn new(sender: Sender) -> Self {
        Self {
            sender: Some(sender),
            waiting: VecDeque::new(),
            unwritten: 0,
            writing: None,
        }
    }

    fn add(&mut self, message: Vec<u8>) {
        self.unwritten += message.len();
        self.waiting.push_back(message);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(writing) = &mut self.writing {
            let written = ready!(writing.as_mut().poll(cx));
            self.writing = None;
            self.sender = Some(written?);
            self.unwritten = self.waiting.iter().map(Vec::len).sum();
        }
        let Some(sender) = &mut self.sender else {
            return Poll::Ready(Err(gone()));
        };
        while !self.waiting.is_empty()
            && let Some(ready) = sender.try_ready()?
        {
            ready.send(self.waiting.pop_front().unwrap_or_default());
        }
        if self.waiting.is_empty() && self.unwritten <= WORTH_WAITING {
            self.unwritten = 0;
            return Poll::Ready(Ok(()));
        }
        let Some(mut sender) = self.sender.take() else {
            return Poll::Ready(Err(gone()));
        };
        let waiting = mem::take(&mut self.waiting);
        self.writing = Some(Box::pin(async move {
            for message in waiting {
                sender.send(message).await?;
            }
            sender.flush().await?;
            Ok(sender)
        }));
        self.poll_flush(cx)
    }
}

#[cfg(feature = "testing")]
#[cfg(test)]
mod tests {
    use std::{future::poll_fn, io};

    use super::{DirectReceiver, DirectSender};
    use crate::transport::{Channel, ReadMessages, WriteMessages, lines, memory};

    struct Reader(DirectReceiver);

    struct Writer(Option<DirectSender>);

    impl ReadMessages for Reader {
        async fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
            let next = poll_fn(|cx| self.0.poll_receive(cx).map(|next| next.map(<[u8]>::to_vec)));
            Ok(next.await)
        }
    }

    impl WriteMessages for Writer {
        async fn write(&mut self, message: Vec<u8>) -> io::Result<()> {
            if let Some(sender) = &mut self.0 {
                sender.send(message);
            }
            self.flush().await
        }

        async fn flush(&mut self) -> io::Result<()> {
            match &mut self.0 {
                Some(sender) => poll_fn(|cx| sender.poll_flush(cx)).await,
                None => Ok(()),
            }
        }

        async fn close(&mut self) -> io::Result<()> {
            match self.0.take() {
                Some(sender) => sender.close().await,
                None => Ok(()),
            }
        }
    }

    /// Runs a channel through its direct ends.
    fn driven(channel: Channel, max_bytes: usize) -> Channel {
        let (receiver, sender) = channel.into_direct();
        Channel::new(Reader(receiver), Writer(Some(sender)), max_bytes)
    }

    #[tokio::test]
    async fn the_ends_of_lines_keep_the_contract() {
        for room in [100, 1 << 20] {
            let checked = crate::testing::check_transport(async |max_bytes| {
                let (here, there) = tokio::io::duplex(room);
                [here, there].map(|end| {
                    let (reader, writer) = tokio::io::split(end);
                    driven(lines(reader, writer, max_bytes), max_bytes)
                })
            });
            checked.await.unwrap_or_else(|broken| panic!("{broken}"));
        }
    }

    #[tokio::test]
    async fn the_ends_of_queues_keep_the_contract() {
        let checked = crate::testing::check_transport(async |max_bytes| {
            let (here, there) = memory();
            [here, there].map(|end| driven(end, max_bytes))
        });
        checked.await.unwrap_or_else(|broken| panic!("{broken}"));
    }
}
