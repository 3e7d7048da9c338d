use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use url::form_urlencoded;

/// A status and a body.
pub(crate) type Reply = (u16, String);

pub(crate) struct Issuer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Issuer {
    /// Answers each request with the function's result. The function gets the issuer's URL and the
    /// path.
    pub(crate) async fn start(
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
                let length = body.len();
                let reply = format!(
                    "HTTP/1.1 {status} Reply\r\nContent-Length: {length}\r\nLocation: {own}/elsewhere\r\n\
                     Content-Type: application/json\r\nConnection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        Self { url, asked, task }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the headers and the form of the only request.
    #[track_caller]
    pub(crate) fn form(&self) -> (String, Vec<(String, String)>) {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        let (head, body) = asked[0].split_once("\r\n\r\n").expect("a request");
        let form = form_urlencoded::parse(body.as_bytes()).into_owned();
        (head.to_owned(), form.collect())
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
