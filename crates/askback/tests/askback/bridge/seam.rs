//! `Forward`, implemented by something other than the bridge.

use askback::{
    BoxFuture, Error, ErrorObject, Result, Revision, Server, Tool,
    bridge::{Forward, ForwardCtx, Forwarded},
    client::ClientError,
    protocol::{ClientRequest, RawJson, ServerCapabilities},
    server::BuildError,
    transport,
};
use serde_json::json;

use super::{Wire, modern_meta};
use crate::client::builder;

struct Echo;

impl Forward for Echo {
    fn capabilities(&self) -> ServerCapabilities {
        serde_json::from_value(json!({"tools": {}})).unwrap()
    }

    fn request(&self, request: ClientRequest, ctx: ForwardCtx) -> BoxFuture<'_, Result<Forwarded>> {
        Box::pin(async move {
            let ClientRequest::Other(request) = request else {
                return Err(Error::protocol(ErrorObject::new(7, "not forwarded")));
            };
            let name = ctx.client_info().map(|client| client.name.clone());
            let said = json!({"method": request.method(), "params": request.params(), "by": name});
            let result = match request.method() {
                "tools/call" => json!({
                    "content": [{"type": "text", "text": said.to_string()}], "extra": 1,
                }),
                "tools/list" => json!({"tools": 7}),
                _ => said,
            };
            Ok(Forwarded::Result {
                result: RawJson::new(&result)?,
                revision: Revision::V2025_11_25,
            })
        })
    }
}

fn echo() -> Server {
    Server::new("echo", "1").forward(Echo).build().unwrap()
}

#[tokio::test]
async fn a_result_is_written_as_it_is_or_converted() {
    for (revision, has_extra) in [
        (Revision::V2025_06_18, false),
        (Revision::V2025_11_25, true),
        (Revision::V2026_07_28, false),
    ] {
        let (near, far) = transport::memory();
        tokio::spawn(async move { echo().serve(far).await });
        let client = builder(Some(revision)).connect(near).await.unwrap();
        let result = client.call_tool("t", json!({"a": 1})).await.unwrap();
        let text = result.text().unwrap();
        assert!(text.contains(r#""arguments":{"a":1}"#), "{text}");
        assert!(text.contains(r#""by":"test""#), "{text}");
        assert_eq!(result.raw.get().contains("extra"), has_extra, "{revision}");
        if revision != Revision::V2025_11_25 {
            let error = client.tools().await.unwrap_err();
            assert!(matches!(error, ClientError::Server(error) if error.code == -32603));
        }
        client.close().await;
    }
}

#[tokio::test]
async fn an_unknown_method_reaches_it_and_no_other_server() {
    let other = Server::new("other", "1").build().unwrap();
    for (server, is_answered) in [(echo(), true), (other, false)] {
        let (near, far) = transport::memory();
        tokio::spawn(async move { server.serve(far).await });
        let mut wire = Wire::new(near);
        let meta = modern_meta(&json!({}));
        let params = json!({"x": 1, "_meta": meta});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "x/y", "params": params});
        wire.say(&request.to_string()).await;
        let answer = wire.hear().await;
        match is_answered {
            true => assert_eq!(answer["result"]["params"], json!({"x": 1})),
            false => assert_eq!(answer["error"]["code"], -32601),
        }
    }
}

#[test]
fn it_offers_nothing_of_its_own() {
    let server = Server::new("echo", "1").tool(Tool::new("t", async || "t"));
    assert_eq!(
        server.forward(Echo).build().err(),
        Some(BuildError::Forward)
    );
}

#[cfg(feature = "http-server")]
#[tokio::test]
async fn it_is_reached_over_http_in_both_eras() {
    let client = crate::http::client::Client::of(&echo());
    let alone = client.call("x/y", json!({"a": 1})).await.answer().await;
    let session = client.open(Revision::V2025_11_25).await;
    let in_session = session.call(7, "x/y", json!({"a": 1})).await.answer().await;
    for answer in [alone, in_session] {
        assert_eq!(answer["result"]["method"], "x/y", "{answer}");
        assert_eq!(answer["result"]["params"], json!({"a": 1}));
    }
}
