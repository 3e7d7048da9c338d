//! Over HTTP, a client's roots are folders of the client's own machine.

use askback::{Ctx, Result, Revision, Server, Tool};
use serde_json::{Value, json};

use super::client::{Client, Response};

/// Returns the folders it may work in.
async fn opens(ctx: Ctx) -> Result<String> {
    let roots = ctx.roots().await?;
    Ok(format!("{:?}", roots.local()?))
}

/// Returns the roots as the client sent them.
async fn shows(ctx: Ctx) -> Result<String> {
    let roots = ctx.roots().await?;
    Ok(roots.as_client_says()[0].uri.clone())
}

fn client() -> Client {
    let server = Server::new("tests", "1")
        .tool(Tool::new("opens", opens))
        .tool(Tool::new("shows", shows))
        .build();
    Client::of(&server.expect("the server is whole"))
}

fn root() -> Value {
    json!({"roots": [{"uri": "file:///"}]})
}

/// The result of a call in a session whose client shares its file system's root.
async fn in_session(tool: &str, revision: Revision) -> Value {
    let session = client().open_with(revision, json!({"roots": {}})).await;
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool},
    });
    let mut response: Response = session.post(&call).await;
    let question = response.message().await;
    assert_eq!(question["method"], "roots/list");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": root()});
    assert_eq!(session.post(&answer).await.status, 202);
    response.message().await["result"].clone()
}

async fn stateless(tool: &str) -> Value {
    let client = client();
    let mut params = json!({
        "name": tool,
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}},
    });
    let asked = client.call("tools/call", params.clone()).await.json().await;
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({"roots": root()});
    let answer = client.call("tools/call", params).await.json().await;
    answer["result"].clone()
}

#[tokio::test(start_paused = true)]
async fn folders_of_a_client_over_http_are_not_opened() {
    let mut results = vec![stateless("opens").await];
    for revision in Revision::ALL {
        if revision != Revision::V2026_07_28 {
            results.push(in_session("opens", revision).await);
        }
    }
    for result in results {
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("the client's roots are folders of its own machine"),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_client_says_of_its_folders_can_be_shown() {
    for result in [
        stateless("shows").await,
        in_session("shows", Revision::V2025_11_25).await,
    ] {
        assert_eq!(result["content"][0]["text"], "file:///", "{result}");
    }
}
