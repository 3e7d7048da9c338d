//! `_meta` and extensions, in both directions.

use askback::{
    Ctx, Prompt, Resource, ResourceTemplate, Result, Revision, Server, ServerBuilder, Tool,
    client::{Client, ClientBuilder, ClientError, Protocol},
    protocol::{
        CallToolResult, ContentBlock, GetPromptResult, HasMeta, MetaKeyError, PromptMessage,
        ReadResourceResult, ResourceContents, TASKS_EXTENSION,
    },
    testing::Wire,
    transport,
};
use serde_json::{Value, json};

const TENANT: &str = "com.example/tenant";
const MAPS: &str = "com.example/maps";

async fn whose(ctx: Ctx) -> Result<CallToolResult> {
    let tenant = ctx.meta(TENANT).cloned().unwrap_or_default();
    let text = ContentBlock::text(tenant.to_string()).with_meta("com.example/kind", "name")?;
    Ok(CallToolResult::new(text).with_meta(TENANT, tenant)?)
}

async fn maps(ctx: Ctx) -> String {
    format!("{:?}", ctx.extension(MAPS).map(|settings| json!(settings)))
}

async fn connected(server: ServerBuilder, client: ClientBuilder, revision: Revision) -> Client {
    let server = server.build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let client = client.protocol(Protocol::Only(revision));
    client.connect(near).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn meta_goes_both_ways_in_every_revision() {
    for revision in Revision::ALL {
        let server =
            Server::new("agency", "1").tool(Tool::new("whose", whose).meta("com.example/price", 3));
        let client = connected(server, Client::builder("test", "1"), revision).await;
        let north = client.with_meta(TENANT, "north").unwrap();
        for (client, tenant) in [(&north, json!("north")), (&client, Value::Null)] {
            let result = client.call_tool("whose", ()).await.unwrap();
            assert_eq!(result.text().unwrap(), tenant.to_string(), "{revision}");
            assert_eq!(result.meta_value(TENANT), Some(&tenant), "{revision}");
            // Content and tools have had `_meta` since 2025-06-18.
            let has_more = revision >= Revision::V2025_06_18;
            let kind = result.content[0].meta_value("com.example/kind");
            assert_eq!(kind, has_more.then_some(&json!("name")), "{revision}");
            let tools = client.tools().await.unwrap();
            let price = tools[0].meta_value("com.example/price");
            assert_eq!(price, has_more.then_some(&json!(3)), "{revision}");
        }
        client.close().await;
    }
}

/// Prompts, resources and their results have `_meta`, as tools do.
#[tokio::test(start_paused = true)]
async fn meta_of_prompts_and_resources_goes_both_ways_in_every_revision() {
    const PRICE: &str = "com.example/price";
    let tenant = |ctx: &Ctx| ctx.meta(TENANT).cloned().unwrap_or_default();
    let get = move |ctx: Ctx| async move {
        let said = GetPromptResult {
            messages: vec![PromptMessage::user("Hello!")],
            ..GetPromptResult::default()
        };
        Ok(said.with_meta(TENANT, tenant(&ctx))?)
    };
    let read = move |ctx: Ctx| async move {
        let contents = vec![ResourceContents::text("", "One.")];
        let said = ReadResourceResult {
            contents,
            ..ReadResourceResult::default()
        };
        Ok(said.with_meta(TENANT, tenant(&ctx))?)
    };
    for revision in Revision::ALL {
        let server = Server::new("agency", "1")
            .prompt(Prompt::new("p", get).meta(PRICE, 3))
            .resource(Resource::new("x:one", "one", read).meta(PRICE, 3))
            .resource_template(ResourceTemplate::new("x://{n}", "n", read).meta(PRICE, 3));
        let client = connected(server, Client::builder("test", "1"), revision).await;
        let client = client.with_meta(TENANT, "north").unwrap();
        let north = Some(json!("north"));
        let got = client.get_prompt("p", ()).await.unwrap();
        assert_eq!(got.meta_value(TENANT), north.as_ref(), "{revision}");
        for uri in ["x:one", "x://two"] {
            let read = client.read_resource(uri).await.unwrap();
            assert_eq!(read.meta_value(TENANT), north.as_ref(), "{revision}: {uri}");
        }
        // Listed items have had `_meta` since 2025-06-18.
        let price = (revision >= Revision::V2025_06_18).then(|| json!(3));
        let prompts = client.prompts().await.unwrap();
        assert_eq!(prompts[0].meta_value(PRICE), price.as_ref(), "{revision}");
        let resources = client.resources().await.unwrap();
        assert_eq!(resources[0].meta_value(PRICE), price.as_ref(), "{revision}");
        let templates = client.resource_templates().await.unwrap();
        assert_eq!(templates[0].meta_value(PRICE), price.as_ref(), "{revision}");
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn extensions_are_declared_if_the_revision_has_them() {
    for revision in Revision::ALL {
        let server = Server::new("atlas", "1")
            .extension(MAPS, json!({"layers": ["roads"]}))
            .tool(Tool::new("maps", async |ctx: Ctx| Ok(maps(ctx).await)));
        let client = Client::builder("test", "1").extension(MAPS, ());
        let client = connected(server, client, revision).await;
        let has_extensions = revision == Revision::LATEST;
        let settings = client.extension(MAPS).map(Value::Object);
        let expected = has_extensions.then(|| json!({"layers": ["roads"]}));
        assert_eq!(settings, expected, "{revision}");
        assert_eq!(client.extension(TASKS_EXTENSION), None);
        let told = client.call_tool("maps", ()).await.unwrap().text().unwrap();
        let expected = has_extensions.then(|| json!({}));
        assert_eq!(told, format!("{expected:?}"), "{revision}");
        client.close().await;
    }
}

/// Even if a client declares in a handshake what only the newest revision has.
#[tokio::test(start_paused = true)]
async fn an_extension_does_not_exist_in_a_revision_without_extensions() {
    let server = Server::new("atlas", "1")
        .tool(Tool::new("maps", async |ctx: Ctx| Ok(maps(ctx).await)))
        .build()
        .unwrap();
    for revision in Revision::ALL {
        if revision == Revision::LATEST {
            continue;
        }
        let mut wire = Wire::connect(&server);
        let capabilities = json!({"extensions": {MAPS: {}}});
        wire.initialize(revision, &capabilities).await;
        wire.request("tools/call", json!({"name": "maps"})).await;
        let answer = wire.hear().await.expect("an answer");
        let text = &answer["result"]["content"][0]["text"];
        assert_eq!(*text, "None", "{revision}: {answer}");
    }
}

#[test]
fn keys_and_names_that_clients_do_not_accept_are_refused_when_the_server_is_built() {
    #[track_caller]
    fn check(server: ServerBuilder, says: &str) {
        let Err(error) = server.build() else {
            panic!("it is built");
        };
        assert!(error.to_string().contains(says), "{error}");
    }
    let server = || Server::new("agency", "1");
    let done = async || Ok("done".to_owned());
    let tool = || Tool::new("t", done);
    check(
        server().tool(tool().meta("io.modelcontextprotocol/serverInfo", "me")),
        "the `_meta` of `t`: the key `io.modelcontextprotocol/serverInfo` of `_meta` is set by the protocol",
    );
    check(
        server().tool(tool().meta("progressToken", 1)),
        "is set by the protocol",
    );
    for key in [
        "",
        "a b",
        "com.example/",
        "/a",
        "-a",
        "1com/a",
        "com..x/a",
        "com.x-/a",
        "a/b/c",
    ] {
        check(
            server().tool(tool().meta(key, 1)),
            &format!("`{key}` cannot be a key of `_meta`"),
        );
    }
    let bad = "a b";
    check(
        server().prompt(Prompt::new("p", done).meta(bad, 1)),
        "the `_meta` of `p`",
    );
    check(
        server().resource(Resource::new("a:b", "b", done).meta(bad, 1)),
        "the `_meta` of `a:b`",
    );
    check(
        server().resource_template(ResourceTemplate::new("a:{b}", "b", done).meta(bad, 1)),
        "the `_meta` of `a:{b}`",
    );
    check(
        server().extension("maps", ()),
        "the extension `maps`: `maps` cannot name an extension",
    );
    check(
        server().extension(MAPS, 3),
        "its settings must be an object",
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_refuses_the_same() {
    let (near, _far) = transport::memory();
    let client = Client::builder("test", "1").extension("maps", ());
    let error = client.connect(near).await.unwrap_err();
    assert!(matches!(error, ClientError::Extension { .. }), "{error:?}");
    let client = connected(
        Server::new("agency", "1"),
        Client::builder("test", "1"),
        Revision::LATEST,
    )
    .await;
    let key = "io.modelcontextprotocol/protocolVersion";
    let refused = client.with_meta(key, "2024-11-05").err();
    assert_eq!(refused, Some(MetaKeyError::Reserved(key.to_owned())));
}

/// A user interface is a resource that a tool names (MCP Apps, `io.modelcontextprotocol/ui`).
#[tokio::test(start_paused = true)]
async fn a_tool_names_the_user_interface_that_shows_its_result() {
    const PAGE: &str = "<!doctype html><p>Sunny</p>";
    const HTML: &str = "text/html;profile=mcp-app";
    let page = async || -> Result<ReadResourceResult> {
        let page =
            ResourceContents::text("", PAGE).with_meta("ui", json!({"prefersBorder": true}))?;
        Ok(ReadResourceResult {
            contents: vec![page],
            ..ReadResourceResult::default()
        })
    };
    let server = Server::new("weather", "1")
        .tool(
            Tool::new("weather", async || Ok("Sunny".to_owned()))
                .meta("ui", json!({"resourceUri": "ui://weather/view"})),
        )
        .resource(Resource::new("ui://weather/view", "view", page).mime_type(HTML));
    let client = Client::builder("host", "1")
        .extension("io.modelcontextprotocol/ui", json!({"mimeTypes": [HTML]}));
    let client = connected(server, client, Revision::LATEST).await;
    let tools = client.tools().await.unwrap();
    let ui = tools[0].meta_value("ui").unwrap();
    let view = client
        .read_resource(ui["resourceUri"].as_str().unwrap())
        .await
        .unwrap();
    assert_eq!(view.text(), PAGE);
    let contents = &view.contents[0];
    assert_eq!(
        contents.meta_value("ui"),
        Some(&json!({"prefersBorder": true}))
    );
    assert!(
        matches!(contents, ResourceContents::Text(text) if text.mime_type.as_deref() == Some(HTML))
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_required_extension_is_named() {
    let needs = |name: &'static str| {
        let handler = move |ctx: Ctx| async move {
            let settings = ctx.require_extension(name)?;
            Ok(json!(settings).to_string())
        };
        let words = move |ctx: Ctx| async move {
            ctx.require_extension(name)?;
            Ok(String::new())
        };
        Server::new("atlas", "1")
            .tool(Tool::new("needs", handler))
            .prompt(Prompt::new("needs", words))
    };
    let told = format!("this needs the extension `{MAPS}`, which the client does not support");
    for revision in Revision::ALL {
        let has_extensions = revision == Revision::LATEST;
        let client = || Client::builder("test", "1");
        let with = client().extension(MAPS, json!({"zoom": 3}));
        let with = connected(needs(MAPS), with, revision).await;
        let result = with
            .call_tool("needs", ())
            .await
            .map(|result| result.text());
        let text = match result {
            Ok(Ok(text)) => text,
            other => format!("{other:?}"),
        };
        assert_eq!(
            text == r#"{"zoom":3}"#,
            has_extensions,
            "{revision}: {text}"
        );

        let without = connected(needs(MAPS), client(), revision).await;
        let refused = without.call_tool("needs", ()).await;
        let prompt = without.get_prompt("needs", ()).await.unwrap_err();
        let ClientError::Server(prompt) = prompt else {
            panic!("{revision}: {prompt}");
        };
        assert_eq!(prompt.message, told, "{revision}");
        if has_extensions {
            let ClientError::Server(error) = refused.unwrap_err() else {
                panic!("{revision}: not an error of the server's");
            };
            let required = json!({"requiredCapabilities": {"extensions": {MAPS: {}}}});
            for error in [error, prompt] {
                assert_eq!((error.code, &error.data), (-32021, &Some(required.clone())));
                assert_eq!(error.message, told);
            }
        } else {
            let failed = refused.unwrap().text().unwrap_err().to_string();
            assert!(failed.contains(&told), "{revision}: {failed}");
            assert_eq!(prompt.code, -32603, "{revision}");
        }
        let bad = connected(needs("maps"), client(), revision).await;
        let failed = bad.call_tool("needs", ()).await.unwrap();
        let failed = failed.text().unwrap_err().to_string();
        assert!(
            failed.contains("the extension `maps`: "),
            "{revision}: {failed}"
        );
    }
}
