//! A balancer without affinity: each request reaches the next process that lives.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// How long a request waits for a process that lives.
const PATIENCE: Duration = Duration::from_secs(15);

/// The longest head of a request, in bytes.
const HEAD: usize = 64 << 10;

/// What passes through the balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// A client comes back for a stream.
    Resume,
    /// A client calls a tool for the first time.
    Call,
    /// A client answers a question.
    Answer,
    /// A process has taken the answer.
    AnswerTaken,
    /// The process is gone before it has taken the answer.
    AnswerCut,
    Other,
}

/// Hears of what passes, and at which process.
pub(super) trait Observer: Send + Sync + 'static {
    fn passes(self: &Arc<Self>, what: Passing, node: usize);
}

pub(super) struct Balancer<O> {
    addresses: Vec<SocketAddr>,
    next: AtomicUsize,
    observer: Arc<O>,
}

impl<O: Observer> Balancer<O> {
    pub(super) async fn listen() -> io::Result<TcpListener> {
        TcpListener::bind("127.0.0.1:0").await
    }

    /// Serves from now on.
    pub(super) fn serve(listener: TcpListener, addresses: Vec<SocketAddr>, observer: Arc<O>) {
        let me = Arc::new(Self {
            addresses,
            next: AtomicUsize::new(0),
            observer,
        });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let me = Arc::clone(&me);
                // A client sees that its connection is broken.
                tokio::spawn(async move { me.pass(client).await });
            }
        });
    }

    /// Passes one request on, and what is answered.
    async fn pass(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let Some((head, body)) = request(&mut client).await? else {
            return Ok(());
        };
        let what = kind(&head, &body);
        let (at, mut server) = self.connect().await?;
        self.observer.passes(what, at);
        server.write_all(&[head.as_bytes(), &body].concat()).await?;
        let mut has_answered = false;
        let mut bytes = vec![0; 16 << 10];
        let (mut from_client, mut to_client) = client.split();
        let mut ignored = [0; 64];
        loop {
            let read = tokio::select! {
                read = server.read(&mut bytes) => read.unwrap_or_default(),
                // The client leaves: a client sends one request at a time.
                left = from_client.read(&mut ignored) => match left {
                    Ok(0) | Err(_) => return Ok(()),
                    Ok(_) => continue,
                },
            };
            if read == 0 {
                break;
            }
            to_client.write_all(&bytes[..read]).await?;
            if !has_answered && what == Passing::Answer {
                self.observer.passes(Passing::AnswerTaken, at);
            }
            has_answered = true;
        }
        if !has_answered && what == Passing::Answer {
            self.observer.passes(Passing::AnswerCut, at);
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

/// Reads a request: its head, which asks for one answer on the connection, and its body.
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

fn kind(head: &str, body: &[u8]) -> Passing {
    let has = |what: &str| body.windows(what.len()).any(|at| at == what.as_bytes());
    if head.starts_with("GET") {
        return match header(head, "last-event-id") {
            Some(_) => Passing::Resume,
            None => Passing::Other,
        };
    }
    if has("\"inputResponses\"") || has("\"action\"") {
        Passing::Answer
    } else if has("\"tools/call\"") {
        Passing::Call
    } else {
        Passing::Other
    }
}
