//! Reading of resources.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    Ctx, Form, Resource, ResourceTemplate, Result, Revision, Server, ServerBuilder, State,
    protocol::{CacheScope, ReadResourceResult, ResourceContents},
    server::BuildError,
    testing::Wire,
};
use serde_json::{Value, json};

#[derive(Form)]
struct Document {
    name: String,
}

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

// Shows RE-13, RE-17.
#[tokio::test]
async fn a_uri_does_not_lead_out_of_its_template() {
    let names = Read::default();
    let server = Server::new("tests", "1")
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

fn listing(cache: CacheScope) -> ServerBuilder {
    Server::new("tests", "1").cache(Duration::from_secs(60), cache)
}

#[test]
fn a_list_of_each_is_not_said_to_be_that_of_all() {
    use CacheScope::{Private, Public};
    let each = |builder: ServerBuilder| builder.list_resources_for(async |_| Ok(Vec::new()));
    let all = |builder: ServerBuilder| builder.list_resources(async || Ok(Vec::new()));
    assert_eq!(
        each(listing(Public)).build().err(),
        Some(BuildError::PublicCache)
    );
    let late = each(Server::new("tests", "1")).cache(Duration::ZERO, Public);
    assert_eq!(late.build().err(), Some(BuildError::PublicCache));
    assert_eq!(each(listing(Private)).build().err(), None);
    assert_eq!(all(listing(Public)).build().err(), None);
}

fn public(text: &str) -> ReadResourceResult {
    ReadResourceResult {
        contents: vec![ResourceContents::text("", text)],
        cache_scope: Some(CacheScope::Public),
        ttl_ms: Some(1000),
        ..ReadResourceResult::default()
    }
}

async fn of_reader(ctx: Ctx) -> Result<ReadResourceResult> {
    let name = ctx.principal().map(|it| it.subject.to_string());
    Ok(public(&name.unwrap_or_default()))
}

#[tokio::test]
async fn what_depends_on_its_reader_is_kept_private() {
    let everybody = async || Ok(public("The same."));
    let resource = |name: &str| format!("x://{name}");
    let server = Server::new("tests", "1")
        .resource(Resource::new(resource("everybody"), "everybody", everybody))
        .resource(Resource::new(resource("reader"), "reader", of_reader))
        .build()
        .expect("the server is whole");
    for (name, scope) in [("everybody", "public"), ("reader", "private")] {
        let heard = read(&server, Revision::LATEST, &resource(name)).await;
        assert_eq!(heard["result"]["cacheScope"], scope, "{name}: {heard}");
        assert_eq!(heard["result"]["ttlMs"], 1000, "{name}: {heard}");
    }
}

#[cfg(feature = "oauth-server")]
#[tokio::test]
async fn what_needs_a_scope_is_kept_private() {
    let scoped = Resource::new("x://scoped", "scoped", async || Ok(public("For a few.")));
    let server = Server::new("tests", "1").resource(scoped.scopes(["notes:read"]));
    let server = server.build().expect("the server is whole");
    let heard = read(&server, Revision::LATEST, "x://scoped").await;
    assert_eq!(heard["result"]["cacheScope"], "private", "{heard}");
}
