//! What every transport promises.

mod contract;

use std::{io, time::Duration};

use askback::{
    Ctx, Limits, Principal, Result, Server, Tool,
    transport::{Channel, ReadMessages, Receiver, Sender, WriteMessages, lines, memory},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    sync::mpsc,
    time::timeout,
};

use self::contract::broken_rules;
use crate::client::builder;

#[tokio::test]
async fn memory_keeps_the_contract() {
    let broken = broken_rules(async |_| {
        let (here, there) = memory();
        [here, there]
    });
    assert_eq!(broken.await, []);
}

#[tokio::test]
async fn lines_keep_the_contract() {
    for room in [100, 1 << 20] {
        let broken = broken_rules(async |max_bytes| {
            let (here, there) = tokio::io::duplex(room);
            [here, there].map(|end| {
                let (reader, writer) = tokio::io::split(end);
                lines(reader, writer, max_bytes)
            })
        });
        assert_eq!(broken.await, []);
    }
}

#[tokio::test(start_paused = true)]
async fn of_messages_that_are_given_up_at_most_one_waits() {
    let (here, there) = tokio::io::duplex(100);
    let streams = [here, there].map(|end| {
        let (reader, writer) = tokio::io::split(end);
        lines(reader, writer, 1000)
    });
    let [near, far] = streams;
    for (near, far) in [memory(), (near, far)] {
        let (_nothing, mut sender) = near.split();
        let (mut receiver, _silent) = far.split();
        let mut sent = 0;
        for _ in 0..100 {
            let sending = sender.send(b"\"a message\"".to_vec());
            sent += usize::from(timeout(Duration::from_secs(1), sending).await.is_ok());
        }
        assert!(sent < 100, "nobody reads");
        let received = async {
            let mut received = 0;
            while receiver.receive().await.expect("it is open").is_some() {
                received += 1;
            }
            received
        };
        let (closed, received) = tokio::join!(sender.close(), received);
        closed.expect("it closes");
        assert!((sent..=sent + 1).contains(&received), "{sent} {received}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Repeats,
    Truncates,
    KeepsAll,
}

struct Reader(mpsc::Receiver<Vec<u8>>);

struct Writer {
    messages: mpsc::Sender<Vec<u8>>,
    fault: Fault,
}

impl ReadMessages for Reader {
    async fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.recv().await)
    }
}

impl WriteMessages for Writer {
    async fn write(&mut self, mut message: Vec<u8>) -> io::Result<()> {
        match self.fault {
            Fault::Truncates => message.truncate(40_000),
            Fault::Repeats => {
                let sent = self.messages.send(message.clone()).await;
                sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
            Fault::KeepsAll => {
                let messages = self.messages.clone();
                tokio::spawn(async move { messages.send(message).await });
                return Ok(());
            }
            Fault::None => {}
        }
        let sent = self.messages.send(message).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// The two ends of a connection that carries messages, with a fault.
fn faulty(fault: Fault, max_bytes: usize) -> [Channel; 2] {
    let (here, there) = (mpsc::channel(1), mpsc::channel(1));
    [(here.0, there.1), (there.0, here.1)].map(|(sender, receiver)| {
        let writer = Writer {
            messages: sender,
            fault,
        };
        Channel::new(Reader(receiver), writer, max_bytes)
    })
}

#[tokio::test]
async fn a_transport_that_breaks_the_contract_is_told_which_rule() {
    for (fault, rules) in [
        (Fault::None, &[][..]),
        (Fault::Repeats, &["messages arrive whole and in order"]),
        (
            Fault::Truncates,
            &[
                "a message as long as the limit arrives",
                "a message longer than the limit is not taken for a shorter one",
            ],
        ),
        (Fault::KeepsAll, &["a sender waits while nobody receives"]),
    ] {
        let broken = broken_rules(async |max_bytes| faulty(fault, max_bytes)).await;
        for rule in rules {
            assert!(
                broken.iter().any(|(broken, _)| broken == rule),
                "{fault:?}\n{broken:?}"
            );
        }
        assert_eq!(broken.is_empty(), rules.is_empty(), "{fault:?}\n{broken:?}");
    }
}

#[tokio::test]
async fn a_transport_may_identify_its_peer() {
    let whoami = async |ctx: Ctx| -> Result<String> {
        let principal = ctx.principal();
        Ok(principal.map_or("nobody".to_owned(), |principal| principal.subject.clone()))
    };
    for known in [None, Some("ada")] {
        let server = Server::new("tests", "1").tool(Tool::new("whoami", whoami));
        let server = server.build().unwrap();
        let (here, mut there) = memory();
        if let Some(subject) = known {
            there = there.principal(Principal::new(subject));
        }
        tokio::spawn(async move { server.serve(there).await });
        let client = builder(None).connect(here).await.unwrap();
        let result = client.call_tool("whoami", ()).await.unwrap();
        let said = serde_json::to_value(&result.content[0]).unwrap();
        assert_eq!(said["text"], known.unwrap_or("nobody"));
        client.close().await;
    }
}

/// The clock only advances when nothing runs, so a timeout means that nothing happens any more.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_listened_to_while_there_is_room() {
    let mut limits = Limits::default();
    limits.wire.message_bytes = 8 << 10;
    let server = Server::new("tests", "1").limits(limits).build().unwrap();
    let (near, far) = tokio::io::duplex(100);
    let (reader, writer) = tokio::io::split(far);
    tokio::spawn(async move { server.serve(lines(reader, writer, 8 << 10)).await });
    let (reader, mut writer) = tokio::io::split(near);
    let mut sent = 0;
    let unsent = loop {
        let ping = json!({"jsonrpc": "2.0", "id": sent, "method": "ping"});
        let ping = format!("{ping}\n").into_bytes();
        let mut left = ping.as_slice();
        while let Ok(written) = timeout(Duration::from_secs(1), writer.write(left)).await {
            left = &left[written.unwrap()..];
            if left.is_empty() {
                break;
            }
        }
        sent += 1;
        if !left.is_empty() {
            break left.to_vec();
        }
    };
    // An answer has about 40 bytes.
    assert!((150..400).contains(&sent), "{sent}");
    let rest = tokio::spawn(async move { writer.write_all(&unsent).await.map(|()| writer) });
    let mut answers = BufReader::new(reader).lines();
    for id in 0..sent {
        let answer = answers.next_line().await.unwrap().expect("an answer");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], id);
    }
    rest.await.unwrap().unwrap();
}
