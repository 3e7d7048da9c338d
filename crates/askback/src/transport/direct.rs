//! The ends of a channel, polled by the task that handles its messages: nothing is between them and it.

use std::{
    collections::VecDeque,
    io, mem,
    task::{Context, Poll, ready},
};

use super::{Channel, Receiver, Sender, gone};
use crate::flow::BoxFuture;

/// Of how many bytes at a time it is waited that they are written. Of less, as many as the channel
/// holds may be under way: to wait for each would cost more than the calls.
const WORTH_WAITING: usize = 64 << 10;

/// The receiving end of a channel.
pub(crate) struct DirectReceiver {
    receiver: Receiver,
    /// The message that was received last.
    message: Vec<u8>,
}

/// The sending end of a channel. Once it failed, it drops what it is given, and fails again.
pub(crate) struct DirectSender {
    /// Absent while it writes, and once it failed.
    sender: Option<Sender>,
    /// The messages for which there was no room yet.
    waiting: VecDeque<Vec<u8>>,
    /// How many bytes were sent since the last flush.
    unwritten: usize,
    /// Sends what waits, and flushes where that is worth it.
    writing: Option<BoxFuture<'static, io::Result<Sender>>>,
}

impl Channel {
    /// The two ends, for one task that polls both.
    pub(crate) fn into_direct(self) -> (DirectReceiver, DirectSender) {
        let (receiver, sender) = self.split();
        let receiver = DirectReceiver {
            receiver,
            message: Vec::new(),
        };
        let sender = DirectSender {
            sender: Some(sender),
            waiting: VecDeque::new(),
            unwritten: 0,
            writing: None,
        };
        (receiver, sender)
    }
}

impl DirectReceiver {
    /// Polls for the next message, or `None` once the other side is gone.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<&[u8]>>> {
        let received = ready!(self.receiver.messages.poll_recv(cx));
        Poll::Ready(Ok(received.map(|waiting| {
            self.message = waiting.message;
            self.message.as_slice()
        })))
    }
}

impl DirectSender {
    /// Takes a message: JSON, without a newline at its end. It is written by
    /// [`DirectSender::poll_flush`].
    pub(crate) fn send(&mut self, message: Vec<u8>) {
        self.unwritten += message.len();
        self.waiting.push_back(message);
    }

    /// How many bytes it holds, or has handed on without waiting for them.
    pub(crate) fn unwritten(&self) -> usize {
        self.unwritten
    }

    /// Writes what was sent, until the other side takes no more for now.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(self.poll_send(cx));
        self.unwritten = 0;
        if flushed.is_err() {
            self.waiting.clear();
        }
        Poll::Ready(flushed)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if let Some(writing) = &mut self.writing {
                let written = ready!(writing.as_mut().poll(cx));
                self.writing = None;
                self.sender = Some(written?);
                if self.waiting.is_empty() {
                    return Poll::Ready(Ok(()));
                }
            }
            let Some(mut sender) = self.sender.take() else {
                return Poll::Ready(Err(gone()));
            };
            while !self.waiting.is_empty()
                && let Some(ready) = sender.try_ready()?
            {
                ready.send(self.waiting.pop_front().unwrap_or_default());
            }
            if self.waiting.is_empty() && self.unwritten <= WORTH_WAITING {
                self.sender = Some(sender);
                return Poll::Ready(Ok(()));
            }
            let waiting = mem::take(&mut self.waiting);
            self.writing = Some(Box::pin(async move {
                for message in waiting {
                    sender.send(message).await?;
                }
                sender.flush().await?;
                Ok(sender)
            }));
        }
    }

    /// Ends this side, so that the other sees the end. What was not flushed is lost.
    pub(crate) async fn close(self) -> io::Result<()> {
        match self.sender {
            Some(mut sender) => sender.close().await,
            None => Err(gone()),
        }
    }
}
