//! A scripted authorization server.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(super) type Reply = (u16, String);

/// An issuer that runs until it is dropped.
pub(super) struct Issuer {
    pub(super) url: String,
    /// The raw requests, with headers and body.
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Issuer {
    /// Answers each request with the function, which gets the issuer's own URL and the path.
    pub(super) async fn start(
        answer: impl Fn(&str, &str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (log, own) = (Arc::clone(&asked), url.clone());
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                log.lock().unwrap().push(request);
                let (status, body) = answer(&own, &path);
                let location = format!("{own}/elsewhere");
                let length = body.len();
                let reply = format!(
                    "HTTP/1.1 {status} Reply\r\nContent-Length: {length}\r\nLocation: {location}\r\n\
                     Content-Type: application/json\r\nConnection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        Self { url, asked, task }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) fn times(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut request = String::new();
    let mut bytes = [0; 4096];
    loop {
        let count = stream.read(&mut bytes).await.unwrap_or_default();
        request += &String::from_utf8_lossy(&bytes[..count]);
        let whole = request.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.trim().parse::<usize>().ok())?
            });
            body.len() >= length.unwrap_or_default()
        });
        if whole || count == 0 {
            return request;
        }
    }
}
