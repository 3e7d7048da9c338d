//! The contract of transports: a [`Channel`] carries messages complete, in order, to the end, and without buffering more
//! than the receiver reads.

use std::{io, time::Duration};

use serde_json::{Value, json};
use tokio::{task::yield_now, time::timeout};

use super::{Channel, Receiver, Sender};

const MAX: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(20);
/// A sender that makes no progress for this long is considered blocked.
const WAITS: Duration = Duration::from_millis(100);
/// More messages of the maximum size than a channel may buffer.
const TOO_MANY: usize = 1024;
/// How many times to send to an end that is gone.
const ATTEMPTS: usize = 2000;

/// A broken rule is described by an error.
type CheckResult<T = ()> = Result<T, String>;

/// Returns the broken rules of a transport, each with what happened instead.
///
/// `connect` opens a connection for messages with this limit in bytes, and returns both ends. Each rule gets its own
/// connection. Do not pause tokio's time: timeouts would fire before a socket is ready.
pub(crate) async fn broken_rules<C>(connect: C) -> Vec<(&'static str, String)>
where
    C: AsyncFn(usize) -> [Channel; 2],
{
    let mut broken = Vec::new();
    macro_rules! check {
        ($($rule:literal => $check:ident;)*) => {$(
            let kept = timeout(PATIENCE, $check(connect(MAX).await)).await;
            if let Err(how) = kept.unwrap_or_else(|_| Err("it takes too long".to_owned())) {
                broken.push(($rule, how));
            }
        )*};
    }
    check! {
        "messages arrive whole and in order" => in_order;
        "both sides may send at the same time" => both_ways;
        "a message as long as the limit arrives" => longest;
        "a message longer than the limit is not taken for a shorter one" => too_long;
        "all that was sent arrives before the end, and then the end" => ended;
        "a sender waits while nobody receives" => held_back;
        "an end that is gone is noticed by the other" => gone;
        "a receiver may give up and receive again" => given_up;
    }
    broken
}

fn message(number: usize) -> Value {
    json!({
        "id": number,
        "text": "Grüße,\n\u{1F44B}\u{2028}\"\\\r\0".repeat(number % 50),
        "more": {"null": null, "list": [1, -2.5, "", {}, []]},
    })
}

fn message_of(bytes: usize) -> Vec<u8> {
    let mut message = b"{\"text\":\"".to_vec();
    message.resize(bytes - 2, b'x');
    message.extend_from_slice(b"\"}");
    message
}

async fn receive(receiver: &mut Receiver) -> CheckResult<Option<Value>> {
    match receiver.receive().await.map_err(failed)? {
        None => Ok(None),
        Some(bytes) => match serde_json::from_slice(&bytes) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(format!(
                "what is received is not JSON: {error}; it begins with {:?}",
                String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
            )),
        },
    }
}

async fn receives(receiver: &mut Receiver, want: Option<Value>) -> CheckResult {
    let got = receive(receiver).await?;
    expect("what is received", got, want)
}

async fn send(sender: &mut Sender, number: usize) -> CheckResult {
    let message = message(number);
    // White space between the parts of a message may contain line breaks.
    let text = if number.is_multiple_of(2) {
        serde_json::to_vec(&message)
    } else {
        serde_json::to_vec_pretty(&message)
    };
    let text = text.map_err(|error| error.to_string())?;
    sender.send(text).await.map_err(failed)
}

async fn send_all(sender: &mut Sender, count: usize) -> CheckResult {
    for number in 0..count {
        send(sender, number).await?;
    }
    sender.flush().await.map_err(failed)
}

async fn receive_all(receiver: &mut Receiver, count: usize) -> CheckResult {
    for number in 0..count {
        receives(receiver, Some(message(number))).await?;
    }
    Ok(())
}

async fn in_order([here, there]: [Channel; 2]) -> CheckResult {
    let ((_, mut sender), (mut receiver, _other)) = (here.split(), there.split());
    tokio::try_join!(send_all(&mut sender, 300), receive_all(&mut receiver, 300))?;
    Ok(())
}

async fn both_ways([here, there]: [Channel; 2]) -> CheckResult {
    let ((mut from_there, mut to_there), (mut from_here, mut to_here)) =
        (here.split(), there.split());
    tokio::try_join!(
        send_all(&mut to_there, 300),
        receive_all(&mut from_here, 300),
        send_all(&mut to_here, 300),
        receive_all(&mut from_there, 300),
    )?;
    Ok(())
}

async fn longest([here, there]: [Channel; 2]) -> CheckResult {
    let ((_, mut sender), (mut receiver, _other)) = (here.split(), there.split());
    let sending = async {
        sender.send(message_of(MAX)).await.map_err(failed)?;
        send(&mut sender, 1).await
    };
    let receiving = async {
        let longest = receiver.receive().await.map_err(failed)?;
        let bytes = longest.as_deref().map_or(0, <[u8]>::len);
        expect("bytes received", bytes, MAX)?;
        expect(
            "whether they are the same",
            longest == Some(message_of(MAX)),
            true,
        )?;
        receives(&mut receiver, Some(message(1))).await
    };
    tokio::try_join!(sending, receiving)?;
    Ok(())
}

async fn too_long([here, there]: [Channel; 2]) -> CheckResult {
    let ((_, mut sender), (mut receiver, _other)) = (here.split(), there.split());
    let sending = async {
        // The connection may end because of the long message.
        let _ = sender.send(message_of(MAX + 5000)).await;
        let _ = send(&mut sender, 1).await;
        Ok(())
    };
    let receiving = async {
        match receiver.receive().await.map_err(failed)? {
            None => Ok(()),
            Some(long) if long.len() > MAX => match receive(&mut receiver).await? {
                None => Ok(()),
                next => expect("what is received after it", next, Some(message(1))),
            },
            Some(short) => Err(format!("{} bytes of it are received", short.len())),
        }
    };
    tokio::try_join!(sending, receiving)?;
    Ok(())
}

async fn ended([here, there]: [Channel; 2]) -> CheckResult {
    let ((_from_there, mut sender), (mut receiver, _other)) = (here.split(), there.split());
    let sending = async {
        for number in 0..20 {
            send(&mut sender, number).await?;
        }
        sender.close().await.map_err(failed)
    };
    let receiving = async {
        receive_all(&mut receiver, 20).await?;
        receives(&mut receiver, None).await
    };
    tokio::try_join!(sending, receiving)?;
    Ok(())
}

async fn held_back([here, there]: [Channel; 2]) -> CheckResult {
    let ((_, mut sender), (mut receiver, _other)) = (here.split(), there.split());
    let mut sent = 0;
    loop {
        // A message whose sender gives up is sent with the next one.
        sent += 1;
        match timeout(WAITS, sender.send(message_of(MAX))).await {
            Err(_) => break,
            Ok(taken) => taken.map_err(failed)?,
        }
        if sent == TOO_MANY {
            let mebibytes = (TOO_MANY * MAX) >> 20;
            return Err(format!("{mebibytes} MiB are taken that nobody receives"));
        }
    }
    let sending = async {
        send(&mut sender, 1).await?;
        sender.flush().await.map_err(failed)
    };
    let receiving = async {
        for number in 0..sent {
            let received = receiver.receive().await.map_err(failed)?;
            let is_whole = received == Some(message_of(MAX));
            expect(
                &format!("whether message {number} is whole"),
                is_whole,
                true,
            )?;
        }
        receives(&mut receiver, Some(message(1))).await
    };
    tokio::try_join!(sending, receiving)?;
    Ok(())
}

async fn gone([here, there]: [Channel; 2]) -> CheckResult {
    let (mut receiver, mut sender) = here.split();
    drop(there);
    receives(&mut receiver, None).await?;
    for _ in 0..ATTEMPTS {
        if send(&mut sender, 1).await.is_err() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(format!(
        "{ATTEMPTS} messages are taken for an end that is gone"
    ))
}

async fn given_up([here, there]: [Channel; 2]) -> CheckResult {
    let ((_, mut sender), (mut receiver, _other)) = (here.split(), there.split());
    let sending = send_all(&mut sender, 100);
    let receiving = async {
        for number in 0..100 {
            let received = loop {
                tokio::select! {
                    biased;
                    received = receive(&mut receiver) => break received?,
                    () = yield_now() => {}
                }
            };
            expect("what is received", received, Some(message(number)))?;
        }
        Ok(())
    };
    tokio::try_join!(sending, receiving)?;
    Ok(())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> CheckResult {
    if got == want {
        return Ok(());
    }
    Err(format!("{what}: {got:?}, not {want:?}"))
}

fn failed(error: io::Error) -> String {
    format!("failed: {error}")
}
