//! Arguments that are mirrored in headers.

use askback::{client::Event, protocol::Tool};
use serde_json::{Value, json};

use super::{Hosted, Reply, Scripted, Server, builder, connect, connect_as, modern};

fn tool(name: &str, properties: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

fn region(header: &str) -> Value {
    json!({"region": {"type": "string", "x-mcp-header": header}, "query": {"type": "string"}})
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| &*tool.name).collect()
}

// Shows HT-27, HT-28, HT-29, HT-41, HT-48, HT-50, HT-57, HT-58.
#[tokio::test]
async fn annotated_arguments_are_mirrored() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/list" => {
            let first = asked.body["params"]["cursor"].is_null();
            let page = match first {
                true => json!({"resultType": "complete", "nextCursor": "2", "tools": [tool("a", region("Region"))]}),
                false => json!({"resultType": "complete", "tools": [tool("b", json!({}))]}),
            };
            Reply::json(200, asked.response(page))
        }
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    assert_eq!(names(&client.tools().await.unwrap()), ["a", "b"]);
    for (given, expected) in [
        (
            json!({"region": "us-west1", "query": "q"}),
            Some("us-west1"),
        ),
        (json!({"region": "世界"}), Some("=?base64?5LiW55WM?=")),
        (json!({"region": null}), None),
        (json!({"query": "q"}), None),
    ] {
        client.call_tool("a", &given).await.unwrap();
        let asked = server.last("tools/call");
        assert_eq!(asked.header("mcp-param-region"), expected, "{given}");
        assert_eq!(asked.header("mcp-param-query"), None);
    }
    client.call_tool("b", json!({"region": "x"})).await.unwrap();
    assert_eq!(server.last("tools/call").header("mcp-param-region"), None);
    // A name with characters that a header cannot hold is encoded.
    client.call_tool("ü", ()).await.unwrap();
    assert_eq!(
        server.last("tools/call").header("mcp-name"),
        Some("=?base64?w7w=?=")
    );
}

// Shows HT-36, HT-37, HT-38, TO-26, TO-27, TO-28.
#[tokio::test]
async fn tools_with_forbidden_annotations_are_left_out() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/list" => {
            let number = json!({"a": {"type": "number", "x-mcp-header": "A"}});
            let tools = [tool("bad", number), tool("good", region("Region")), tool("worse", region("a b"))];
            let page = json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "public"});
            Reply::json(200, asked.response(page))
        }
        _ => modern(asked),
    })
    .await;
    let host = Scripted::new(|_| panic!("nobody asks"));
    let client = connect_as(&server, builder(None).host(host.clone()))
        .await
        .unwrap();
    assert_eq!(names(&client.tools().await.unwrap()), ["good"]);
    let page = client.tools_page(None).await.unwrap();
    assert_eq!(page.ttl_ms, Some(0));
    let notes: Vec<_> = host.heard().into_iter().take(2).collect();
    let expected = [
        Event::Note("the tool \"bad\" was left out: the x-mcp-header annotation of /properties/a is on a property that is not an integer, a string or a boolean".into()),
        Event::Note("the tool \"worse\" was left out: the x-mcp-header annotation of /properties/region is not the name of a header".into()),
    ];
    assert_eq!(notes, expected);
}

// Shows HT-51.
#[tokio::test]
async fn a_mismatch_is_mended_by_reading_the_tools_again() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/list" => {
            assert_eq!(asked.header("mcp-method"), Some("tools/list"));
            let meta = asked.body["params"]["_meta"].as_object().unwrap();
            assert!(
                meta.len() == 3 && !meta.contains_key("progressToken"),
                "{meta:?}"
            );
            let page = json!({"resultType": "complete", "tools": [tool("a", region("Region"))]});
            Reply::json(200, asked.response(page))
        }
        "tools/call" if asked.header("mcp-param-region").is_none() => {
            Reply::json(400, asked.error(-32020, json!(null)))
        }
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let given = json!({"region": "us"});
    client.call_tool("a", &given).await.unwrap();
    let expected = ["server/discover", "tools/call", "tools/list", "tools/call"];
    assert_eq!(server.whats(), expected);
    let asked = server.asked();
    assert_ne!(asked[1].body["id"], asked[3].body["id"]);
    // From now on the annotation is known.
    client.call_tool("a", given).await.unwrap();
    assert_eq!(server.whats().len(), 5);
}

#[tokio::test]
async fn a_mismatch_that_cannot_be_mended_is_told() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => Reply::json(400, asked.error(-32020, json!(null))),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let error = client.call_tool("a", ()).await.unwrap_err();
    assert_eq!(error.to_string(), "the server answered: no (-32020)");
    assert_eq!(
        server.whats(),
        ["server/discover", "tools/call", "tools/list"]
    );
}
