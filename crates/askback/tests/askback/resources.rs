//! Resources as they are read.

use std::sync::{Arc, Mutex};

use askback::{Form, ResourceTemplate, Result, Revision, Server, State, testing::Wire};
use serde_json::{Value, json};

#[derive(Form)]
struct Document {
    name: String,
}

/// What the handler was asked for.
type Read = Arc<Mutex<Vec<String>>>;

async fn document(State(read): State<Read>, document: Document) -> Result<String> {
    read.lock().unwrap().push(document.name.clone());
    Ok(format!("The document {}.", document.name))
}

async fn read(server: &Server, revision: Revision, uri: &str) -> Value {
    let mut wire = Wire::connect(server);
    let mut params = json!({"uri": uri});
    if revision == Revision::LATEST {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    } else {
        wire.initialize(revision, &json!({})).await;
    }
    wire.request("resources/read", params).await;
    wire.hear().await.expect("an answer")
}

#[tokio::test]
async fn a_uri_does_not_lead_out_of_its_template() {
    let names = Read::default();
    let server = Server::builder("tests", "1")
        .state(Arc::clone(&names))
        .resource_template(ResourceTemplate::new("x://docs/{name}", "doc", document))
        .build()
        .expect("the server is whole");
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for hostile in [
            "..%2F..%2Fetc%2Fpasswd",
            "..%5C..%5Cboot.ini",
            "%2Fetc%2Fpasswd",
            "%2e%2e",
            "..",
        ] {
            let uri = format!("x://docs/{hostile}");
            let heard = read(&server, revision, &uri).await;
            let code = if revision == Revision::LATEST {
                -32602
            } else {
                -32002
            };
            assert_eq!(heard["error"]["code"], code, "{hostile}: {heard}");
        }
        assert!(names.lock().unwrap().is_empty());
        let heard = read(&server, revision, "x://docs/to%20do").await;
        assert_eq!(
            heard["result"]["contents"][0]["text"],
            "The document to do."
        );
        assert_eq!(names.lock().unwrap().drain(..).count(), 1);
    }
}
