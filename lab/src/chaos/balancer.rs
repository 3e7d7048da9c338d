//! A load balancer without affinity: each request goes to the next running process.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// How long a request waits for a running process.
const PATIENCE: Duration = Duration::from_secs(15);

const HEAD: usize = 64 << 10;

/// Separates a request's name, its method and number, from the token of its client.
pub(super) const MARK: char = '~';

const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    Resume,
    Call,
    Answer,
    AnswerTaken,
    /// The process died before it received the answer.
    AnswerCut,
    /// The process died before its response was complete, or a balancer behind this one had no process. The end of a
    /// session's own stream is not reported.
    Broken,
    Listen,
    Other,
}

/// Receives the events and their process. A call is identified by its client's token.
pub(super) trait Observer: Send + Sync + 'static {
    fn passes(self: &Arc<Self>, call: &str, what: Passing, node: usize);

    /// A process sends a question. Returns whether the process has died, in which case the client does not get the
    /// question.
    fn asks(self: &Arc<Self>, call: &str, node: usize) -> impl Future<Output = bool> + Send;
}

pub(super) struct Balancer<O> {
    addresses: Vec<SocketAddr>,
    next: AtomicUsize,
    requests: AtomicU64,
    observer: Arc<O>,
}

impl<O: Observer> Balancer<O> {
    pub(super) async fn listen() -> io::Result<TcpListener> {
        TcpListener::bind("127.0.0.1:0").await
    }

    pub(super) fn serve(listener: TcpListener, addresses: Vec<SocketAddr>, observer: Arc<O>) {
        let me = Arc::new(Self {
            addresses,
            next: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            observer,
        });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let me = Arc::clone(&me);
                // The client notices that its connection is broken.
                tokio::spawn(async move { me.pass(client).await });
            }
        });
    }

    async fn pass(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let Some((head, body)) = request(&mut client).await? else {
            return Ok(());
        };
        let what = kind(&head, &body);
        let call = header(&head, "authorization").and_then(|value| value.strip_prefix("Bearer "));
        let call = call.unwrap_or_default();
        // Each process records the names of its requests, so a request that two processes handle is found.
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let method = head.split(' ').next().unwrap_or_default();
        let head = head.replacen(
            &format!("Bearer {call}"),
            &format!("Bearer {call}{MARK}{method}-{number}"),
            1,
        );
        let (at, mut server) = self.connect().await?;
        self.observer.passes(call, what, at);
        server.write_all(&[head.as_bytes(), &body].concat()).await?;
        let mut response = Response::default();
        let mut bytes = vec![0; 16 << 10];
        let (mut from_client, mut to_client) = client.split();
        let mut ignored = [0; 64];
        loop {
            let read = tokio::select! {
                read = server.read(&mut bytes) => read.unwrap_or_default(),
                // The client sends one request at a time, so the end of its stream means that it disconnected.
                left = from_client.read(&mut ignored) => match left {
                    // The client may have read all of a refusal before this program has.
                    Ok(0) | Err(_) if response.is_refusal() => break,
                    Ok(0) | Err(_) => return Ok(()),
                    Ok(_) => continue,
                },
            };
            if read == 0 {
                break;
            }
            let bytes = &bytes[..read];
            if has(bytes, "\"elicitation/create\"") && self.observer.asks(call, at).await {
                break;
            }
            to_client.write_all(bytes).await?;
            if response.has_not_begun() && what == Passing::Answer {
                self.observer.passes(call, Passing::AnswerTaken, at);
            }
            response.add(bytes);
        }
        if response.has_not_begun() && what == Passing::Answer {
            self.observer.passes(call, Passing::AnswerCut, at);
        }
        if what != Passing::Listen && (!response.is_complete() || response.is_refusal()) {
            self.observer.passes(call, Passing::Broken, at);
        }
        Ok(())
    }

    async fn connect(&self) -> io::Result<(usize, TcpStream)> {
        let begun = Instant::now();
        loop {
            for _ in 0..self.addresses.len() {
                let at = self.next.fetch_add(1, Ordering::Relaxed) % self.addresses.len();
                if let Ok(server) = TcpStream::connect(self.addresses[at]).await {
                    server.set_nodelay(true)?;
                    return Ok((at, server));
                }
            }
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other("no process lives"));
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

#[derive(Default)]
struct Response {
    head: Vec<u8>,
    /// The start of the body, once it has arrived.
    body: Option<usize>,
    length: usize,
    end: Vec<u8>,
}

impl Response {
    fn has_not_begun(&self) -> bool {
        self.length == 0
    }

    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if self.body.is_none() && self.head.len() < HEAD {
            self.head.extend_from_slice(bytes);
            let end = self.head.windows(4).position(|four| four == b"\r\n\r\n");
            self.body = end.map(|at| at + 4);
        }
        self.end.extend_from_slice(bytes);
        self.end
            .drain(..self.end.len().saturating_sub(LAST_CHUNK.len()));
    }

    fn is_refusal(&self) -> bool {
        let status = self.head.split(|byte| *byte == b' ').nth(1);
        status.is_some_and(|status| [&b"502"[..], b"503", b"504"].contains(&status))
    }

    fn is_complete(&self) -> bool {
        let Some(body) = self.body else { return false };
        let head = String::from_utf8_lossy(&self.head[..body]);
        if header(&head, "transfer-encoding").is_some() {
            return self.end == LAST_CHUNK;
        }
        let length =
            header(&head, "content-length").and_then(|length| length.parse::<usize>().ok());
        length.is_none_or(|length| self.length >= body + length)
    }
}

/// Reads a request, and changes its head to close the connection after one response.
async fn request(client: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut read = Vec::new();
    let end = loop {
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if read.len() > HEAD || client.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    };
    let mut body = read.split_off(end + 4);
    let head = String::from_utf8_lossy(&read[..end]).into_owned();
    let length = header(&head, "content-length").and_then(|length| length.parse().ok());
    while body.len() < length.unwrap_or(0) {
        if client.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    let lines = head.split("\r\n").filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !name.eq_ignore_ascii_case("connection")
    });
    let head = lines.collect::<Vec<_>>().join("\r\n") + "\r\nconnection: close\r\n\r\n";
    Ok(Some((head, body)))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (line, value) = line.split_once(':')?;
        line.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn has(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|at| at == what.as_bytes())
}

fn kind(head: &str, body: &[u8]) -> Passing {
    if head.starts_with("GET") {
        // Event ids of a session's own stream begin with a zero.
        return match header(head, "last-event-id") {
            Some(id) if !id.starts_with("0.") => Passing::Resume,
            _ => Passing::Listen,
        };
    }
    let calls = ["\"tools/call\"", "\"prompts/get\"", "\"resources/read\""];
    if has(body, "\"inputResponses\"") || has(body, "\"action\"") {
        Passing::Answer
    } else if has(body, "\"tasks/get\"") {
        Passing::Resume
    } else if calls.iter().any(|call| has(body, call)) {
        Passing::Call
    } else {
        Passing::Other
    }
}
