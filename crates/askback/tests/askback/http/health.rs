//! The routes for balancers and supervisors.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback::{
    Fleet, ServerBuilder,
    journal::{Bus, HeardHints, Topic},
    keys::{Key, KeyRing, KeySource},
    store::{
        Claim, ClaimRequest, FlowId, MemoryStore, Millis, PutRequest, SqliteStore, Store,
        StoreError, StoreFuture,
    },
};
use tokio::sync::watch;

use super::{
    Stage,
    serving::{Serving, calling},
};
use crate::fleet::memory::{self, MemoryBus};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Answers,
    Fails,
    Silent,
    /// Panics once. Later checks get an answer.
    Panics,
}

/// A store that answers, fails, is silent or panics.
#[derive(Clone)]
struct Gate {
    store: Arc<MemoryStore>,
    standing: watch::Sender<Standing>,
    /// The number of checks that wait for an answer now; `most` is the highest number so far, and
    /// `all` counts every check.
    waiting: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    all: Arc<AtomicUsize>,
}

impl Gate {
    fn new(standing: Standing) -> Self {
        Self {
            store: Arc::default(),
            standing: watch::Sender::new(standing),
            waiting: Arc::default(),
            most: Arc::default(),
            all: Arc::default(),
        }
    }

    fn server(&self) -> ServerBuilder {
        Stage::default().builder().store(self.clone())
    }
}

/// A check that waits for its answer.
struct Check<'a>(&'a Gate);

impl<'a> Check<'a> {
    fn begin(gate: &'a Gate) -> Self {
        let waiting = 1 + gate.waiting.fetch_add(1, Ordering::SeqCst);
        gate.most.fetch_max(waiting, Ordering::SeqCst);
        Self(gate)
    }
}

impl Drop for Check<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Store for Gate {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        self.store.claim(commit)
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        self.store.finish(flow, name, value)
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        self.store.put(state)
    }

    fn get(&self, _: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            self.all.fetch_add(1, Ordering::SeqCst);
            let _check = Check::begin(self);
            let mut standing = self.standing.subscribe();
            let standing = standing.wait_for(|it| *it != Standing::Silent).await;
            match standing.map(|standing| *standing) {
                Ok(Standing::Answers) => Ok(None),
                Ok(Standing::Panics) => {
                    self.standing.send_replace(Standing::Answers);
                    panic!("the store panics");
                }
                _ => Err(StoreError::Failed("password=canary".into())),
            }
        })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        self.store.purge(now)
    }
}

async fn serving(builder: ServerBuilder) -> Serving {
    let endpoint = builder.build().unwrap().http().health_routes();
    Serving::by(|listener, stopped| endpoint.serve_until(listener, stopped)).await
}

/// A balancer asks by address.
fn request(line: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: 10.1.2.3:8000\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn health_is_told_to_get_and_head_only_if_it_is_turned_on() {
    let on = serving(Gate::new(Standing::Answers).server()).await;
    let off = Serving::start(Gate::new(Standing::Answers).server()).await;
    for (line, status, body) in [
        ("GET /healthz", "200 OK", "ok\n"),
        ("GET /readyz", "200 OK", "ok\n"),
        ("HEAD /healthz", "200 OK", ""),
        ("HEAD /readyz", "200 OK", ""),
        (
            "POST /healthz",
            "405 Method Not Allowed",
            "this path takes GET, HEAD\n",
        ),
        (
            "DELETE /readyz",
            "405 Method Not Allowed",
            "this path takes GET, HEAD\n",
        ),
        (
            "OPTIONS /readyz",
            "405 Method Not Allowed",
            "this path takes GET, HEAD\n",
        ),
    ] {
        let said = on.says(request(line)).await;
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{line}: {said}"
        );
        let (head, rest) = said.split_once("\r\n\r\n").unwrap();
        assert_eq!(rest, body, "{line}");
        assert!(head.contains("cache-control: no-store"), "{line}: {head}");
        assert!(!head.contains("session"), "{line}: {head}");
        let said = off.says(request(line)).await;
        assert!(said.starts_with("HTTP/1.1 404"), "{line}: {said}");
    }
    for line in ["GET /readyz/x", "GET /health", "GET /"] {
        let said = on.says(request(line)).await;
        assert!(said.starts_with("HTTP/1.1 404"), "{line}: {said}");
    }
    on.assert_well().await;
}

/// A bus that a test reaches for the process.
#[derive(Clone, Default)]
struct LateBus {
    bus: Arc<MemoryBus>,
    was_reached: Arc<AtomicBool>,
    is_refused: Arc<AtomicBool>,
}

impl Bus for LateBus {
    fn publish(&self, topic: Topic, hint: &[u8]) {
        self.bus.publish(topic, hint);
    }

    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints> {
        self.bus.hear(after)
    }

    fn was_reached(&self) -> bool {
        self.was_reached.load(Ordering::SeqCst)
    }

    fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_process_whose_bus_was_never_reached_serves_and_is_not_ready() {
    let bus = LateBus::default();
    let fleet = Fleet::new(memory::journal()).bus(bus.clone());
    let builder = Gate::new(Standing::Answers).server();
    let builder = builder
        .service("tests")
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
        .fleet(fleet);
    let server = serving(builder).await;
    let said = server.says(request("GET /readyz")).await;
    assert!(said.starts_with("HTTP/1.1 503"), "{said}");
    assert!(
        said.ends_with("\nthe bus has not been reached yet\n"),
        "{said}"
    );
    let said = server.says(request("GET /healthz")).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    server.assert_well().await;
    bus.is_refused.store(true, Ordering::SeqCst);
    // The last result is reused for a while.
    while !server
        .says(request("GET /readyz"))
        .await
        .ends_with("\nthe bus refuses this process\n")
    {}
    bus.was_reached.store(true, Ordering::SeqCst);
    // The process becomes ready once the last result is too old to be reused.
    while !server
        .says(request("GET /readyz"))
        .await
        .starts_with("HTTP/1.1 200")
    {}
}

fn with_keys(journal: &Arc<SqliteStore>, ring: KeyRing) -> ServerBuilder {
    let builder = Gate::new(Standing::Answers).server().service("tests");
    let builder = builder.keys(KeySource::Ring(ring));
    builder.fleet(Fleet::new(Arc::clone(journal)))
}

#[tokio::test]
async fn a_process_with_other_keys_than_its_fleet_is_not_ready() {
    let journal = memory::journal();
    let key = |number| Key::new(&[number; 32]);
    for (ring, is_ready) in [
        (KeyRing::new(key(1)), true),
        (KeyRing::new(key(2)), false),
        // A key is replaced in three steps, and some processes are a step ahead.
        (KeyRing::new(key(1)).and_accept(key(2)), true),
        (KeyRing::new(key(2)).and_accept(key(1)), true),
    ] {
        let server = serving(with_keys(&journal, ring)).await;
        let said = server.says(request("GET /readyz")).await;
        let want = match is_ready {
            true => ("HTTP/1.1 200", "\nok\n"),
            false => (
                "HTTP/1.1 503",
                "\nthe fleet has other keys, or another service\n",
            ),
        };
        assert!(said.starts_with(want.0) && said.ends_with(want.1), "{said}");
    }
}

#[tokio::test]
async fn a_process_that_cannot_read_its_keys_is_not_ready() {
    let missing = tempfile::tempdir().unwrap().path().join("keys");
    let journal = memory::journal();
    let begin = || {
        let builder = Gate::new(Standing::Answers).server().service("tests");
        builder.keys(KeySource::File(missing.clone()))
    };
    for builder in [begin(), begin().fleet(Fleet::new(journal))] {
        let server = serving(builder).await;
        let said = server.says(request("GET /readyz")).await;
        assert!(said.starts_with("HTTP/1.1 503"), "{said}");
        assert!(said.ends_with("\nthe keys cannot be read\n"), "{said}");
    }
}

#[tokio::test]
async fn a_process_whose_store_fails_is_not_ready_and_tells_no_secrets() {
    let gate = Gate::new(Standing::Fails);
    let server = serving(gate.server()).await;
    let said = server.says(request("GET /readyz")).await;
    assert!(
        said.starts_with("HTTP/1.1 503 Service Unavailable\r\n"),
        "{said}"
    );
    assert!(
        said.ends_with("\r\n\r\nthe store does not answer\n"),
        "{said}"
    );
    let said = server.says(request("GET /healthz")).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    // The process is ready again when the store answers, once the last result is too old.
    gate.standing.send_replace(Standing::Answers);
    let mut tries = 0;
    while !server
        .says(request("GET /readyz"))
        .await
        .starts_with("HTTP/1.1 200")
    {
        tries += 1;
        assert!(tries < 100_000, "it is not ready again");
    }
}

#[tokio::test]
async fn checks_of_a_slow_store_do_not_pile_up() {
    const CLIENTS: usize = 20;
    let gate = Gate::new(Standing::Silent);
    let server = serving(gate.server()).await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = server.connect().await;
        client.send(request("GET /readyz")).await;
        clients.push(client);
    }
    for client in &mut clients {
        let said = client.rest().await;
        assert!(said.starts_with("HTTP/1.1 503"), "{said}");
        assert!(!said.contains("ok\n"), "{said}");
    }
    // On a slow machine some of them come when the first result is too old.
    assert!(gate.all.load(Ordering::SeqCst) < CLIENTS);
    assert_eq!(gate.most.load(Ordering::SeqCst), 1);
    server.assert_well().await;
}

#[tokio::test]
async fn a_check_goes_on_when_its_client_has_left() {
    let gate = Gate::new(Standing::Silent);
    let server = serving(gate.server()).await;
    let mut client = server.connect().await;
    client.send(request("GET /readyz")).await;
    let waiting = || gate.waiting.load(Ordering::SeqCst);
    let begun = async {
        while waiting() == 0 {
            tokio::task::yield_now().await;
        }
    };
    let begun = tokio::time::timeout(Duration::from_secs(60), begun).await;
    begun.expect("the store is asked");
    drop(client);
    // The server learns that the client has left before it answers a later one.
    let said = server.says(request("GET /healthz")).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert_eq!(waiting(), 1);
    let mut next = server.connect().await;
    next.send(request("GET /readyz")).await;
    gate.standing.send_replace(Standing::Answers);
    let said = next.rest().await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    server.assert_well().await;
}

#[tokio::test]
async fn a_store_that_has_panicked_is_asked_again() {
    let gate = Gate::new(Standing::Panics);
    let server = serving(gate.server()).await;
    let mut client = server.connect().await;
    client.send(request("GET /readyz")).await;
    let mut standing = gate.standing.subscribe();
    let panicked = standing.wait_for(|it| *it == Standing::Answers);
    let panicked = tokio::time::timeout(Duration::from_secs(60), panicked).await;
    drop(panicked.expect("the store is asked"));
    let said = server.says(request("GET /readyz")).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
}

#[tokio::test]
async fn a_process_that_stops_is_not_ready() {
    let stage = Stage::default();
    let mut server = serving(stage.builder()).await;
    let mut called = server.connect().await;
    called.send(calling("commits", "")).await;
    stage.until((1, 0, 0)).await;
    server.stop();
    let mut said = String::new();
    // The signal takes a moment.
    for _ in 0..100_000 {
        said = server.says(request("GET /readyz")).await;
        if !said.starts_with("HTTP/1.1 200") {
            break;
        }
    }
    assert!(said.starts_with("HTTP/1.1 503"), "{said}");
    assert!(
        said.ends_with("\r\n\r\nthe process is stopping\n"),
        "{said}"
    );
    let said = server.says(request("GET /healthz")).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    stage.go_on();
    called.rest().await;
    server.ended().await;
}

#[tokio::test]
async fn a_process_of_a_fleet_is_ready_if_its_journal_answers() {
    for (fails, status) in [(false, "200 OK"), (true, "503 Service Unavailable")] {
        use askback::{
            Fleet,
            keys::{Key, KeyRing, KeySource},
        };
        let journal = memory::journal();
        let line = crate::fleet::line::JournalLine::new(&journal);
        if fails {
            line.cut();
        }
        let builder = Gate::new(Standing::Answers)
            .server()
            .service("health")
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .fleet(Fleet::new(line));
        let server = serving(builder).await;
        let said = server.says(request("GET /readyz")).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{said}");
        let says = "the journal does not answer\n";
        assert_eq!(said.ends_with(says), fails, "{said}");
    }
}
