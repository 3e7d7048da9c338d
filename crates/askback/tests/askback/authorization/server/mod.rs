//! Servers that require a token with every request.

mod development;
mod dpop;
mod function;
mod introspection;
mod issuer;
mod jwt;
mod keys;
mod leaks;
mod principal;
mod requests;
mod scopes;
mod streams;
mod token;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use askback::{
    Ctx, Form, Prompt, Resource, ResourceTemplate, Result, Server, ServerBuilder, State, Tool,
    authorization::server::{JwtVerifier, Protection},
    clock::Clock,
    keys::{Key, KeyRing, KeySource},
    server::CompletionRequest,
};
use serde_json::{Value, json};

use self::token::TestKey;
use crate::{
    asking::Seat,
    http::client::{Client, MESSAGE, Response, mirrored},
};

/// In milliseconds since the Unix epoch.
const NOW: u64 = 1_800_000_000_000;
const RESOURCE: &str = "https://mcp.example.com/mcp";
const ISSUER: &str = "https://auth.example.com";
const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

#[derive(Clone)]
struct Hand(Arc<AtomicU64>);

impl Clock for Hand {
    fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Clone, Default)]
struct Ran(Arc<AtomicUsize>);

impl Ran {
    fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

async fn erase(State(ran): State<Ran>) -> Result<&'static str> {
    ran.0.fetch_add(1, Ordering::SeqCst);
    Ok("It is gone.")
}

async fn whoami(ctx: Ctx) -> Result<String> {
    Ok(ctx.principal().map_or_else(
        || "nobody".to_owned(),
        |it| {
            format!(
                "{:?} {:?} {} {:?}",
                it.tenant, it.issuer, it.subject, it.client_id
            )
        },
    ))
}

/// Asks a question, then returns the principal.
async fn asks(ctx: Ctx) -> Result<String> {
    let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
    whoami(ctx).await
}

#[derive(Form)]
struct Topic {
    topic: String,
}

async fn topics(_: CompletionRequest) -> Result<Vec<String>> {
    Ok(vec!["tea".to_owned()])
}

fn key() -> &'static TestKey {
    static KEY: OnceLock<TestKey> = OnceLock::new();
    KEY.get_or_init(|| TestKey::es256("one"))
}

fn verifier() -> JwtVerifier {
    JwtVerifier::with_jwks(ISSUER, &token::jwks([key()])).unwrap()
}

fn protection() -> Protection {
    let protection = Protection::new(RESOURCE, verifier()).unwrap();
    let protection = protection.scopes(["notes:read"]).unwrap();
    protection.implies("notes:write", ["notes:read"]).unwrap()
}

fn builder(ran: &Ran) -> ServerBuilder {
    let ring = KeyRing::new(Key::new(&[1; 32]));
    let summary = Prompt::new("summary", async |topic: Topic| Ok(topic.topic));
    let diary = Resource::new(
        "note://diary",
        "diary",
        async || Ok("Dear diary".to_owned()),
    );
    let drawer = async |topic: Topic| Ok(topic.topic);
    let drawer = ResourceTemplate::new("note://drawer/{topic}", "drawer", drawer);
    Server::new("notes", "1")
        .keys(KeySource::Ring(ring))
        .clock(Hand(Arc::new(AtomicU64::new(NOW))))
        .state(ran.clone())
        .tool(Tool::new("hello", async || Ok("Hello!")))
        .tool(Tool::new("whoami", whoami))
        .tool(Tool::new("asks", asks))
        .tool(Tool::new("erase", erase).scopes(["notes:write", "notes:erase"]))
        .prompt(summary.complete("topic", topics).scopes(["notes:think"]))
        .resource(diary.scopes(["notes:diary"]))
        .resource_template(drawer.complete("topic", topics).scopes(["notes:drawer"]))
}

fn client() -> Client {
    let server = builder(&Ran::default()).build().unwrap();
    Client(
        server
            .http()
            .allow_http_sse()
            .protect(protection())
            .service(),
    )
}

fn claims() -> Value {
    json!({
        "iss": ISSUER,
        "aud": RESOURCE,
        "sub": "alice",
        "client_id": "app",
        "iat": NOW / 1000,
        "exp": NOW / 1000 + 300,
        "jti": "1",
        "scope": "notes:read",
    })
}

/// The claims with one claim changed, or removed.
fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

fn bearer(claims: &Value) -> String {
    format!("Bearer {}", key().token(claims))
}

async fn post(client: &Client, authorization: &str, message: &Value) -> Response {
    let headers = [&[("authorization", authorization)], &mirrored(message)[..]].concat();
    let headers = [&MESSAGE[..], &headers].concat();
    let body = message.to_string();
    client.send("POST", "/mcp", &headers, body).await
}
