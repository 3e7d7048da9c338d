//! The desk in an axum application.

use std::net::SocketAddr;

use askback::{
    Principal, Revision,
    client::{Client, ClientError},
    transport::Http,
};
use askback_expense::{Claims, Tokens, router, server};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{check_two_callers, desk, employee};

pub(crate) async fn serve(claims: &Claims) -> SocketAddr {
    let server = server(claims).build().expect("the desk is whole");
    let callers = ["ada", "bob"].map(|name| (format!("{name}-token"), Principal::new(name)));
    let application = router(server.http().service(), Tokens::new(callers.into()));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, application).await });
    address
}

pub(crate) async fn connect(
    address: SocketAddr,
    revision: Revision,
    authorization: &str,
) -> Result<Client, ClientError> {
    let server = Http::new(&format!("http://{address}/mcp")).expect("a URL");
    let server = server
        .header("Authorization", authorization)
        .expect("a header");
    employee(revision).0.connect(server).await
}

#[tokio::test]
async fn callers_are_known_by_their_tokens() {
    for revision in Revision::ALL {
        let address = serve(&desk()).await;
        let ada = connect(address, revision, "Bearer ada-token").await;
        let bob = connect(address, revision, "Bearer bob-token").await;
        check_two_callers(&ada.expect("a client"), &bob.expect("a client")).await;
    }
}

#[tokio::test]
async fn callers_without_a_known_token_are_refused() {
    let address = serve(&desk()).await;
    for revision in Revision::ALL {
        for authorization in ["Bearer eve-token", "Bearer ", "Basic ada-token"] {
            let refused = connect(address, revision, authorization).await;
            let is_unauthorized = matches!(refused, Err(ClientError::Unauthorized { .. }));
            assert!(is_unauthorized, "{revision}, {authorization}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn a_browser_is_told_what_it_may_send_before_it_sends_a_token() {
    let address = serve(&desk()).await;
    for (method, status) in [("OPTIONS", "204"), ("POST", "401")] {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nOrigin: http://localhost\r\n\
             Access-Control-Request-Method: POST\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream
            .write_all(request.as_bytes())
            .await
            .expect("a request");
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .await
            .expect("a response");
        let line = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&line), "{method}: {response}");
    }
}
