//! Servers on sockets, and clients that can send any bytes.

use std::{net::SocketAddr, pin::Pin, time::Duration};

use askback::ServerBuilder;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};

use super::client::stateless;

pub(crate) type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A server that runs until it is told to stop.
pub(crate) struct Serving {
    pub(crate) addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Serving {
    pub(crate) async fn start(builder: ServerBuilder) -> Self {
        let endpoint = builder.build().unwrap().http().allow_http_sse();
        Self::by(|listener, stopped| endpoint.serve_until(listener, stopped)).await
    }

    /// Runs a server on a listener until the signal arrives.
    pub(crate) async fn by<F>(serve: impl FnOnce(TcpListener, BoxFuture) -> F) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        let served = tokio::spawn(serve(listener, Box::pin(stopped)));
        Self {
            addr,
            stop: Some(stop),
            served,
        }
    }

    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().expect("it is told once").send(());
    }

    pub(crate) async fn ended(self) {
        soon(self.served).await.unwrap().unwrap();
    }

    pub(crate) async fn connect(&self) -> Socket {
        Socket {
            stream: TcpStream::connect(self.addr).await.unwrap(),
            read: Vec::new(),
        }
    }

    pub(crate) async fn says(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut socket = self.connect().await;
        socket.send(bytes).await;
        socket.rest().await
    }

    pub(crate) async fn assert_well(&self) {
        let said = self.says(hello("Connection: close\r\n")).await;
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
        assert!(said.contains("Hello!"), "{said}");
    }
}

pub(crate) struct Socket {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Socket {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Reads to the end of the connection.
    pub(crate) async fn rest(&mut self) -> String {
        while self.more().await {}
        String::from_utf8_lossy(&std::mem::take(&mut self.read)).into_owned()
    }

    /// Reads up to and including this text.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        loop {
            let at = self
                .read
                .windows(end.len())
                .position(|at| at == end.as_bytes());
            if let Some(at) = at {
                let rest = self.read.split_off(at + end.len());
                let read = std::mem::replace(&mut self.read, rest);
                return String::from_utf8_lossy(&read).into_owned();
            }
            if !self.more().await {
                let read = String::from_utf8_lossy(&self.read);
                panic!("{end:?} did not come, only {read:?}");
            }
        }
    }

    pub(crate) async fn ends(&mut self) {
        while self
            .stream
            .read_buf(&mut self.read)
            .await
            .is_ok_and(|read| read > 0)
        {}
    }

    pub(crate) async fn more(&mut self) -> bool {
        let read = soon(self.stream.read_buf(&mut self.read)).await;
        read.is_ok_and(|count| count > 0)
    }
}

/// Fails if the future is not ready long before the time limit.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    let within = timeout(Duration::from_secs(60), future).await;
    within.expect("something hangs")
}

pub(crate) const HEADERS: &str = "Host: localhost\r\nContent-Type: application/json\r\n\
    Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n";

pub(crate) fn call(tool: &str) -> String {
    stateless("tools/call", json!({"name": tool})).to_string()
}

/// A tool call as an HTTP request, with more headers.
pub(crate) fn calling(tool: &str, more: &str) -> String {
    let body = call(tool);
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\n{HEADERS}Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n{more}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// A call that is answered at once, with more headers.
pub(crate) fn hello(more: &str) -> String {
    calling("hello", more)
}
