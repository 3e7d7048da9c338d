//! A server for the measured client. It sends prepared bytes, so its cost is small and constant.

use std::io::{self, BufRead, Write};

use askback::transport::Channel;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The flag that makes this program a server on stdio.
pub(crate) const STDIO: &str = "--far";

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#;
const CALLED: &str =
    r#"{"resultType":"complete","content":[{"type":"text","text":"Hello, world!"}]}"#;

pub(crate) async fn answer_channel(far: Channel) {
    let (mut receiver, mut sender) = far.split();
    while let Ok(Some(request)) = receiver.receive().await {
        if sender.send(answer(&request)).await.is_err() {
            return;
        }
    }
}

pub(crate) fn answer_lines() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let mut answer = answer(line?.as_bytes());
        answer.push(b'\n');
        output.write_all(&answer)?;
        output.flush()?;
    }
    Ok(())
}

pub(crate) async fn answer_http(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer_connection(stream));
    }
}

async fn answer_connection(mut stream: TcpStream) {
    let mut read = Vec::with_capacity(4096);
    while stream.read_buf(&mut read).await.is_ok_and(|more| more > 0) {
        let Some(head) = find(&read, b"\r\n\r\n") else {
            continue;
        };
        let length = find(&read, b"content-length: ").map(|at| number(&read[at..]));
        let Some(length) = length.filter(|length| read.len() >= head + length) else {
            continue;
        };
        let answer = answer(&read[head..head + length]);
        read.clear();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        let whole = [head.as_bytes(), &answer].concat();
        if stream.write_all(&whole).await.is_err() {
            return;
        }
    }
}

fn answer(request: &[u8]) -> Vec<u8> {
    let id = find(request, b"\"id\":").map_or(0, |at| number(&request[at..]));
    let result = match find(request, b"server/discover") {
        Some(_) => DISCOVERED,
        None => CALLED,
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let at = text.windows(what.len()).position(|here| here == what)?;
    Some(at + what.len())
}

fn number(text: &[u8]) -> usize {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
}
