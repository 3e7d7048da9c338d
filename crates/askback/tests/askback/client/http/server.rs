//! A small scripted HTTP server, which also controls where a chunk ends.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: HashMap<String, String>,
    /// The body, if it is JSON.
    pub(crate) body: Value,
    /// The body, if it is text.
    pub(crate) text: String,
}

pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Piece>,
    /// The response is sent once this is notified.
    after: Option<Arc<Notify>>,
    /// Whether the server never answers, until the client disconnects.
    is_silent: bool,
}

pub(crate) enum Piece {
    Chunk(Vec<u8>),
    /// A pause until the test notifies.
    Wait(Arc<Notify>),
    /// A pause until the client disconnects.
    Hang,
    /// The connection breaks.
    Break,
}

pub(crate) struct Server {
    pub(crate) url: String,
    log: Arc<Log>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Log {
    asked: Mutex<Vec<Asked>>,
    /// The requests that were being answered when a client disconnected.
    hung_up: Mutex<Vec<String>>,
    changed: Notify,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The JSON-RPC method. For a request without one, the HTTP method.
    pub(crate) fn what(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.method)
    }

    pub(crate) fn response(&self, result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}).to_string()
    }

    pub(crate) fn error(&self, code: i64, data: Value) -> String {
        let error = json!({"code": code, "message": "no", "data": data});
        json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error}).to_string()
    }
}

impl Reply {
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            pieces: Vec::new(),
            after: None,
            is_silent: false,
        }
    }

    pub(super) fn silence() -> Self {
        Self {
            is_silent: true,
            ..Self::empty(200)
        }
    }

    /// Delays the response until the test notifies.
    pub(super) fn after(mut self, said: &Arc<Notify>) -> Self {
        self.after = Some(Arc::clone(said));
        self
    }

    pub(crate) fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let reply = Self::empty(status).header("Content-Type", "application/json");
        reply.then(Piece::Chunk(body.into()))
    }

    pub(crate) fn events(events: &str) -> Self {
        Self::events_with(200, events)
    }

    pub(super) fn events_with(status: u16, events: &str) -> Self {
        let reply = Self::empty(status).header("Content-Type", "text/event-stream");
        reply.then(Piece::Chunk(events.into()))
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn then(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    pub(crate) fn and(self, chunk: &str) -> Self {
        self.then(Piece::Chunk(chunk.into()))
    }
}

impl Server {
    /// Answers each request with the function, which also gets the number of earlier requests with
    /// the same method.
    pub(crate) async fn start(
        answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0", answer).await
    }

    pub(crate) async fn start_at(
        address: &str,
        answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let log = Arc::<Log>::default();
        let answer = Arc::new(answer);
        let shared = Arc::clone(&log);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&shared));
                tokio::spawn(async move { serve(stream, &*answer, &log).await });
            }
        });
        Self { url, log, task }
    }

    pub(crate) fn address(&self) -> String {
        let url = self.url.trim_start_matches("http://");
        url.trim_end_matches("/mcp").to_owned()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.asked.lock().unwrap().clone()
    }

    pub(crate) fn whats(&self) -> Vec<String> {
        self.asked()
            .iter()
            .map(|asked| asked.what().to_owned())
            .collect()
    }

    #[track_caller]
    pub(crate) fn last(&self, what: &str) -> Asked {
        let asked = self.asked().into_iter().rfind(|asked| asked.what() == what);
        asked.unwrap_or_else(|| panic!("{what} was not asked: {:?}", self.whats()))
    }

    pub(crate) async fn until(&self, what: &str, count: usize) {
        self.wait(|log| {
            let asked = log.asked.lock().unwrap();
            asked.iter().filter(|asked| asked.what() == what).count() >= count
        })
        .await;
    }

    /// Waits until a client disconnected during this request.
    pub(crate) async fn until_hung_up(&self, what: &str) {
        self.wait(|log| log.hung_up.lock().unwrap().iter().any(|it| it == what))
            .await;
    }

    async fn wait(&self, done: impl Fn(&Log) -> bool) {
        loop {
            let changed = self.log.changed.notified();
            if done(&self.log) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    stream: TcpStream,
    answer: &(dyn Fn(&Asked, usize) -> Reply + Send + Sync),
    log: &Log,
) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream).await {
        let what = asked.what().to_owned();
        let before = {
            let mut all = log.asked.lock().unwrap();
            let before = all.iter().filter(|asked| asked.what() == what).count();
            all.push(asked.clone());
            before
        };
        let reply = answer(&asked, before);
        log.changed.notify_waiters();
        if let Some(said) = &reply.after {
            said.notified().await;
        }
        if reply.is_silent {
            // Nothing but the end can arrive.
            let _ = stream.read(&mut [0]).await;
        }
        if reply.is_silent || !write(&mut stream, reply).await {
            log.hung_up.lock().unwrap().push(what);
            log.changed.notify_waiters();
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    stream
        .read_line(&mut line)
        .await
        .ok()
        .filter(|read| *read > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        let repeated = headers.insert(name.to_ascii_lowercase(), value.to_owned());
        assert!(repeated.is_none(), "{name} was sent twice");
    }
    let length = headers
        .get("content-length")
        .map_or(0, |it| it.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Asked {
        method,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        text: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// Writes a response. Returns whether the connection is still open.
async fn write(stream: &mut BufReader<TcpStream>, reply: Reply) -> bool {
    let mut head = format!(
        "HTTP/1.1 {} It Is\r\nTransfer-Encoding: chunked\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    if stream.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    for piece in reply.pieces {
        match piece {
            // An empty chunk would end the body.
            Piece::Chunk(bytes) if bytes.is_empty() => {}
            Piece::Chunk(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend(bytes);
                chunk.extend(b"\r\n");
                if stream.write_all(&chunk).await.is_err() || stream.flush().await.is_err() {
                    return false;
                }
            }
            Piece::Wait(notify) => notify.notified().await,
            Piece::Hang => {
                let _ = stream.read(&mut [0]).await;
                return false;
            }
            Piece::Break => return false,
        }
    }
    stream.write_all(b"0\r\n\r\n").await.is_ok() && stream.flush().await.is_ok()
}
