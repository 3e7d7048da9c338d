//! The baseline: the cost of the same work without a protocol.
//!
//! `floor --addr ADDR` answers POST requests with a bare axum handler, and GET requests with an event stream that stays
//! open; `floor --stdio` answers lines in a plain loop.

use std::{
    convert::Infallible,
    io::{BufRead, Write},
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::Bytes,
    http::header::CONTENT_TYPE,
    response::{
        IntoResponse, Sse,
        sse::{Event, KeepAlive},
    },
    routing::post,
};
use futures_core::Stream;
use serde::Deserialize;
use tokio::net::TcpListener;

#[derive(Deserialize)]
struct Request {
    id: u64,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    arguments: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    message: String,
}

/// One event, and then no more.
struct Silence(bool);

impl Stream for Silence {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(Event::default().data("{}"))))
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--addr", address] => serve(address).await,
        ["--stdio"] => answer_lines(),
        _ => panic!("usage: floor --addr ADDR | --stdio"),
    }
}

async fn serve(address: &str) {
    let router = Router::new().route("/mcp", post(call).get(listen));
    let listener = TcpListener::bind(address).await.expect("a free address");
    println!("{}", listener.local_addr().expect("an address"));
    axum::serve(listener, router).await.expect("a server");
}

async fn call(body: Bytes) -> impl IntoResponse {
    let request: Request = serde_json::from_slice(&body).expect("a request");
    ([(CONTENT_TYPE, "application/json")], response(&request))
}

async fn listen() -> impl IntoResponse {
    Sse::new(Silence(false)).keep_alive(KeepAlive::default())
}

fn answer_lines() {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line.expect("a line")).expect("a request");
        let mut response = response(&request);
        response.push('\n');
        output.write_all(response.as_bytes()).expect("a reader");
        output.flush().expect("a reader");
    }
}

fn response(request: &Request) -> String {
    let message = serde_json::to_string(&request.params.arguments.message).expect("a text");
    format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":{message}}}]}}}}"#,
        request.id
    )
}
