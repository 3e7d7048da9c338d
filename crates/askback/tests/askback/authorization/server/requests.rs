//! Challenges for clients without a valid token, and the metadata document of a server.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use askback::{
    BoxFuture, Principal, Server, Tool,
    authorization::{
        BadScopes, Scopes,
        server::{Access, PresentedToken, Protection, TokenError, TokenVerifier},
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::{
    Hand, ISSUER, METADATA, NOW, RESOURCE, Ran, bearer, builder, claims, client, key, post,
    protection, verifier, with,
};
use crate::http::client::{Client, MESSAGE, hello_tool, mirrored};

/// The part of every challenge after the scheme.
fn rest() -> String {
    format!(r#"resource_metadata="{METADATA}", scope="notes:read""#)
}

/// A body that never arrives.
struct Never;

impl http_body::Body for Never {
    type Data = bytes::Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<bytes::Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_is_judged_before_the_token_and_that_before_the_body() {
    for (host, status) in [("evil.example", 403), ("localhost", 401)] {
        let request = http::Request::post("/mcp").header("host", host);
        let request = request.header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let client = client();
        let answered = client.0.respond(request.body(Never).unwrap());
        let answered = timeout(Duration::from_secs(1), answered).await;
        let answered = answered.expect("nobody waits for the body");
        assert_eq!(answered.status(), status, "{host}");
        let is_challenged = answered.headers().contains_key("www-authenticate");
        assert_eq!(is_challenged, status == 401, "{host}");
    }
}

/// A verifier that needs `takes` milliseconds, and whose tokens are valid until `until`.
struct Slow {
    time: Arc<AtomicU64>,
    takes: u64,
    until: u64,
}

impl TokenVerifier for Slow {
    fn issuers(&self) -> Vec<String> {
        vec![ISSUER.to_owned()]
    }

    fn verify<'a>(&'a self, _: PresentedToken<'a>) -> BoxFuture<'a, Result<Access, TokenError>> {
        Box::pin(async {
            self.time.fetch_add(self.takes, Ordering::SeqCst);
            let access = Access::new(Principal::new("alice"), Scopes::new());
            Ok(access.until(self.until))
        })
    }
}

#[tokio::test]
async fn a_token_is_good_until_it_ends_however_long_it_took_to_verify() {
    for (takes, left, status) in [(0, 1, 200), (0, 0, 401), (5, 6, 200), (5, 5, 401)] {
        let time = Arc::new(AtomicU64::new(NOW));
        let verifier = Slow {
            time: Arc::clone(&time),
            takes,
            until: NOW + left,
        };
        let protection = Protection::new(RESOURCE, verifier).unwrap();
        let server = builder(&Ran::default()).clock(Hand(time)).build().unwrap();
        let client = Client(server.http().allow_http_sse().protect(protection).service());
        let response = post(&client, "Bearer opaque", &hello_tool()).await;
        assert_eq!(response.status, status, "{takes} of {left}");
        let told = response.header("www-authenticate").unwrap_or_default();
        assert_eq!(told.contains("has expired"), status == 401, "{told}");
    }
}

fn challenge(error: &str, why: &str) -> String {
    format!(
        r#"Bearer error="{error}", error_description="{why}", {}"#,
        rest()
    )
}

// Shows AZ-12, AZ-35, AZ-38, AZ-39, AZ-41, AZ-42, AZ-50, AD-04, EL-20, HT-05, AZ25-15, AZ25-22,
// BA-27.
#[tokio::test]
async fn a_request_without_a_good_token_is_told_what_to_do() {
    let client = client();
    let good = bearer(&claims());
    let token = &good["Bearer ".len()..];
    let nameless = format!("Bearer {}", rest());
    let expired = bearer(&with("exp", json!(NOW / 1000 - 60)));
    let foreign = bearer(&with("aud", json!("https://other.example")));
    let invalid = challenge("invalid_token", "the access token is not valid here");
    let malformed = |why: &str| (400, challenge("invalid_request", why));
    let written = "the Authorization header must be the scheme and one token";
    let twice = "there is more than one Authorization header";
    let url = "send the access token in the Authorization header, never in the URL";
    let long = format!("Bearer {}", "a".repeat((16 << 10) + 1));
    let over = challenge("invalid_token", "the access token has expired");
    let cookie = format!("token={token}");
    let basic = "Basic YWxpY2U6c2VjcmV0";
    type Case<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str)>, (u16, String));
    let cases: Vec<Case<'_>> = vec![
        ("no token", "", vec![], (401, nameless.clone())),
        (
            "another scheme",
            "",
            vec![("authorization", basic)],
            (401, nameless.clone()),
        ),
        (
            "no scheme",
            "",
            vec![("authorization", token)],
            (401, nameless.clone()),
        ),
        (
            "nothing",
            "",
            vec![("authorization", "")],
            (401, nameless.clone()),
        ),
        (
            "a cookie",
            "",
            vec![("cookie", &cookie)],
            (401, nameless.clone()),
        ),
        (
            "a header of its own",
            "",
            vec![("x-access-token", token)],
            (401, nameless.clone()),
        ),
        (
            "a proxy's",
            "",
            vec![("proxy-authorization", &good)],
            (401, nameless.clone()),
        ),
        (
            "only the scheme",
            "",
            vec![("authorization", "Bearer")],
            malformed(written),
        ),
        (
            "no token behind it",
            "",
            vec![("authorization", "Bearer ")],
            malformed(written),
        ),
        (
            "two words",
            "",
            vec![("authorization", "Bearer a b")],
            malformed(written),
        ),
        (
            "two tokens",
            "",
            vec![("authorization", "Bearer a, Bearer b")],
            malformed(written),
        ),
        (
            "quotes",
            "",
            vec![("authorization", "Bearer \"a\"")],
            malformed(written),
        ),
        (
            "other letters",
            "",
            vec![("authorization", "Bearer \u{e4}")],
            malformed("the Authorization header cannot be read"),
        ),
        (
            "a novel",
            "",
            vec![("authorization", &long)],
            malformed("the access token is too long"),
        ),
        (
            "two headers",
            "",
            vec![("authorization", &good), ("authorization", "Bearer x")],
            malformed(twice),
        ),
        (
            "twice the same",
            "",
            vec![("authorization", &good), ("authorization", &good)],
            malformed(twice),
        ),
        ("in the URL", "?access_token=x", vec![], malformed(url)),
        ("in any case", "?Access_Token=x", vec![], malformed(url)),
        (
            "in the URL as well",
            "?a=b&access_token=x",
            vec![("authorization", &good)],
            malformed(url),
        ),
        (
            "in the URL, encoded",
            "?access%5Ftoken=x",
            vec![("authorization", &good)],
            malformed(url),
        ),
        (
            "unknown",
            "",
            vec![("authorization", "Bearer opaque")],
            (401, invalid.clone()),
        ),
        (
            "for another",
            "",
            vec![("authorization", &foreign)],
            (401, invalid),
        ),
        ("over", "", vec![("authorization", &expired)], (401, over)),
    ];
    let call = hello_tool();
    for (name, query, headers, (status, challenge)) in &cases {
        let headers = [&MESSAGE[..], &mirrored(&call), headers].concat();
        for method in ["POST", "GET", "DELETE", "PUT"] {
            let path = format!("/mcp{query}");
            let response = client.send(method, &path, &headers, call.to_string()).await;
            assert_eq!(response.status, *status, "{name}");
            let told = response.header("www-authenticate");
            assert_eq!(told, Some(challenge.as_str()), "{name}");
        }
    }
    for (name, authorization) in [
        ("as usual", &good),
        ("in small letters", &good.replace("Bearer", "bearer")),
    ] {
        let response = super::post(&client, authorization, &call).await;
        assert_eq!(response.status, 200, "{name}");
    }
}

// Shows AZ-39.
#[tokio::test]
async fn a_token_that_cannot_be_judged_is_not_refused() {
    struct Absent;

    impl TokenVerifier for Absent {
        fn issuers(&self) -> Vec<String> {
            vec![ISSUER.to_owned()]
        }

        fn verify<'a>(
            &'a self,
            _: PresentedToken<'a>,
        ) -> BoxFuture<'a, Result<Access, TokenError>> {
            let why = TokenError::Unavailable("it is away".to_owned());
            Box::pin(std::future::ready(Err(why)))
        }
    }

    let server = Server::new("notes", "1").build().unwrap();
    let protection = Protection::new(RESOURCE, Absent).unwrap();
    let client = Client(server.http().allow_http_sse().protect(protection).service());
    let response = super::post(&client, "Bearer a", &hello_tool()).await;
    assert_eq!(response.status, 503);
    assert_eq!(response.header("www-authenticate"), None);
    assert!(!response.text().await.contains("it is away"));
}

// Shows AZ-06, AD-01, AD-02.
#[tokio::test]
async fn a_server_says_where_tokens_come_from() {
    let client = client();
    let local = [("host", "localhost")];
    let place = "/.well-known/oauth-protected-resource/mcp";
    let response = client.send("GET", place, &local, "").await;
    assert_eq!(response.status, 200);
    assert_eq!(
        response.header("cache-control"),
        Some("public, max-age=600")
    );
    assert_eq!(response.header("vary"), Some("origin"));
    let document = response.json().await;
    let wanted = json!({
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["notes:read"],
        "bearer_methods_supported": ["header"],
    });
    let mut told = document;
    told.as_object_mut()
        .unwrap()
        .remove("dpop_signing_alg_values_supported");
    assert_eq!(told, wanted);

    let page = [("host", "localhost"), ("origin", "http://localhost:6274")];
    let response = client.send("GET", place, &page, "").await;
    assert_eq!(
        response.header("access-control-allow-origin"),
        Some(page[1].1)
    );
    let asks = [&page[..], &[("access-control-request-method", "GET")]].concat();
    let response = client.send("OPTIONS", place, &asks, "").await;
    assert_eq!(response.status, 204);
    assert_eq!(
        response.header("access-control-allow-methods"),
        Some("GET, HEAD")
    );
    assert_eq!(client.send("HEAD", place, &local, "").await.status, 200);
    assert_eq!(client.send("POST", place, &local, "").await.status, 405);
    let evil = [("host", "localhost"), ("origin", "https://evil.example")];
    assert_eq!(client.send("GET", place, &evil, "").await.status, 403);
    let evil = [("host", "evil.example")];
    assert_eq!(client.send("GET", place, &evil, "").await.status, 403);
}

// Shows AD-04.
#[tokio::test]
async fn a_page_may_ask_before_it_has_a_token_and_read_what_it_is_told() {
    let client = client();
    let page = [("host", "localhost"), ("origin", "http://localhost:6274")];
    let wishes = [
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization, content-type",
        ),
    ];
    let asks = [&page[..], &wishes].concat();
    let response = client.send("OPTIONS", "/mcp", &asks, "").await;
    assert_eq!(response.status, 204);
    assert_eq!(
        response.header("access-control-allow-headers"),
        Some(wishes[1].1)
    );
    let headers = [&MESSAGE[..], &page[1..]].concat();
    let response = client.send("POST", "/mcp", &headers, "{}").await;
    assert_eq!(response.status, 401);
    assert_eq!(
        response.header("access-control-allow-origin"),
        Some(page[1].1)
    );
    let exposed = response.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("www-authenticate"), "{exposed}");
}

// Shows AD-01, AD-04.
#[tokio::test]
async fn the_document_stands_at_the_path_of_the_server() {
    for (resource, path, place) in [
        (
            "https://mcp.example.com",
            "/",
            "/.well-known/oauth-protected-resource",
        ),
        (
            "https://mcp.example.com/mcp",
            "/mcp",
            "/.well-known/oauth-protected-resource/mcp",
        ),
        (
            "https://mcp.example.com/a/b",
            "/mcp",
            "/.well-known/oauth-protected-resource/a/b",
        ),
        (
            "http://127.0.0.1:8000/mcp",
            "/mcp",
            "/.well-known/oauth-protected-resource/mcp",
        ),
    ] {
        let protection = Protection::new(resource, verifier()).unwrap();
        assert_eq!(protection.metadata_path(), place);
        assert_eq!(protection.resource(), resource);
        let server = builder(&Ran::default()).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint = server.http().path(path).protect(protection);
        let serving = tokio::spawn(endpoint.serve(listener));
        for (method, asked, status) in [
            ("GET", place, 200),
            ("DELETE", path, 401),
            ("GET", "/elsewhere", 404),
            ("GET", "/.well-known/x", 404),
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!(
                "{method} {asked} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).await.unwrap();
            assert!(
                said.starts_with(&format!("HTTP/1.1 {status}")),
                "{asked}: {said}"
            );
        }
        serving.abort();
    }
}

// Shows AZ-49.
#[test]
fn a_protection_that_clients_would_misread_is_refused() {
    for resource in [
        "http://mcp.example.com/mcp",
        "https://mcp.example.com/",
        "https://mcp.example.com/mcp/",
        "https://mcp.example.com/mcp?a=b",
        "https://mcp.example.com/mcp#here",
        "https://alice@mcp.example.com/mcp",
        "https://MCP.example.com/mcp",
        "https://mcp.example.com:443/mcp",
        "https://mcp.example.com/a b",
        "mcp.example.com/mcp",
        "ftp://mcp.example.com",
        "",
    ] {
        assert!(Protection::new(resource, verifier()).is_err(), "{resource}");
    }
    let refused = protection().scopes(["notes:read", "offline_access"]);
    assert_eq!(refused.err(), Some(BadScopes::OfflineAccess.into()));
    let refused = protection().implies("notes:write", ["offline_access"]);
    assert_eq!(refused.err(), Some(BadScopes::OfflineAccess.into()));
    for scope in ["", "two words", "a\"b", "\u{e4}"] {
        assert!(protection().scopes([scope]).is_err(), "{scope:?}");
        assert!(protection().implies(scope, ["a"]).is_err(), "{scope:?}");
        let tool = Tool::new("a", async || Ok("")).scopes([scope]);
        assert!(
            Server::new("notes", "1").tool(tool).build().is_err(),
            "{scope:?}"
        );
    }
    let tool = Tool::new("a", async || Ok("")).scopes(["offline_access"]);
    assert!(Server::new("notes", "1").tool(tool).build().is_err());
}

#[tokio::test]
async fn a_server_tells_who_it_is_to_the_person_who_signs_in() {
    let protection = protection()
        .name("Notes")
        .documentation("https://example.com/notes");
    let server = Server::new("notes", "1").build().unwrap();
    let path = protection.metadata_path().to_owned();
    let client = Client(server.http().allow_http_sse().protect(protection).service());
    let response = client
        .send("GET", &path, &[("host", "localhost")], "")
        .await;
    let document: Value = response.json().await;
    assert_eq!(document["resource_name"], "Notes");
    assert_eq!(
        document["resource_documentation"],
        "https://example.com/notes"
    );
    // Other requests still need a token.
    let token = key().token(&claims());
    let response = super::post(&client, &format!("Bearer {token}"), &hello_tool()).await;
    assert_ne!(response.status, 401);
}
