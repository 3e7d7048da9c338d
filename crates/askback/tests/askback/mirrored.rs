//! Arguments that a tool's schema mirrors in headers.

use askback::{
    Form, Json, Result, Revision, Server, Tool, protocol::Schema, server::BuildError, testing::Wire,
};
use http::Request;
use serde_json::{Value, json};

use crate::http::client::Response;

fn tool(schema: &Value) -> Tool {
    let route = async |_: Json<Value>| -> Result<()> { Ok(()) };
    Tool::new("route", route).input_schema(Schema::new(schema).unwrap())
}

/// The status of a call with this argument and these headers, and its error code.
async fn outcome(region: &Value, headers: &[&str]) -> (u16, Option<i64>) {
    let property = json!({"type": "string", "x-mcp-header": "Region"});
    let schema = json!({"type": "object", "properties": {"region": property}});
    let server = Server::new("s", "1").tool(tool(&schema)).build().unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "route", "arguments": {"region": region}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "route");
    for value in headers {
        request = request.header("mcp-param-region", *value);
    }
    let request = request.body(body.to_string()).unwrap();
    let response = Response::new(server.http().service().respond(request).await);
    let status = response.status.as_u16();
    (status, response.json().await["error"]["code"].as_i64())
}

// Shows HT-53, HT-54, HT-55, HT-59.
#[tokio::test]
async fn a_header_says_what_its_argument_says() {
    const TAKEN: (u16, Option<i64>) = (200, None);
    const REFUSED: (u16, Option<i64>) = (400, Some(-32020));
    for (region, headers, expected) in [
        (json!("eu"), &["eu"][..], TAKEN),
        (json!("eu"), &["=?base64?ZXU=?="], TAKEN),
        (json!("ZXU="), &["ZXU="], TAKEN),
        (json!(null), &[], TAKEN),
        (json!("eu"), &["us"], REFUSED),
        (json!("eu"), &[], REFUSED),
        (json!("eu"), &[""], REFUSED),
        (json!("eu"), &["EU"], REFUSED),
        (json!("eu"), &["=?base64?dXM=?="], REFUSED),
        (json!("eu"), &["=?base64?ZXU?="], REFUSED),
        (json!("eu"), &["=?base64?Z!U=?="], REFUSED),
        (json!("eu"), &["eu", "eu"], REFUSED),
        (json!(null), &["eu"], REFUSED),
    ] {
        let outcome = outcome(&region, headers).await;
        assert_eq!(outcome, expected, "{region} {headers:?}");
    }
}

// Shows HT-30, HT-31, HT-32, HT-33, TO-19, TO-20, TO-21, TO-22, TO-23.
#[test]
fn an_annotation_that_clients_would_refuse_is_the_authors_mistake() {
    const NAME: &str = "is not the name of a header";
    for (kind, header, why) in [
        (
            "number",
            "Score",
            "is on a property that is not an integer, a string or a boolean",
        ),
        ("string", "", NAME),
        ("string", "The Score", NAME),
        ("string", "Score:", NAME),
        ("string", "Punktest\u{e4}nde", NAME),
        ("string", "Score\r\nX-Other: 1", NAME),
        ("string", "Score\u{0}", NAME),
        ("string", "TEAM", "has the name of another one"),
    ] {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "Team"},
            "score": {"type": kind, "x-mcp-header": header},
        }});
        let built = Server::new("s", "1").tool(tool(&schema)).build();
        let wrong = BuildError::Arguments {
            name: "route".to_owned(),
            why: format!("the x-mcp-header annotation of /properties/score {why}"),
        };
        assert_eq!(built.err(), Some(wrong), "{header:?}");
    }
}

// Shows TO-20.
#[test]
fn a_header_is_named_for_an_argument_of_a_form() {
    #[derive(Form)]
    struct Route {
        /// Where from.
        origin: String,
        /// Where to.
        region: String,
    }
    let route = || Tool::new("route", async |_: Route| -> Result<()> { Ok(()) });
    let build = |tool: Tool| Server::new("s", "1").tool(tool).build().map(|_| ());
    assert_eq!(build(route().header("region", "Region")), Ok(()));
    for (argument, header, why) in [
        (
            "reign",
            "Region",
            "there is no `reign` to name a header for",
        ),
        (
            "region",
            "Re gion",
            "the x-mcp-header annotation of /properties/region is not the name of a header",
        ),
    ] {
        let wrong = BuildError::Arguments {
            name: "route".to_owned(),
            why: why.to_owned(),
        };
        assert_eq!(build(route().header(argument, header)), Err(wrong));
    }
}

#[tokio::test]
async fn the_schema_names_the_header_of_an_argument() {
    let schema = json!({"type": "object", "properties": {"region": {"type": "string"}}});
    let tool = tool(&schema).header("region", "Region");
    let server = Server::new("s", "1").tool(tool).build().unwrap();
    let mut wire = Wire::connect(&server);
    wire.initialize(Revision::V2025_11_25, &json!({})).await;
    wire.request("tools/list", json!({})).await;
    let listed = wire.hear().await.unwrap();
    let listed = &listed["result"]["tools"][0]["inputSchema"]["properties"]["region"];
    assert_eq!(*listed, json!({"type": "string", "x-mcp-header": "Region"}));
}
