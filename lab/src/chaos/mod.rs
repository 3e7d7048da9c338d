//! The chaos test (`lab/src/bin/chaos.rs`): processes of a fleet are killed while users are being asked, and nothing is
//! lost.
//!
//! Three processes of a server share one file or database, behind a load balancer without affinity. Each call has its own person,
//! whose token is in each request and whose address is in the result and in the booking. So the results and the
//! bookings show what was lost, was booked twice, or reached another person.

#![allow(
    clippy::print_stderr,
    reason = "what happens is for the person who started the program"
)]

mod balancer;
mod clients;
#[allow(dead_code, reason = "tests use the rest")]
#[path = "../../../crates/askback-connect/tests/connect/cluster.rs"]
mod cluster;
mod cost;
#[path = "../../../crates/askback-fleet/tests/fleet/engine.rs"]
mod engine;
mod engines;
mod gateway;
mod load;
mod network;
mod nodes;
#[path = "../../../crates/askback-fleet/tests/fleet/outage.rs"]
mod outage;
mod server;

use std::{
    collections::HashMap,
    fmt, fs,
    io::{self, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use askback::Revision;
use tokio::{sync::Semaphore, task::JoinSet, time::sleep};

use self::{
    balancer::{Balancer, Observer, Passing},
    clients::{Caller, Kind, Outcome, Person, address},
    engines::{Engines, SharedEngines},
    gateway::Gateway,
    network::Network,
    nodes::Nodes,
};
use crate::install;

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of calls with questions per kind of client.
    pub calls: u64,
    /// The number of concurrent calls.
    pub at_once: usize,
    /// The number of processes.
    pub nodes: usize,
    /// The chaos program, which also runs as the fleet's processes.
    pub program: PathBuf,
    /// The folder with the processes' shared files.
    pub folder: PathBuf,
    /// Only use clients whose names contain one of these words; if empty, use all.
    pub clients: Vec<String>,
    /// The seed for random choices.
    pub seed: u64,
    /// The journal and store of the processes.
    pub journal: JournalKind,
    /// The bus of the processes.
    pub bus: BusKind,
    /// The balancer in front of the processes.
    pub balancer: BalancerKind,
    /// How the engines are made to fail.
    pub trouble: EngineTrouble,
    /// Do not kill processes.
    pub is_calm: bool,
    /// What is measured are calls without sessions.
    pub is_stateless: bool,
    /// Count the statements of PostgreSQL.
    pub counts_statements: bool,
    /// Count the instructions of the processes, which run much slower then.
    pub counts_instructions: bool,
}

impl Settings {
    /// Returns the settings of a short run over SQLite with all clients.
    #[must_use]
    pub fn new(program: PathBuf, folder: PathBuf) -> Self {
        Self {
            calls: 4,
            at_once: 4,
            nodes: 3,
            program,
            folder,
            clients: Vec::new(),
            seed: 1,
            journal: JournalKind::Sqlite,
            bus: BusKind::Sqlite,
            balancer: BalancerKind::Own,
            trouble: EngineTrouble::default(),
            is_calm: false,
            is_stateless: false,
            counts_statements: false,
            counts_instructions: false,
        }
    }
}

/// The outcome of all calls.
#[derive(Debug, Default)]
pub struct Tally {
    calls: u64,
    deaths: u64,
    lost: u64,
    twice: u64,
    wrong_owner: u64,
    before: u64,
    /// Calls whose process died during their commit.
    unknown: u64,
    given_up: u64,
    questions: u64,
    hints: u64,
    engine_failures: u64,
    /// The number of requests that processes handled, and those that were handled more than once.
    handled: (u64, Vec<String>),
    booked: Vec<String>,
    recoveries: Vec<Duration>,
}

impl Tally {
    /// Whether nothing went wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.lost + self.twice + self.wrong_owner == 0
    }

    /// Returns how often the engines failed and worked again.
    #[must_use]
    pub fn engine_failures(&self) -> u64 {
        self.engine_failures
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.deaths += other.deaths;
        self.lost += other.lost;
        self.twice += other.twice;
        self.wrong_owner += other.wrong_owner;
        self.before += other.before;
        self.unknown += other.unknown;
        self.given_up += other.given_up;
        self.questions += other.questions;
        self.booked.extend(other.booked);
        self.recoveries.extend(other.recoveries);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.recoveries.clone();
        sorted.sort();
        let at = |part: usize| {
            let place = sorted.len().saturating_sub(1) * part / 100;
            sorted.get(place).copied().unwrap_or_default().as_secs_f64()
        };
        if self.deaths > 0 {
            write!(f, "{} deaths, ", self.deaths)?;
        }
        write!(
            f,
            "{} lost, {} twice, {} wrong owner in {} calls, median recovery {:.2} s (99 %: {:.2} s, longest: {:.2} s)",
            self.lost,
            self.twice,
            self.wrong_owner,
            self.calls,
            at(50),
            at(99),
            at(100)
        )?;
        write!(
            f,
            "; besides, {} ended before their first question; {} ended in the middle of their commit, {} were given up by their client",
            self.before, self.unknown, self.given_up
        )?;
        if self.engine_failures > 0 {
            write!(f, "; the engines failed {} times", self.engine_failures)?;
        }
        if self.hints > 0 {
            let each = self.hints as f64 / self.questions.max(1) as f64;
            write!(f, "; {each:.1} hints a question")?;
        }
        if let (requests @ 1.., again) = &self.handled {
            let (all, names) = (again.len(), again.join(", "));
            write!(
                f,
                "; of {requests} requests, {all} were handled more than once ({names})"
            )?;
        }
        Ok(())
    }
}

/// Makes calls with each kind of client while processes are killed. Returns `None` with a message if an engine or the
/// balancer is not installed.
///
/// # Errors
///
/// If a process or a client cannot be started.
pub async fn run(settings: &Settings) -> install::Result<Option<Tally>> {
    let folder = settings.folder.join("calls");
    fs::create_dir_all(&folder)?;
    let Some(scene) = Scene::begin(settings, &folder).await? else {
        return Ok(None);
    };
    // Cargo's target folder.
    let target = settings.program.ancestors().nth(2).unwrap_or(&folder);
    let target = target.join("tmp/interop-rmcp");
    let at_once = Arc::new(Semaphore::new(settings.at_once));
    let troubled = tokio::spawn(make_trouble(Arc::clone(&scene)));
    let mut working = JoinSet::new();
    for (number, kind) in clients::all(&settings.clients).into_iter().enumerate() {
        let log = fs::File::create(folder.join(format!("client-{number}.log")))?;
        let Some(caller) = kind.start(&target, log)? else {
            install::tell_left_out(&kind.to_string(), "npm or Python is not there");
            continue;
        };
        let (scene, at_once, calls) = (Arc::clone(&scene), Arc::clone(&at_once), settings.calls);
        working.spawn(async move {
            let mut tally = Tally::default();
            let mut caller = caller;
            let mut call = 0;
            // Calls that end before their first question are repeated.
            while tally.calls < calls || scene.waits_for_failure() {
                let most = MAX_ENDED_BEFORE.max(MAX_ENDED_BEFORE_A_CALL * calls);
                if tally.before > most {
                    let why = format!("{kind}: {most} calls ended before their first question");
                    return Err(io::Error::other(why));
                }
                let Ok(_permit) = at_once.acquire().await else {
                    break;
                };
                let name = format!("client-{number}-call-{call}");
                let before = tally.before;
                one_call(&scene, kind, &mut caller, &name, &mut tally).await?;
                if tally.before > before {
                    sleep(REFUSED).await;
                }
                call += 1;
            }
            Ok::<_, io::Error>((kind, tally))
        });
    }
    let mut all = Tally::default();
    while let Some(ended) = working.join_next().await {
        let (kind, tally) = ended??;
        eprintln!("{kind}: {tally}");
        all.add(tally);
    }
    scene.is_over.store(true, Ordering::Relaxed);
    troubled.await??;
    all.engine_failures = scene.engine_failures.load(Ordering::Relaxed);
    all.hints = scene.nodes.hints();
    all.handled = scene.nodes.handled();
    let bookings = scene.bookings()?;
    all.deaths = scene.nodes.deaths.load(Ordering::Relaxed);
    all.twice = bookings.values().filter(|owners| owners.len() > 1).count() as u64;
    for (email, owners) in &bookings {
        for owner in owners.iter().filter(|owner| address(owner) != *email) {
            eprintln!("a booking of {owner} was made for {email}");
            all.wrong_owner += 1;
        }
    }
    for name in &all.booked {
        if !bookings.contains_key(&address(name)) {
            eprintln!("{name} has a result and no booking");
            all.lost += 1;
        }
    }
    Ok(Some(all))
}

/// Makes the engines fail again and again until the calls are over.
async fn make_trouble(scene: Arc<Scene>) -> io::Result<()> {
    let mut turn = 0;
    while scene.trouble != EngineTrouble::default() {
        sleep(Duration::from_millis(
            MIN_PEACE_MILLIS + scene.below(MIN_PEACE_MILLIS),
        ))
        .await;
        if scene.is_over.load(Ordering::Relaxed) {
            break;
        }
        let (network, trouble) = (scene.nodes.network(), scene.trouble);
        let process = scene.below(scene.nodes.addresses.len() as u64) as usize;
        engines::fail_once(&scene.engines, network, process, trouble, turn).await?;
        scene.engine_failures.fetch_add(1, Ordering::Relaxed);
        turn += 1;
    }
    Ok(())
}

/// How many calls of a client may end before their first question. If all processes are away, a balancer refuses hundreds
/// within seconds.
const MAX_ENDED_BEFORE: u64 = 1000;
const MAX_ENDED_BEFORE_A_CALL: u64 = 20;

/// The pause after such a call. All processes may be starting.
const REFUSED: Duration = Duration::from_millis(200);

/// The maximum time to wait until the engines have failed once and work again. Calls continue
/// meanwhile.
const FIRST_FAILURE: Duration = Duration::from_secs(60);

/// The minimum time between two failures of the engines. The maximum is twice as long.
const MIN_PEACE_MILLIS: u64 = 2500;

async fn one_call(
    scene: &Arc<Scene>,
    kind: Kind,
    caller: &mut Caller,
    name: &str,
    tally: &mut Tally,
) -> io::Result<()> {
    let requests = kind.requests();
    let request = requests[scene.below(requests.len() as u64) as usize];
    let plan = scene.plan(kind);
    let planned = format!("{plan:?}");
    let state = CallState {
        moments: plan,
        ..CallState::default()
    };
    scene.calls().insert(name.to_owned(), state);
    let guest = Arc::new(Guest {
        scene: Arc::clone(scene),
        name: name.to_owned(),
    });
    let begun = Instant::now();
    let outcome = caller.call(&scene.url, request, name, &guest).await;
    let ended = Instant::now();
    let state = scene.calls().remove(name).unwrap_or_default();
    let is_failed = matches!(outcome, Outcome::Failed(_));
    // If no process is killed, a call has no reason to fail before its first question.
    let is_before = is_failed && state.asked == 0 && !scene.is_calm;
    tally.questions += u64::from(state.asked);
    tally.calls += u64::from(!is_before);
    let (count, why) = match outcome {
        Outcome::Text(text) if text.contains(&address(name)) => {
            if request.books() {
                tally.booked.push(name.to_owned());
            }
            if let Some(broken) = state.broken_at {
                let since = state.answered.map_or(broken, |at| at.max(broken));
                let recovery = ended.saturating_duration_since(since);
                tally.recoveries.push(recovery);
            }
            (None, "a result".to_owned())
        }
        Outcome::Text(text) => (
            Some(&mut tally.wrong_owner),
            format!("the result of another: {text}"),
        ),
        Outcome::Failed(why) if why.contains("outcome is unknown") => {
            (Some(&mut tally.unknown), why)
        }
        // The call's process has died, or the client could not connect.
        Outcome::Failed(why) if is_before => (Some(&mut tally.before), why),
        Outcome::Failed(why) if kind.gives_up(state.broken, &why) => {
            (Some(&mut tally.given_up), why)
        }
        // Other clients do not resend an answer that was lost with its process.
        Outcome::Failed(why) if state.cuts > 0 && !kind.resends() => {
            (Some(&mut tally.given_up), why)
        }
        Outcome::Failed(why) => {
            eprintln!("{kind}: {name} is lost");
            (Some(&mut tally.lost), why)
        }
    };
    if let Some(count) = count {
        *count += 1;
    }
    let line = format!(
        "{kind} {name} {request:?} {planned}, {} questions, {} connections broken, {} answers cut, {:.2} s: {why}\n",
        state.asked,
        state.broken,
        state.cuts,
        (ended - begun).as_secs_f64()
    );
    scene.write_down(&line)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// A question is recorded, but the client does not have it yet.
    Asking,
    Asked(u32),
    Working,
    Resuming,
    Answering,
    Calling,
}

#[derive(Default)]
struct CallState {
    moments: Vec<Moment>,
    asked: u32,
    answered: Option<Instant>,
    /// The answers that were lost because a process died before it received them.
    cuts: u64,
    broken: u32,
    broken_at: Option<Instant>,
}

/// The processes with their balancer, and the persons who are asked.
struct Scene {
    nodes: Nodes,
    engines: SharedEngines,
    trouble: EngineTrouble,
    /// How many times the engines have failed and worked again.
    engine_failures: AtomicU64,
    gateway: Option<Gateway>,
    is_calm: bool,
    begun: Instant,
    is_over: AtomicBool,
    url: String,
    /// By the name of the person.
    calls: Mutex<HashMap<String, CallState>>,
    log: PathBuf,
    /// The answers of all calls that were lost because a process died before it received them.
    cuts: AtomicU64,
    dice: AtomicU64,
}

struct Guest {
    scene: Arc<Scene>,
    name: String,
}

impl Scene {
    /// Returns `None` with a message if an engine or the balancer is not installed.
    async fn begin(settings: &Settings, folder: &Path) -> io::Result<Option<Arc<Self>>> {
        let (journal, bus) = (settings.journal, settings.bus);
        let counts = settings.counts_statements;
        let start = move || {
            let engines = Engines::start(journal, bus)?;
            if counts {
                engines.count_statements();
            }
            Some(engines)
        };
        let engines = tokio::task::spawn_blocking(start).await?;
        let Some(engines) = engines else {
            return Ok(None);
        };
        let network = match settings.trouble.network {
            true => Some(Network::start(settings.nodes)?),
            false => None,
        };
        let arguments = match &network {
            None => engines.arguments.clone(),
            Some(network) => engines.at(network.engines()).await?,
        };
        let nodes = Nodes::start(
            &settings.program,
            folder,
            arguments,
            network,
            settings.nodes,
            settings.counts_instructions,
        );
        let nodes = nodes.await?;
        let mut addresses = nodes.addresses.clone();
        let gateway = match settings.balancer {
            BalancerKind::Own => None,
            kind => {
                let gateway = Gateway::start(kind, folder, &addresses).await?;
                let Some(gateway) = gateway else {
                    install::tell_left_out(&kind.to_string(), "it is not installed");
                    return Ok(None);
                };
                addresses = vec![gateway.address];
                Some(gateway)
            }
        };
        let listener = Balancer::<Self>::listen().await?;
        let address: SocketAddr = listener.local_addr()?;
        let scene = Arc::new(Self {
            nodes,
            engines: Arc::new(Mutex::new(engines)),
            trouble: settings.trouble,
            engine_failures: AtomicU64::new(0),
            gateway,
            is_calm: settings.is_calm,
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
            url: format!("http://{address}/mcp"),
            calls: Mutex::default(),
            log: folder.join("calls.log"),
            cuts: AtomicU64::new(0),
            dice: AtomicU64::new(settings.seed),
        });
        Balancer::serve(listener, addresses, Arc::clone(&scene));
        Ok(Some(scene))
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, CallState>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the engines have not failed yet.
    fn waits_for_failure(&self) -> bool {
        self.trouble != EngineTrouble::default()
            && self.engine_failures.load(Ordering::Relaxed) == 0
            && self.begun.elapsed() < FIRST_FAILURE
    }

    fn write_down(&self, line: &str) -> io::Result<()> {
        let mut log = fs::OpenOptions::new();
        let mut log = log.append(true).create(true).open(&self.log)?;
        log.write_all(line.as_bytes())
    }

    fn call<T>(&self, name: &str, change: impl FnOnce(&mut CallState) -> T) -> Option<T> {
        self.calls().get_mut(name).map(change)
    }

    fn below(&self, bound: u64) -> u64 {
        let next = |dice: u64| {
            dice.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let drawn = self
            .dice
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| Some(next(it)));
        (next(drawn.unwrap_or_else(|it| it)) >> 33) % bound
    }

    /// Returns the moments of a call at which to kill processes. Concurrent calls see these deaths, too.
    fn plan(&self, kind: Kind) -> Vec<Moment> {
        if self.is_calm {
            return Vec::new();
        }
        let moments = [
            Moment::Asked(1),
            Moment::Asked(2),
            Moment::Asked(3),
            Moment::Asking,
            Moment::Resuming,
            Moment::Working,
            // Other clients resend neither an answer nor a call.
            Moment::Answering,
            Moment::Calling,
        ];
        let most = match (kind.resends(), kind.revision == Revision::LATEST) {
            (true, _) => moments.len(),
            (false, false) => 6,
            // These clients do not resume between rounds, either.
            (false, true) => 3,
        };
        let count = self.below(3);
        let mut plan: Vec<_> = (0..count)
            .map(|_| moments[self.below(most as u64) as usize])
            .collect();
        plan.dedup();
        plan
    }

    fn is_now(&self, name: &str, moment: Moment) -> bool {
        let remove = |call: &mut CallState| {
            let at = call.moments.iter().position(|planned| *planned == moment);
            at.map(|at| call.moments.remove(at)).is_some()
        };
        self.call(name, remove).unwrap_or_default()
    }

    /// Kills some processes, including `also`. Behind HAProxy or nginx that process is not known, so the choice is random.
    async fn kill(&self, also: Option<usize>) {
        let count = self.nodes.addresses.len();
        let also = also.filter(|_| self.gateway.is_none());
        let first = also.unwrap_or_else(|| self.below(count as u64) as usize);
        let dying = 1 + self.below(count as u64) as usize;
        let dying: Vec<_> = (0..dying).map(|at| (first + at) % count).collect();
        if let Err(error) = self.nodes.kill(&dying).await {
            eprintln!("a process could not be killed or started: {error}");
        }
    }

    /// Returns the owners of bookings, by the address for the tickets.
    fn bookings(&self) -> io::Result<HashMap<String, Vec<String>>> {
        let mut bookings: HashMap<_, Vec<_>> = HashMap::new();
        for file in self.nodes.bookings() {
            let text = match fs::read_to_string(file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                text => text?,
            };
            for line in text.lines() {
                // A line may have been cut off.
                let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
                let owner = line["owner"]["subject"].as_str().unwrap_or_default();
                if let Some(email) = line["contact"]["email"].as_str() {
                    let owners = bookings.entry(email.to_owned()).or_default();
                    owners.push(owner.to_owned());
                }
            }
        }
        Ok(bookings)
    }
}

impl Person for Guest {
    async fn asked(&self) {
        let count = |call: &mut CallState| {
            call.asked += 1;
            call.asked
        };
        let asked = self.scene.call(&self.name, count).unwrap_or_default();
        if self.scene.is_now(&self.name, Moment::Asked(asked)) {
            self.scene.kill(None).await;
        }
    }
}

impl Observer for Scene {
    fn passes(self: &Arc<Self>, call: &str, what: Passing, node: usize) {
        let (moment, soon) = match what {
            Passing::AnswerTaken => {
                self.call(call, |call| call.answered = Some(Instant::now()));
                (Moment::Working, 30)
            }
            Passing::AnswerCut => {
                self.cuts.fetch_add(1, Ordering::Relaxed);
                self.call(call, |call| call.cuts += 1);
                return;
            }
            Passing::Broken => {
                self.call(call, |call| {
                    call.broken += 1;
                    call.broken_at = Some(Instant::now());
                });
                return;
            }
            Passing::Resume => (Moment::Resuming, 10),
            Passing::Answer => (Moment::Answering, 10),
            Passing::Call => (Moment::Calling, 30),
            Passing::Listen | Passing::Other => return,
        };
        if self.is_now(call, moment) {
            let me = Arc::clone(self);
            tokio::spawn(async move {
                sleep(Duration::from_millis(me.below(soon))).await;
                me.kill(Some(node)).await;
            });
        }
    }

    async fn asks(self: &Arc<Self>, call: &str, node: usize) -> bool {
        let is_now = self.is_now(call, Moment::Asking);
        if is_now {
            self.kill(Some(node)).await;
        }
        is_now
    }
}

pub use self::{
    cost::{Cost, measure},
    engines::{BalancerKind, BusKind, EngineTrouble, JournalKind},
    load::{Load, roll, soak},
    server::serve,
};
