//! A process of a fleet may die at any await: what was asked is answered all the same, and what is committed happens once.
//!
//! Each process has a runtime of its own on one thread, and dies by losing it. `DEATH_CASES` says how many schedules are
//! drawn.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    future::{Future, pending, poll_fn},
    pin::pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use askback::{
    Clock, Ctx, Fleet, Form, Prompt, Resource, Result, Revision, Server, Tool,
    journal::{Journal, MemoryJournal, Millis},
    keys::{Key, KeyRing, KeySource},
    protocol::{CreateMessageParams, PromptMessage},
    store::{Claim, ClaimRequest, FlowId, MemoryStore, PutRequest, Store, StoreFuture},
};
use serde_json::{Value, json};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc,
};

use crate::{
    http::client::{Client, Response, Session},
    wrapped::{Around, Wrapped},
};

/// How many processes there are.
const NODES: usize = 3;

/// The longest that a call may take, in milliseconds: a commit that was cut off is given up after a minute.
const PATIENCE: Millis = 10 * 60 * 1000;

/// The calls that are tried: the method, its parameters, and the text of the result.
const CALLS: [(&str, &str, &str); 7] = [
    ("tools/call", "book", "booked for Ada as 7"),
    ("tools/call", "both", "Ada and Grace as 7"),
    ("tools/call", "late", "too late, noted as 7"),
    ("tools/call", "slow", "Ada took 25 s"),
    ("tools/call", "samples", "Hi"),
    ("prompts/get", "greet", "Hello Ada!"),
    ("resources/read", "note://asks", "Of Ada."),
];

/// How many schedules are tried unless `DEATH_CASES` says so.
const CASES: u64 = 300;

fn cases() -> u64 {
    let cases = std::env::var("DEATH_CASES").ok();
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

#[test]
fn a_process_dies_at_each_await() {
    for call in 0..CALLS.len() {
        let awaits = run(call, 1, Schedule::default()).awaits;
        // A call that takes its time has many: some are tried.
        let some = awaits.div_ceil(cases() / CALLS.len() as u64);
        for at in (1..=awaits).step_by(some as usize) {
            let schedule = Schedule {
                at: vec![at],
                ..Schedule::default()
            };
            let ran = run(call, 1, schedule);
            assert_eq!(ran.deaths, 1, "{call}, await {at} of {awaits}");
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are for the reader")]
fn processes_die_by_drawn_schedules() {
    let cases = cases();
    let (mut deaths, mut before, mut unknown) = (0, 0, 0);
    for seed in 0..cases {
        let mut dice = Dice(seed);
        let mut schedule = Schedule::default();
        for _ in 0..=dice.below(3) {
            match dice.below(2) {
                0 => schedule.at.push(1 + dice.below(60)),
                _ => schedule.after.push(1 + dice.below(600)),
            }
        }
        let ran = run(dice.below(CALLS.len() as u64) as usize, seed, schedule);
        deaths += ran.deaths;
        before += u64::from(ran.end == End::BeforeAQuestion);
        unknown += u64::from(ran.end == End::Unknown);
    }
    println!(
        "{deaths} deaths in {cases} calls, 0 lost, 0 twice; {before} ended before their first question, \
         {unknown} in the middle of their commit"
    );
}

/// When processes die.
#[derive(Debug, Default, Clone)]
struct Schedule {
    /// After so many awaits of handlers, journals and stores, each counted from the death before.
    at: Vec<u64>,
    /// After so many polls, each counted from the death before.
    after: Vec<u64>,
}

/// The outcome of a call that was not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The result of a call without deaths.
    Result,
    /// A process died before the client heard of a question, and nothing is known of the call.
    BeforeAQuestion,
    /// A process died in the middle of the commit, so its outcome is unknown.
    Unknown,
}

struct Ran {
    end: End,
    deaths: u64,
    awaits: u64,
}

thread_local! {
    static FATE: Fate = const { Fate::new() };
}

/// What happens to the processes of a test. They share its thread.
struct Fate {
    awaits: Cell<u64>,
    dies_at: Cell<Option<u64>>,
    is_dying: Cell<bool>,
    claimed: Cell<u32>,
    /// Whether a process died that had claimed a commit and had not finished it.
    is_cut: Cell<bool>,
    effects: Cell<u32>,
}

impl Fate {
    const fn new() -> Self {
        Self {
            awaits: Cell::new(0),
            dies_at: Cell::new(None),
            is_dying: Cell::new(false),
            claimed: Cell::new(0),
            is_cut: Cell::new(false),
            effects: Cell::new(0),
        }
    }

    /// Begins a call: nothing has happened in it.
    fn begin(&self) {
        self.awaits.set(0);
        self.dies_at.set(None);
        self.is_dying.set(false);
        self.claimed.set(0);
        self.is_cut.set(false);
        self.effects.set(0);
    }
}

/// An await at which the process may die.
async fn danger() {
    let is_now = FATE.with(|fate| {
        fate.awaits.set(fate.awaits.get() + 1);
        let is_now = fate.dies_at.get() == Some(fate.awaits.get());
        fate.is_dying.set(fate.is_dying.get() || is_now);
        is_now
    });
    if is_now {
        pending::<()>().await;
    }
    tokio::task::yield_now().await;
}

/// Dies before or after an operation.
struct Dangerous;

impl Around for Dangerous {
    async fn around<T: Send>(operation: impl Future<Output = T> + Send) -> T {
        danger().await;
        let outcome = operation.await;
        danger().await;
        outcome
    }
}

struct DangerousStore(Arc<MemoryStore>);

impl Store for DangerousStore {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        Box::pin(Dangerous::around(async move {
            let claim = self.0.claim(commit).await?;
            let granted = u32::from(claim == Claim::Granted);
            FATE.with(|fate| fate.claimed.set(fate.claimed.get() + granted));
            Ok(claim)
        }))
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(Dangerous::around(async move {
            self.0.finish(flow, name, value).await?;
            FATE.with(|fate| fate.claimed.set(0));
            Ok(())
        }))
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        Box::pin(Dangerous::around(self.0.put(state)))
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(Dangerous::around(self.0.get(id)))
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        self.0.purge(now)
    }
}

#[derive(Form)]
struct Who {
    /// Your name.
    name: String,
}

async fn ask(ctx: &Ctx, words: &str) -> Result<String> {
    let who: Who = ctx.elicit(words).await?.accepted()?;
    danger().await;
    Ok(who.name)
}

async fn commit(ctx: &Ctx) -> Result<u32> {
    let effect = || async {
        danger().await;
        FATE.with(|fate| fate.effects.set(fate.effects.get() + 1));
        danger().await;
        Ok(7)
    };
    ctx.commit("book", effect).await
}

async fn book(ctx: Ctx) -> Result<String> {
    let price = || async {
        danger().await;
        Ok(42)
    };
    let price: u32 = ctx.run("price", price).await?;
    danger().await;
    let name = ask(&ctx, &format!("It costs {price}. Who travels?")).await?;
    if !ctx.confirm(format!("Book for {name}?")).await? {
        return Ok("nothing".into());
    }
    Ok(format!("booked for {name} as {}", commit(&ctx).await?))
}

async fn both(ctx: Ctx) -> Result<String> {
    let (a, b) = tokio::join!(ask(&ctx, "The first?"), ask(&ctx, "Or Grace?"));
    Ok(format!("{} and {} as {}", a?, b?, commit(&ctx).await?))
}

async fn late(ctx: Ctx) -> Result<String> {
    let asked = ctx.elicit::<Who>("Never answered");
    let said = ctx.timeout(Duration::from_secs(30), asked).await;
    assert!(said.is_err(), "it was answered");
    Ok(format!("too late, noted as {}", commit(&ctx).await?))
}

async fn slow(ctx: Ctx) -> Result<String> {
    let name = ask(&ctx, "Who?").await?;
    let took = || async {
        // Longer than a lease.
        tokio::time::sleep(Duration::from_secs(25)).await;
        danger().await;
        Ok(25)
    };
    let took: u32 = ctx.run("work", took).await?;
    Ok(format!("{name} took {took} s"))
}

async fn samples(ctx: Ctx) -> Result<String> {
    let said = ctx.sample(CreateMessageParams::new("Say hi.", 9)).await?;
    Ok(said.content.text())
}

async fn greet(ctx: Ctx) -> Result<PromptMessage> {
    let name = ask(&ctx, "Who is greeted?").await?;
    Ok(PromptMessage::user(format!("Hello {name}!")))
}

async fn note(ctx: Ctx) -> Result<String> {
    Ok(format!("Of {}.", ask(&ctx, "Whose note?").await?))
}

/// The person's answer to a question; none to one that they leave.
fn reply(question: &Value) -> Option<Value> {
    let params = &question["params"];
    if question["method"] == "sampling/createMessage" {
        let content = json!({"type": "text", "text": "Hi"});
        return Some(json!({"role": "assistant", "model": "m", "content": content}));
    }
    let words = params["message"].as_str().expect("words");
    let fields = params["requestedSchema"]["properties"].as_object();
    let field = fields
        .and_then(|fields| fields.keys().next())
        .expect("a field");
    let value = match field.as_str() {
        "name" if words.contains("Grace") => json!("Grace"),
        "name" => json!("Ada"),
        _ => json!(true),
    };
    let content = json!({ field: value });
    (!words.starts_with("Never")).then(|| json!({"action": "accept", "content": content}))
}

/// A clock for all processes.
#[derive(Clone)]
struct Hands(Arc<AtomicU64>);

impl Clock for Hands {
    fn now(&self) -> Millis {
        self.0.load(Ordering::Relaxed)
    }
}

/// A process.
struct Node {
    runtime: Runtime,
    client: Client,
}

/// All processes, and what they share.
struct World {
    nodes: [Option<Node>; NODES],
    journal: Arc<dyn Journal>,
    store: Arc<MemoryStore>,
    hands: Hands,
    dice: Dice,
    schedule: Schedule,
    /// The polls until a process dies.
    polls: Option<u64>,
    deaths: u64,
    /// By how much the time advances when nothing happens, in milliseconds.
    stride: Millis,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            nodes: [const { None }; NODES],
            journal: Arc::new(Wrapped::new(MemoryJournal::default(), Dangerous)),
            store: Arc::default(),
            hands: Hands(Arc::new(AtomicU64::new(1_800_000_000_000))),
            dice: Dice(seed),
            schedule: Schedule::default(),
            polls: None,
            deaths: 0,
            stride: 1,
        };
        for at in 0..NODES {
            world.start(at);
        }
        world
    }

    fn start(&mut self, at: usize) {
        let store: Arc<dyn Store> = Arc::new(DangerousStore(Arc::clone(&self.store)));
        let server = Server::new("deaths", "1")
            .service("tests")
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .store(store)
            .clock(self.hands.clone())
            .fleet(Fleet::new(Arc::clone(&self.journal)))
            .check_replay(false)
            .tool(Tool::new("book", book))
            .tool(Tool::new("both", both))
            .tool(Tool::new("late", late))
            .tool(Tool::new("slow", slow))
            .tool(Tool::new("samples", samples))
            .prompt(Prompt::new("greet", greet))
            .resource(Resource::new("note://asks", "asks", note))
            .build()
            .expect("the server is whole");
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            // The future of `block_on` is polled between any two polls of tasks.
            .event_interval(1)
            .build()
            .expect("a runtime");
        let client = runtime.block_on(async { Client::of(&server) });
        self.nodes[at] = Some(Node { runtime, client });
    }

    /// Lets each process poll some of its tasks, and then the time go on.
    fn turn(&mut self) {
        for _ in 0..4 {
            let first = self.dice.below(NODES as u64) as usize;
            for at in 0..NODES {
                let polls = 1 + self.dice.below(8);
                self.step((first + at) % NODES, polls);
            }
        }
        // One that is dead is started again.
        if self.dice.below(8) == 0
            && let Some(at) = self.nodes.iter().position(Option::is_none)
        {
            self.start(at);
        }
        let by = self.stride;
        self.stride = (by * 2).min(500);
        self.hands.0.fetch_add(by, Ordering::Relaxed);
        for at in 0..NODES {
            if let Some(node) = &self.nodes[at] {
                let by = Duration::from_millis(by);
                node.runtime.block_on(tokio::time::advance(by));
            }
            self.bury(at);
        }
    }

    fn step(&mut self, at: usize, polls: u64) {
        let Some(node) = &self.nodes[at] else { return };
        let mut left = polls.min(self.polls.unwrap_or(polls));
        self.polls = self.polls.map(|polls| polls - left);
        node.runtime.block_on(poll_fn(|cx| {
            if left == 0 || FATE.with(|fate| fate.is_dying.get()) {
                return Poll::Ready(());
            }
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        if self.polls == Some(0) {
            self.polls = None;
            FATE.with(|fate| fate.is_dying.set(true));
        }
        self.bury(at);
    }

    /// Ends a process that dies.
    fn bury(&mut self, at: usize) {
        if !FATE.with(|fate| fate.is_dying.get()) {
            return;
        }
        FATE.with(|fate| {
            fate.is_dying.set(false);
            fate.is_cut.set(fate.is_cut.get() || fate.claimed.get() > 0);
        });
        self.nodes[at] = None;
        self.deaths += 1;
        self.plan();
    }

    /// Plans the next death.
    fn plan(&mut self) {
        FATE.with(|fate| {
            let at = self.schedule.at.pop();
            fate.dies_at.set(at.map(|at| fate.awaits.get() + at));
        });
        if self.polls.is_none() {
            self.polls = self.schedule.after.pop();
        }
    }
}

/// A part of a response.
enum Part {
    Head(u16),
    /// An event with its id, or all of a response that is no stream.
    Message(Option<String>, Value),
    /// An event that has only an id.
    Id(String),
    End,
}

/// A client whose requests reach any process that lives.
struct Caller {
    world: Rc<RefCell<World>>,
    session: Option<Session>,
}

impl Caller {
    /// Sends a request to a process that lives, which answers as far as it gets.
    async fn send<F>(
        &self,
        request: impl FnOnce(Client, Option<Session>) -> F,
    ) -> mpsc::UnboundedReceiver<Part>
    where
        F: Future<Output = Response> + Send + 'static,
    {
        loop {
            {
                let mut world = self.world.borrow_mut();
                let at = world.dice.below(NODES as u64) as usize;
                world.stride = 1;
                if let Some(node) = &world.nodes[at] {
                    let client = node.client.clone();
                    let session = self.session.clone().map(|session| Session {
                        client: client.clone(),
                        ..session
                    });
                    let (told, hears) = mpsc::unbounded_channel();
                    node.runtime.spawn(relay(request(client, session), told));
                    return hears;
                }
            }
            once().await;
        }
    }

    fn now(&self) -> Millis {
        self.world.borrow().hands.now()
    }

    /// Sends a message until a process has taken it.
    async fn tell(&self, message: &Value) {
        for _ in 0..100 {
            let message = message.clone();
            let mut parts = self
                .send(|_, session| async move { in_session(session).post(&message).await })
                .await;
            match parts.recv().await {
                Some(Part::Head(status)) => {
                    assert_eq!(status, 202);
                    return;
                }
                _ => once().await,
            }
        }
        panic!("no process takes {message}");
    }

    async fn open(&mut self) {
        let capabilities = json!({"elicitation": {}, "sampling": {}});
        let (told, mut hears) = mpsc::unbounded_channel();
        let world = Rc::clone(&self.world);
        {
            let world = world.borrow();
            let node = world.nodes[0].as_ref().expect("all live");
            let client = node.client.clone();
            node.runtime.spawn(async move {
                let session = client.open_with(Revision::V2025_11_25, capabilities).await;
                let _ = told.send(session);
            });
        }
        self.session = hears.recv().await;
    }

    /// Calls, and answers what is asked until there is a result; none if the call was lost before a question.
    async fn call(&self, method: &str, params: &Value) -> Option<Value> {
        let begun = self.now();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut parts = self
            .send(|_, session| async move { in_session(session).post(&message).await })
            .await;
        let mut last = None;
        let mut said = BTreeMap::<String, Value>::new();
        let mut answered = BTreeSet::new();
        loop {
            assert!(
                self.now() < begun + PATIENCE,
                "lost: nothing comes any more"
            );
            match parts.recv().await {
                Some(Part::Head(status)) => {
                    if status != 200 {
                        assert!(
                            said.is_empty(),
                            "lost after a question: {status} for {last:?}"
                        );
                        return None;
                    }
                }
                Some(Part::Id(id)) => last = Some(id),
                Some(Part::Message(id, told)) => {
                    let is_result = told["id"] == 1 && told["method"].is_null();
                    last = id.clone().or(last);
                    if let Some(before) = id.and_then(|id| said.insert(id, told.clone())) {
                        assert_eq!(before, told, "an event that was told before");
                    }
                    if is_result {
                        return Some(told);
                    }
                    let name = told["id"].to_string();
                    let reply = told["id"].is_string().then(|| reply(&told)).flatten();
                    if let Some(result) = reply
                        && answered.insert(name)
                    {
                        let id = &told["id"];
                        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                        self.tell(&answer).await;
                    }
                }
                // The process is gone, or lets the client go.
                Some(Part::End) | None => {
                    let last = last.clone()?;
                    parts = self
                        .send(|_, session| async move { in_session(session).resume(&last).await })
                        .await;
                }
            }
        }
    }
}

fn in_session(session: Option<Session>) -> Session {
    session.expect("it is open")
}

/// Hands on a response until the client leaves.
async fn relay(response: impl Future<Output = Response>, told: mpsc::UnboundedSender<Part>) {
    let relayed = async {
        let mut response = response.await;
        let _ = told.send(Part::Head(response.status.as_u16()));
        if response.is_stream() {
            while let Some(event) = response.event().await {
                let message = serde_json::from_slice(&event.data);
                let part = match (message, event.id) {
                    (Ok(message), id) => Part::Message(id, message),
                    (Err(_), Some(id)) => Part::Id(id),
                    (Err(_), None) => continue,
                };
                let _ = told.send(part);
            }
        } else if response.status == 200 {
            let _ = told.send(Part::Message(None, response.json().await));
        }
        let _ = told.send(Part::End);
    };
    tokio::select! {
        () = told.closed() => {}
        () = relayed => {}
    }
}

/// Is ready at the second poll.
async fn once() {
    let mut is_ready = false;
    poll_fn(|_| match std::mem::replace(&mut is_ready, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Calls while processes die, and checks what comes of it.
fn run(call: usize, seed: u64, schedule: Schedule) -> Ran {
    let (method, name, expected) = CALLS[call];
    let what = format!("{name}, seed {seed}, {schedule:?}");
    FATE.with(Fate::begin);
    let world = Rc::new(RefCell::new(World::new(seed)));
    let params = match method {
        "resources/read" => json!({"uri": name}),
        _ => json!({"name": name}),
    };
    let calling = async {
        let mut caller = Caller {
            world: Rc::clone(&world),
            session: None,
        };
        caller.open().await;
        FATE.with(Fate::begin);
        {
            let mut world = world.borrow_mut();
            world.schedule = schedule;
            world.plan();
        }
        caller.call(method, &params).await
    };
    let mut calling = pin!(calling);
    let mut cx = Context::from_waker(Waker::noop());
    let begun = world.borrow().hands.now();
    let result = loop {
        if let Poll::Ready(result) = calling.as_mut().poll(&mut cx) {
            break result;
        }
        let mut world = world.borrow_mut();
        world.turn();
        assert!(world.hands.now() < begun + PATIENCE, "lost: {what}");
    };
    let text = result.as_ref().map(ToString::to_string);
    let (effects, is_cut) = FATE.with(|fate| (fate.effects.get(), fate.is_cut.get()));
    assert!(effects <= 1, "{effects} effects: {what}");
    let end = match &text {
        Some(text) if text.contains(expected) => End::Result,
        Some(text) if is_cut && text.contains("outcome is unknown") => End::Unknown,
        None => End::BeforeAQuestion,
        Some(text) => panic!("{text}: {what}"),
    };
    if end == End::Result {
        assert_eq!(effects, u32::from(expected.contains("as 7")), "{what}");
    }
    if end == End::BeforeAQuestion {
        assert_eq!(effects, 0, "{what}");
    }
    Ran {
        end,
        deaths: world.borrow().deaths,
        awaits: FATE.with(|fate| fate.awaits.get()),
    }
}

/// Choices that are the same for the same number.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
