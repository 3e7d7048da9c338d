//! Messages as lines of a stream.

use askback::transport::lines;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

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
    // One byte over the limit shows that the line was too long; its end may hold the request
    // id.
    check("123456789\n", &["123456789"]).await;
    check("123456789abcdefg\n{}\n", &["12345defg", "{}"]).await;
    check("123456789abcde", &["12345bcde"]).await;
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
