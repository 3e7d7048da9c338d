//! Reads request bodies within limits.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use askback_core::limits::Limits;
use bytes::{Buf, Bytes};
use http_body::Body;
use tokio::time::{Sleep, sleep};

use crate::server::budget::{Charge, NoRoom};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyReadError {
    #[error("the body is longer than the {0} bytes accepted here")]
    TooLong(usize),
    #[error("the body did not come in time")]
    TooSlow,
    #[error("the body ended before it was complete")]
    Broken,
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

/// Reads the whole body of a request. A body in one piece is not copied. For others, only the
/// received bytes are counted, and not the length that the sender announces.
pub(super) async fn read<B: Body>(
    body: B,
    limits: &Limits,
    open: impl Fn() -> Charge,
) -> Result<Bytes, BodyReadError> {
    let most = limits.wire.message_bytes;
    if body.size_hint().lower() > most as u64 {
        return Err(BodyReadError::TooLong(most));
    }
    let mut body = pin!(body);
    let mut alarm: Option<Pin<Box<Sleep>>> = None;
    let mut gathered = Vec::new();
    let mut room = None;
    loop {
        let frame = poll_fn(|cx| match body.as_mut().poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
            Poll::Pending => late(&mut alarm, limits, cx).map(Err),
        });
        let Some(frame) = frame.await? else {
            return Ok(gathered.into());
        };
        let frame = frame.map_err(|_| BodyReadError::Broken)?;
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        if gathered.len() + data.remaining() > most {
            return Err(BodyReadError::TooLong(most));
        }
        if gathered.is_empty() && body.is_end_stream() {
            return Ok(data.copy_to_bytes(data.remaining()));
        }
        let needed = gathered.len() + data.remaining();
        if needed > gathered.capacity() {
            // Doubles like a growing vector, up to the limit.
            let capacity = needed.max(2 * gathered.capacity()).min(most);
            room.get_or_insert_with(&open).cover(capacity)?;
            gathered.reserve_exact(capacity - gathered.len());
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            gathered.extend_from_slice(chunk);
            let length = chunk.len();
            data.advance(length);
        }
    }
}

fn late(
    alarm: &mut Option<Pin<Box<Sleep>>>,
    limits: &Limits,
    cx: &mut Context<'_>,
) -> Poll<BodyReadError> {
    let alarm = alarm.get_or_insert_with(|| Box::pin(sleep(limits.http.body_read)));
    alarm.as_mut().poll(cx).map(|()| BodyReadError::TooSlow)
}
