//! How a client finds out a server's era.

use askback::{
    client::ClientError,
    transport::{BadHeader, BadUrl},
};
use serde_json::json;

use super::{Http, Reply, Server, builder, call, connect, impatient, modern, session};

#[tokio::test]
async fn failures_tell_no_era() {
    type Answer = fn() -> Reply;
    let cases: [(Answer, u16); 6] = [
        (|| Reply::empty(500), 500),
        (|| Reply::empty(503), 503),
        (
            || {
                Reply::json(
                    500,
                    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#,
                )
            },
            500,
        ),
        (|| Reply::empty(403), 403),
        (
            || {
                Reply::json(
                    403,
                    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}"#,
                )
            },
            403,
        ),
        (|| Reply::empty(429), 429),
    ];
    for (answer, expected) in cases {
        let server = Server::start(move |_, _| answer()).await;
        let error = connect(&server).await.unwrap_err();
        assert!(
            matches!(error, ClientError::Http { status, .. } if status == expected),
            "{error:?}"
        );
        assert_eq!(server.whats(), ["server/discover"]);
    }
    let server = Server::start(|_, _| {
        Reply::empty(401)
            .header(
                "WWW-Authenticate",
                "Bearer resource_metadata=\"https://a.test\"",
            )
            .header("www-authenticate", "Basic")
    })
    .await;
    let error = connect(&server).await.unwrap_err();
    let challenges = vec![
        "Bearer resource_metadata=\"https://a.test\"".to_owned(),
        "Basic".to_owned(),
    ];
    assert_eq!(
        error,
        ClientError::Unauthorized {
            status: 401,
            challenges
        }
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_cannot_be_reached() {
    let server = Server::start(|asked, _| modern(asked)).await;
    let url = server.url.clone();
    drop(server);
    // The task may hold the port a moment longer. The client does not wait if the connection is
    // refused.
    tokio::task::yield_now().await;
    let https = url.replace("http:", "https:");
    for url in [url, https] {
        let error = builder(None)
            .connect(Http::new(&url).unwrap())
            .await
            .unwrap_err();
        assert!(matches!(error, ClientError::Unreachable(_)), "{error:?}");
    }
}

// Shows HT-68.
#[tokio::test]
async fn modern_errors_are_acted_on() {
    // The server speaks another stateless revision, which it offers.
    let server = Server::start(|asked, before| match (asked.what(), before) {
        ("server/discover", 0) => Reply::json(
            400,
            asked.error(
                -32022,
                json!({"supported": ["2025-06-18"], "requested": ""}),
            ),
        ),
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    assert_eq!(client.revision().as_str(), "2025-06-18");
    for code in [-32020, -32021] {
        let server =
            Server::start(move |asked, _| Reply::json(400, asked.error(code, json!(null)))).await;
        let error = connect(&server).await.unwrap_err();
        assert!(matches!(error, ClientError::Server(_)), "{error:?}");
        assert_eq!(server.whats(), ["server/discover"]);
    }
}

// Shows HT-68.
#[tokio::test]
async fn other_answers_lead_to_the_handshake() {
    type Answer = fn(&super::Asked) -> Reply;
    let cases: [Answer; 8] = [
        |_| Reply::empty(400),
        |_| Reply::empty(404),
        |_| Reply::empty(405),
        |_| Reply::empty(406),
        |_| {
            Reply::empty(400)
                .header("Content-Type", "text/plain")
                .and("Bad Request")
        },
        |_| {
            Reply::json(
                400,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not initialized"}}"#,
            )
        },
        |_| Reply::json(400, r#"{"error":"bad request"}"#),
        |asked| Reply::json(200, asked.error(-32601, json!(null))),
    ];
    for answer in cases {
        let server = Server::start(move |asked, _| match asked.what() {
            "server/discover" => answer(asked),
            _ => session(asked),
        })
        .await;
        let client = connect(&server).await.unwrap();
        assert_eq!(client.revision().as_str(), "2025-11-25");
    }
}

// Shows VE-07.
#[tokio::test]
async fn what_is_known_of_a_server_is_shared_and_forgotten() {
    let server = Server::start(|asked, before| match (asked.what(), before) {
        // Later, the server is of the other era.
        ("initialize", 2..) => Reply::json(400, asked.error(-32020, json!(null))),
        ("server/discover", 1..) => modern(asked),
        ("tools/call", _) => modern(asked),
        _ => session(asked),
    })
    .await;
    let http = Http::new(&server.url).unwrap();
    let connect = async || {
        let builder = builder(None).limits(impatient());
        builder.connect(http.clone()).await
    };
    connect().await.unwrap().close().await;
    assert_eq!(server.whats()[..2], ["server/discover", "initialize"]);
    let before = server.whats().len();
    connect().await.unwrap().close().await;
    assert_eq!(server.whats()[before], "initialize");
    let before = server.whats().len();
    let client = connect().await.unwrap();
    assert_eq!(client.revision().as_str(), "2026-07-28");
    call(&client, "t").await.unwrap();
    assert_eq!(
        server.whats()[before..],
        ["initialize", "server/discover", "tools/call"]
    );
    let before = server.whats().len();
    connect().await.unwrap();
    assert_eq!(server.whats()[before..], ["server/discover"]);
}

#[test]
fn urls_and_headers_are_checked() {
    let bad = |url: &str| Http::new(url).unwrap_err();
    assert!(matches!(bad("example.com"), BadUrl::Unreadable { .. }));
    assert_eq!(bad("file:///mcp"), BadUrl::Scheme("file".into()));
    assert_eq!(bad("https://user:secret@example.com"), BadUrl::Credentials);
    assert_eq!(bad("https://user@example.com"), BadUrl::Credentials);
    let header = |name: &str, value: &str| {
        Http::new("https://example.com")
            .unwrap()
            .header(name, value)
    };
    assert!(header("Authorization", "Bearer x").is_ok());
    assert!(matches!(header("a b", "x"), Err(BadHeader::Unreadable(_))));
    assert!(matches!(
        header("A", "x\r\nB: y"),
        Err(BadHeader::Unreadable(_))
    ));
    for name in [
        "Mcp-Session-Id",
        "mcp-param-x",
        "Accept",
        "Content-Type",
        "Host",
        "Proxy-Authorization",
    ] {
        assert_eq!(
            header(name, "x").unwrap_err(),
            BadHeader::Reserved(name.into())
        );
    }
    let shown = format!("{:?}", header("Authorization", "Bearer secret").unwrap());
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn own_headers_are_sent_with_everything() {
    let server = Server::start(|asked, _| session(asked)).await;
    let http = Http::new(&server.url)
        .unwrap()
        .header("Authorization", "Bearer x")
        .unwrap();
    let client = builder(None)
        .limits(impatient())
        .connect(http)
        .await
        .unwrap();
    server.until("GET", 1).await;
    client.close().await;
    for asked in server.asked() {
        assert_eq!(
            asked.header("authorization"),
            Some("Bearer x"),
            "{}",
            asked.what()
        );
    }
}
