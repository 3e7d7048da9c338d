//! Many concurrent calls: a rolling restart, and a soak test.

use std::{
    fmt, fs, io,
    path::Path,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use askback::{
    Revision,
    journal::{Journal, StoreError},
    store::{SqliteStore, Store},
};
use askback_fleet::{PostgresSettings, PostgresStore, Secret};
use serde_json::json;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    JournalKind, Scene, Settings,
    clients::{OwnClient, PATIENCE, Person, Request, address, connect},
};

/// The number of open questions in a rolling restart, and of calls that work at the same time.
const OPEN: u64 = 200;
const WORKING: u64 = 50;

const APART: Duration = Duration::from_millis(20);

const CONNECTING: usize = 16;

const SESSIONS: u64 = 20;

const DEATH: Duration = Duration::from_secs(20);

/// The outcome of many calls.
#[derive(Debug)]
pub struct Load {
    calls: u64,
    errors: u64,
    twice: u64,
    before: u64,
    /// Calls whose process died during their commit.
    unknown: u64,
    /// Answers that were lost because a process died before it received them. Our client sends them again.
    cuts: u64,
    what: String,
}

impl Load {
    /// Whether nothing went wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.errors + self.twice == 0
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            calls,
            errors,
            twice,
            before,
            unknown,
            cuts,
            what,
        } = self;
        write!(
            f,
            "{what}: {calls} calls, {errors} errors with {cuts} answers cut off, {twice} twice; {before} ended before their \
             first question, {unknown} in the middle of their commit"
        )
    }
}

struct Waiting {
    asked: AtomicU32,
    may_answer: watch::Receiver<bool>,
}

impl Person for Waiting {
    async fn asked(&self) {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let mut may_answer = self.may_answer.clone();
        // The sender outlives all calls.
        let _ = may_answer.wait_for(|may| *may).await;
        // The answers do not come all at once, because each booking is written to the disk.
        sleep(APART * number).await;
    }
}

#[derive(Default)]
pub(super) struct Ready(AtomicU64);

impl Person for Ready {
    async fn asked(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    errors: AtomicU64,
    before: AtomicU64,
    /// Calls whose process died during their commit.
    unknown: AtomicU64,
}

impl Counts {
    fn load(&self, scene: &Scene, what: String) -> io::Result<Load> {
        let bookings = scene.bookings()?;
        let twice = bookings.values().filter(|owners| owners.len() > 1);
        Ok(Load {
            calls: self.calls.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            twice: twice.count() as u64,
            before: self.before.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
            cuts: scene.cuts.load(Ordering::Relaxed),
            what,
        })
    }

    fn count<T>(&self, ended: Result<T, String>) -> Option<T> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        ended
            .inspect_err(|why| {
                eprintln!("{why}");
                self.errors.fetch_add(1, Ordering::Relaxed);
            })
            .ok()
    }
}

async fn dangerous(
    counts: &Counts,
    person: &Ready,
    call: impl Future<Output = Result<(), String>>,
) {
    let asked = person.0.load(Ordering::Relaxed);
    let ended = timeout(PATIENCE, call).await;
    let ended = ended.unwrap_or_else(|_| Err(format!("nothing came within {PATIENCE:?}")));
    if ended
        .as_ref()
        .is_err_and(|why| why.contains("outcome is unknown"))
    {
        counts.unknown.fetch_add(1, Ordering::Relaxed);
    } else if ended.is_err() && person.0.load(Ordering::Relaxed) == asked {
        counts.before.fetch_add(1, Ordering::Relaxed);
    } else {
        counts.count(ended);
    }
}

/// Makes a call, and checks that its result has the person's address.
async fn call(client: &OwnClient, request: Request, name: &str) -> Result<(), String> {
    check(client.call(request).await, &format!("{request:?}"), name)
}

async fn tailor(client: &OwnClient, name: &str) -> Result<(), String> {
    let tailored = client.tool("tailor_trip", json!({"destination": "Rome"}));
    check(tailored.await, "tailor_trip", name)
}

fn check(called: Result<String, String>, what: &str, name: &str) -> Result<(), String> {
    match called {
        Ok(text) if text.contains(&address(name)) => Ok(()),
        Ok(text) => Err(format!("{what}: {name} has the result of another: {text}")),
        Err(error) => Err(format!("{what}: {name} has no result: {error}")),
    }
}

fn revision(number: u64) -> Revision {
    match number % 4 {
        0 => Revision::LATEST,
        _ => Revision::V2025_11_25,
    }
}

pub(super) async fn begin(settings: &Settings, folder: &Path) -> io::Result<Arc<Scene>> {
    let scene = Scene::begin(settings, folder).await?;
    scene.ok_or_else(|| io::Error::other("an engine or the balancer is not installed"))
}

/// Restarts all processes one after the other, while questions are open and calls are running.
///
/// # Errors
///
/// If a process cannot be started.
pub async fn roll(settings: &Settings) -> io::Result<Load> {
    let folder = settings.folder.join("rolling");
    fs::create_dir_all(&folder)?;
    let scene = begin(settings, &folder).await?;
    let counts = Arc::new(Counts::default());
    let (answer, may_answer) = watch::channel(false);
    let person = Arc::new(Waiting {
        asked: AtomicU32::new(0),
        may_answer,
    });
    let connecting = Arc::new(Semaphore::new(CONNECTING));
    let mut calls = JoinSet::new();
    for number in 0..OPEN {
        let connecting = Arc::clone(&connecting);
        let (url, person, counts) = (scene.url.clone(), Arc::clone(&person), Arc::clone(&counts));
        calls.spawn(async move {
            let name = format!("open-{number}");
            // The semaphore is never closed.
            let permit = connecting.acquire().await;
            let connected = connect(&url, revision(number), &name, &person).await;
            drop(permit);
            let client = match connected {
                Ok(client) => client,
                Err(why) => {
                    counts.count::<()>(Err(why));
                    return;
                }
            };
            counts.count(call(&client, Request::Holiday, &name).await);
            client.close().await;
        });
    }
    while u64::from(person.asked.load(Ordering::Relaxed)) + counts.calls.load(Ordering::Relaxed)
        < OPEN
    {
        sleep(Duration::from_millis(50)).await;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let mut working = JoinSet::new();
    for number in 0..WORKING {
        let (url, counts, is_over) = (scene.url.clone(), Arc::clone(&counts), Arc::clone(&is_over));
        working.spawn(async move {
            let name = format!("working-{number}");
            let connected =
                connect(&url, revision(number), &name, &Arc::new(Ready::default())).await;
            let Some(client) = counts.count(connected) else {
                return;
            };
            while !is_over.load(Ordering::Relaxed) {
                counts.count(tailor(&client, &name).await);
            }
            client.close().await;
        });
    }
    let mut longest = Duration::ZERO;
    for at in 0..settings.nodes {
        sleep(Duration::from_secs(1)).await;
        let took = scene.nodes.restart(at).await?;
        eprintln!(
            "process {at} has stopped within {:.2} s",
            took.as_secs_f64()
        );
        longest = longest.max(took);
    }
    sleep(Duration::from_secs(1)).await;
    is_over.store(true, Ordering::Relaxed);
    working.join_all().await;
    let _ = answer.send(true);
    calls.join_all().await;
    let what = format!(
        "rolling restart of {} processes under {OPEN} open questions and {WORKING} working clients, longest stop {:.2} s",
        settings.nodes,
        longest.as_secs_f64()
    );
    counts.load(&scene, what)
}

/// Opens sessions with five questions each during the span, while processes die.
///
/// # Errors
///
/// If a process cannot be started, or the processes' shared file cannot be read.
pub async fn soak(settings: &Settings, span: Duration) -> io::Result<Load> {
    let folder = settings.folder.join("soak");
    fs::create_dir_all(&folder)?;
    let scene = begin(settings, &folder).await?;
    let counts = Arc::new(Counts::default());
    let sessions = Arc::new(AtomicU64::new(0));
    let end = Instant::now() + span;
    let mut working = JoinSet::new();
    for _ in 0..SESSIONS {
        let (url, counts, sessions) = (
            scene.url.clone(),
            Arc::clone(&counts),
            Arc::clone(&sessions),
        );
        working.spawn(async move {
            while Instant::now() < end {
                let number = sessions.fetch_add(1, Ordering::Relaxed);
                let name = format!("soak-{number}");
                let person = Arc::new(Ready::default());
                let Ok(client) = connect(&url, Revision::V2025_11_25, &name, &person).await else {
                    continue;
                };
                for request in [Request::Group, Request::Prompt, Request::Resource] {
                    dangerous(&counts, &person, call(&client, request, &name)).await;
                }
                client.close().await;
            }
        });
    }
    let mut turn = 0;
    while Instant::now() < end {
        sleep(DEATH.min(end.saturating_duration_since(Instant::now()))).await;
        let memory = scene.nodes.memory();
        let file = fs::metadata(scene.nodes.database()).map_or(0, |file| file.len() >> 10);
        eprintln!(
            "{} sessions, memory {memory:?} KiB, file {file} KiB",
            sessions.load(Ordering::Relaxed)
        );
        // One process is never killed, so that its memory shows leaks.
        let which = 1 + turn % (settings.nodes - 1).max(1);
        scene.nodes.kill(&[which % settings.nodes]).await?;
        turn += 1;
    }
    working.join_all().await;
    let rows = match settings.journal {
        JournalKind::Sqlite => left(&scene)?.await?,
        JournalKind::Postgres => left_in_postgres(&scene).await?,
        JournalKind::None => "no journal".to_owned(),
    };
    let what = format!(
        "soak of {} s with {} sessions and {} deaths, memory {:?} KiB, {rows}",
        span.as_secs(),
        sessions.load(Ordering::Relaxed),
        scene.nodes.deaths.load(Ordering::Relaxed),
        scene.nodes.memory()
    );
    counts.load(&scene, what)
}

/// Returns how many entries of the journal and claims of commits a purge removes: now, when results have expired, when
/// session ids have expired, and later.
fn left(scene: &Arc<Scene>) -> io::Result<impl Future<Output = io::Result<String>> + use<>> {
    let store = SqliteStore::open(scene.nodes.database()).map_err(io::Error::other)?;
    Ok(async move { purge(&store).await.map_err(io::Error::other) })
}

/// Like [`left`], and counts the rows that are left in each table.
async fn left_in_postgres(scene: &Arc<Scene>) -> io::Result<String> {
    let journal = {
        let engines = scene.engines.lock().unwrap_or_else(PoisonError::into_inner);
        Secret::new(&*engines.arguments[0])
    };
    let store = PostgresStore::connect(PostgresSettings::new(journal)).await;
    let removed = purge(&store.map_err(io::Error::other)?).await;
    let engines = scene.engines.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = engines.ask(
        "SELECT table_name, (xpath('/row/count/text()', query_to_xml(format('SELECT count(*) FROM %I.%I', \
         table_schema, table_name), false, true, '')))[1] \
         FROM information_schema.tables WHERE table_schema = 'chaos' ORDER BY 1",
    );
    let rows = rows?.replace('\n', ", ");
    Ok(format!(
        "{}; left: {rows}",
        removed.map_err(io::Error::other)?
    ))
}

async fn purge<S: Journal + Store>(store: &S) -> Result<String, StoreError> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let mut removed = Vec::new();
    for later in [0, 3_600_000, 8 * 24 * 3_600_000, 100 * 24 * 3_600_000] {
        let entries = Journal::purge(store, now + later).await?;
        let claims = Store::purge(store, now + later).await?;
        removed.push(format!("{entries} + {claims}"));
    }
    Ok(format!(
        "a purge removes {} entries now, {} in an hour, {} in eight days, {} later",
        removed[0], removed[1], removed[2], removed[3]
    ))
}
