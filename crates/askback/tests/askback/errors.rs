//! The errors that a client gets when a store or another part of the server fails.

use std::{
    error::Error as StdError,
    fmt, io,
    sync::atomic::{AtomicU32, Ordering},
};

use askback::{
    Ctx, Error, Limits, Prompt, Resource, Result, Revision, Server, ServerBuilder, Tool,
    keys::{Key, KeyRing, KeySource},
    store::{Claim, ClaimRequest, MemoryStore, Millis, PutRequest, Store, StoreError, StoreFuture},
    testing::Wire,
};
use askback_core::ask::FlowId;
use serde_json::{Value, json};

use crate::{asking::Seat, log::Log};

/// Part of everything that a client must not see, such as paths and errors of the operating system.
const CANARY: &str = "/canary";

pub(crate) struct Broken;

fn broken<'a, T>() -> StoreFuture<'a, T> {
    let error = io::Error::other(format!("{CANARY}/store.db: disk I/O error"));
    Box::pin(async { Err(StoreError::Failed(Box::new(error))) })
}

impl Store for Broken {
    fn claim<'a>(&'a self, _: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        broken()
    }

    fn finish<'a>(&'a self, _: FlowId, _: &'a str, _: &'a [u8]) -> StoreFuture<'a, ()> {
        broken()
    }

    fn put<'a>(&'a self, _: PutRequest<'a>) -> StoreFuture<'a, ()> {
        broken()
    }

    fn get(&self, _: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        broken()
    }

    fn purge(&self, _: Millis) -> StoreFuture<'_, usize> {
        broken()
    }
}

/// A store that saves states but cannot read them.
struct Unreadable(MemoryStore);

impl Store for Unreadable {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        self.0.claim(commit)
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        self.0.finish(flow, name, value)
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        self.0.put(state)
    }

    fn get(&self, _: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        broken()
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        self.0.purge(now)
    }
}

/// A store that cannot be reached for a number of claims.
struct Away {
    store: MemoryStore,
    claims_to_refuse: AtomicU32,
}

impl Store for Away {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        let less = |left: u32| left.checked_sub(1);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        match self.claims_to_refuse.fetch_update(set, fetch, less) {
            Ok(_) => Box::pin(async { Err(StoreError::Unreachable(CANARY.into())) }),
            Err(_) => self.store.claim(commit),
        }
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        self.store.finish(flow, name, value)
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        self.store.put(state)
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.store.get(id)
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        self.store.purge(now)
    }
}

async fn book(ctx: Ctx) -> Result<String> {
    let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
    ctx.commit("book", async || Ok("booked".to_owned())).await
}

fn denied() -> Result<String> {
    Err(io::Error::other(format!("{CANARY}: permission denied")))?
}

/// An error that shows its cause only in `source`.
#[derive(Debug)]
struct Outer(io::Error);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rates cannot be loaded")
    }
}

impl StdError for Outer {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

fn ring() -> KeySource {
    KeySource::Ring(KeyRing::new(Key::new(&[1; 32])))
}

fn server() -> ServerBuilder {
    Server::new("agency", "1")
        .keys(ring())
        .tool(Tool::new("book", book))
        .tool(Tool::new("read", async || denied()))
        .tool(Tool::new("boxed", async || -> Result<()> {
            let error: Box<dyn StdError + Send + Sync> = CANARY.into();
            Err(Error::internal(error))
        }))
        .tool(Tool::new("source", async || -> Result<()> {
            Err(Error::internal(Outer(io::Error::other(CANARY))))
        }))
        .tool(Tool::new("thread", async || -> Result<()> {
            Ok(tokio::task::spawn_blocking(|| panic!("{CANARY}")).await?)
        }))
        .tool(Tool::new("step", async |ctx: Ctx| {
            ctx.run("read", async || denied()).await
        }))
        .prompt(Prompt::new("read", async || denied()))
        .resource(Resource::new("a:b", "read", async || denied()))
        .list_resources(async || denied().map(|_| Vec::new()))
}

async fn outcome(server: &Server, revision: Revision, method: &str, params: &Value) -> Value {
    let mut wire = Wire::connect(server);
    let mut round = params.clone();
    if revision == Revision::LATEST {
        round["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
    } else {
        wire.initialize(revision, &json!({"elicitation": {}})).await;
    }
    let seat = json!({"action": "accept", "content": {"window": true}});
    wire.request(method, round.clone()).await;
    loop {
        let heard = wire.hear().await.expect("every request is answered");
        if heard["method"] == "elicitation/create" {
            let answer = json!({"jsonrpc": "2.0", "id": heard["id"], "result": seat});
            wire.say(&answer).await;
        } else if heard["result"]["resultType"] == "input_required" {
            round["requestState"] = heard["result"]["requestState"].clone();
            round["inputResponses"] = json!({"seat": seat});
            wire.request(method, round.clone()).await;
        } else {
            return heard;
        }
    }
}

/// Checks that the client gets one sentence, and that the log has the cause.
async fn check(what: &str, server: ServerBuilder, revision: Revision, method: &str, params: Value) {
    let log = Log::default();
    let told = {
        let _logging = log.listen();
        let server = server.build().expect("the server is whole");
        outcome(&server, revision, method, &params)
            .await
            .to_string()
    };
    let what = format!("{what} in {revision}");
    assert!(!told.contains(CANARY), "{what}: {told}");
    assert!(
        told.contains("; its operator finds the cause in the log."),
        "{what}: {told}"
    );
    let log = log.text();
    assert!(log.contains(CANARY), "{what}: {log}");
}

#[tokio::test]
async fn the_cause_of_what_fails_under_a_server_stays_in_its_log() {
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        for name in ["read", "step", "boxed", "source", "thread"] {
            let params = json!({"name": name});
            check(name, server(), revision, "tools/call", params).await;
        }
        let prompt = json!({"name": "read"});
        check("a prompt", server(), revision, "prompts/get", prompt).await;
        let resource = json!({"uri": "a:b"});
        check("a resource", server(), revision, "resources/read", resource).await;
        check("a list", server(), revision, "resources/list", json!({})).await;
    }
}

#[tokio::test]
async fn the_cause_of_a_state_that_cannot_be_kept_stays_in_the_log() {
    let book = || json!({"name": "book"});
    let check = |what, server| check(what, server, Revision::LATEST, "tools/call", book());

    let missing = KeySource::File(format!("{CANARY}/keys").into());
    check("a missing key file", server().keys(missing)).await;

    let directory = tempfile::Builder::new().prefix("canary").tempdir().unwrap();
    let path = directory.path().join(&CANARY[1..]);
    std::fs::write(&path, "01".repeat(32)).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        check(
            "an exposed key file",
            server().keys(KeySource::File(path.clone())),
        )
        .await;
    }
    std::fs::write(&path, "no key").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    check("no key file", server().keys(KeySource::File(path))).await;

    let mut limits = Limits::default();
    limits.asking.spill_bytes = 8;
    check("a state", server().store(Broken).limits(limits.clone())).await;
    let unreadable = Unreadable(MemoryStore::default());
    check("a kept state", server().store(unreadable).limits(limits)).await;
    check("a claim", server().store(Broken)).await;
}

#[tokio::test(start_paused = true)]
async fn a_commit_waits_until_its_store_can_be_reached() {
    for (claims_to_refuse, told) in [(3, "booked"), (u32::MAX, "; its operator finds")] {
        let store = Away {
            store: MemoryStore::default(),
            claims_to_refuse: claims_to_refuse.into(),
        };
        let server = server().store(store).build().expect("the server is whole");
        let params = json!({"name": "book"});
        let heard = outcome(&server, Revision::LATEST, "tools/call", &params).await;
        assert!(heard.to_string().contains(told), "{heard}");
    }
}
