//! The chaos program (`lab/src/bin/chaos.rs`): processes of a fleet die while clients are asked, and nothing is lost.
//!
//! Three processes of the travel agency share one file, behind a balancer without affinity. Each call is a booking in the
//! name of its own address, so the list of bookings shows what was lost, booked twice, or booked for somebody else.

#![allow(
    clippy::print_stderr,
    reason = "what happens is for the person who started the program"
)]

mod balancer;
mod clients;
mod load;
mod nodes;

use std::{
    collections::HashMap,
    fmt, fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use askback::Revision;
use tokio::time::sleep;

use self::{
    balancer::{Balancer, Observer, Passing},
    clients::{Kind, Outcome, Person},
    nodes::Nodes,
};

/// What is tried.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many calls each kind of client makes.
    pub calls: u64,
    /// How many processes there are.
    pub nodes: usize,
    /// The agency's program.
    pub server: PathBuf,
    /// Where the processes keep what they share.
    pub folder: PathBuf,
    /// Interpreters of Python with the SDK.
    pub pythons: Vec<PathBuf>,
    /// The interpreter of JavaScript.
    pub node: PathBuf,
    /// Folders with the SDK for TypeScript in `node_modules`.
    pub typescripts: Vec<PathBuf>,
    /// The seed of what is drawn.
    pub seed: u64,
}

/// The outcome of all calls.
#[derive(Debug, Default)]
pub struct Tally {
    calls: u64,
    deaths: u64,
    lost: u64,
    twice: u64,
    wrong_owner: u64,
    /// Calls that ended before their first question.
    before: u64,
    /// Calls that a process left in the middle of their commit.
    unknown: u64,
    /// Calls whose client has given up.
    given_up: u64,
    recoveries: Vec<Duration>,
}

impl Tally {
    /// Whether nothing went wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.lost + self.twice + self.wrong_owner == 0
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
        write!(
            f,
            "{} deaths, {} lost, {} twice, {} wrong owner, median recovery {:.2} s (99 %: {:.2} s, longest: {:.2} s) in {} calls",
            self.deaths,
            self.lost,
            self.twice,
            self.wrong_owner,
            at(50),
            at(99),
            at(100),
            self.calls
        )?;
        write!(
            f,
            "; {} ended before their first question, {} in the middle of their commit, {} given up by their client",
            self.before, self.unknown, self.given_up
        )
    }
}

/// Calls with each kind of client, one after the other, while processes die.
///
/// # Errors
///
/// If a process or a client cannot be started.
pub async fn run(settings: &Settings) -> io::Result<Tally> {
    let mut kinds = vec![
        Kind::Own(Revision::V2025_11_25),
        Kind::Own(Revision::LATEST),
    ];
    kinds.extend(settings.pythons.iter().cloned().map(Kind::Python));
    for folder in &settings.typescripts {
        kinds.push(Kind::TypeScript(settings.node.clone(), folder.clone()));
    }
    let mut all = Tally::default();
    for (number, kind) in kinds.iter().enumerate() {
        let folder = settings.folder.join(format!("{number}"));
        fs::create_dir_all(&folder)?;
        let tally = with_kind(settings, kind, &folder).await?;
        eprintln!("{}: {tally}", kind.name());
        all.add(tally);
    }
    Ok(all)
}

async fn with_kind(settings: &Settings, kind: &Kind, folder: &Path) -> io::Result<Tally> {
    let scene = Scene::begin(settings, folder).await?;
    let mut options = fs::OpenOptions::new();
    let log = options
        .append(true)
        .create(true)
        .open(folder.join("client.log"))?;
    let mut caller = kind.start(log)?;
    let mut tally = Tally::default();
    let mut booked = Vec::new();
    for number in 0..settings.calls {
        let email = format!("call-{number}@example.com");
        let plan = scene.plan(kind.resends());
        let planned = format!("{plan:?}");
        *scene.call() = CallState {
            moments: plan,
            ..CallState::default()
        };
        let begun = Instant::now();
        let outcome = caller.call(&scene.url, &email, &scene).await;
        let ended = Instant::now();
        tally.calls += 1;
        let (asked, is_cut, answered) = {
            let call = scene.call();
            (call.asked, call.cuts > 0, call.answered)
        };
        match outcome {
            Outcome::Text(text) if text.contains(&email) => {
                booked.push(email);
                let death = scene.nodes.last_death().filter(|death| *death > begun);
                let since = death.map(|death| answered.map_or(death, |at| at.max(death)));
                tally.recoveries.extend(since.map(|since| ended - since));
            }
            Outcome::Text(text) => {
                eprintln!("call {number} has the result of another: {text}");
                tally.wrong_owner += 1;
            }
            Outcome::Failed(why) if why.contains("outcome is unknown") => tally.unknown += 1,
            Outcome::Failed(_) if asked == 0 => tally.before += 1,
            // It says that it does not know.
            Outcome::Failed(_) if is_cut => tally.given_up += 1,
            Outcome::Failed(why) => {
                eprintln!(
                    "call {number} is lost after {asked} questions, {planned}, cut: {is_cut}: {why}"
                );
                tally.lost += 1;
            }
        }
        scene.nodes.are_up().await?;
    }
    let bookings = scene.bookings()?;
    tally.twice = bookings.values().filter(|times| **times > 1).count() as u64;
    for email in booked {
        if !bookings.contains_key(&email) {
            eprintln!("{email} has a result and no booking");
            tally.lost += 1;
        }
    }
    tally.deaths = scene.nodes.deaths.load(Ordering::Relaxed);
    Ok(tally)
}

/// When processes die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// A person has this question.
    Asked(u32),
    /// A process has taken an answer, and works.
    Working,
    /// A client comes back.
    Resuming,
    /// An answer is on its way.
    Answering,
    /// A call has begun.
    Calling,
}

/// The call that goes on.
#[derive(Default)]
struct CallState {
    moments: Vec<Moment>,
    asked: u32,
    /// When the last answer was taken.
    answered: Option<Instant>,
    /// How many answers did not reach a process that lived long enough to take them.
    cuts: u64,
}

/// The processes with the balancer before them, and the person who is asked.
struct Scene {
    nodes: Nodes,
    url: String,
    call: Mutex<CallState>,
    dice: AtomicU64,
}

impl Scene {
    async fn begin(settings: &Settings, folder: &Path) -> io::Result<Arc<Self>> {
        let nodes = Nodes::start(&settings.server, folder, settings.nodes).await?;
        let addresses = nodes.addresses.clone();
        let listener = Balancer::<Self>::listen().await?;
        let address: SocketAddr = listener.local_addr()?;
        let scene = Arc::new(Self {
            nodes,
            url: format!("http://{address}/mcp"),
            call: Mutex::default(),
            dice: AtomicU64::new(settings.seed),
        });
        Balancer::serve(listener, addresses, Arc::clone(&scene));
        Ok(scene)
    }

    fn call(&self) -> MutexGuard<'_, CallState> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The moments of a call in which processes die.
    fn plan(&self, resends: bool) -> Vec<Moment> {
        let moments = [
            Moment::Asked(1),
            Moment::Asked(2),
            Moment::Working,
            Moment::Resuming,
            // In a session, neither an answer nor a call is sent again.
            Moment::Answering,
            Moment::Calling,
        ];
        let most = if resends { moments.len() } else { 4 };
        let count = 1 + self.below(2);
        let mut plan: Vec<_> = (0..count)
            .map(|_| moments[self.below(most as u64) as usize])
            .collect();
        plan.dedup();
        plan
    }

    /// Whether processes die now.
    fn is_now(&self, moment: Moment) -> bool {
        let mut call = self.call();
        let at = call.moments.iter().position(|planned| *planned == moment);
        at.map(|at| call.moments.remove(at)).is_some()
    }

    /// Kills some processes, among them this one.
    async fn kill(&self, also: Option<usize>) {
        let count = self.nodes.addresses.len();
        let first = also.unwrap_or_else(|| self.below(count as u64) as usize);
        let dying = 1 + self.below(count as u64) as usize;
        let dying: Vec<_> = (0..dying).map(|at| (first + at) % count).collect();
        if let Err(error) = self.nodes.kill(&dying).await {
            eprintln!("a process could not be killed or started: {error}");
        }
    }

    /// How often each address has a booking.
    fn bookings(&self) -> io::Result<HashMap<String, u64>> {
        let text = match fs::read_to_string(self.nodes.bookings()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        let mut bookings = HashMap::new();
        for line in text.lines() {
            // A line may have been cut short.
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(email) = line["contact"]["email"].as_str() {
                *bookings.entry(email.to_owned()).or_default() += 1;
            }
        }
        Ok(bookings)
    }
}

impl Person for Scene {
    async fn asked(&self) {
        let asked = {
            let mut call = self.call();
            call.asked += 1;
            call.asked
        };
        if self.is_now(Moment::Asked(asked)) {
            self.kill(None).await;
        }
    }
}

impl Observer for Scene {
    fn passes(self: &Arc<Self>, what: Passing, node: usize) {
        let (moment, soon) = match what {
            Passing::AnswerTaken => {
                self.call().answered = Some(Instant::now());
                (Moment::Working, 30)
            }
            Passing::AnswerCut => {
                self.call().cuts += 1;
                return;
            }
            Passing::Resume => (Moment::Resuming, 10),
            Passing::Answer => (Moment::Answering, 10),
            Passing::Call => (Moment::Calling, 30),
            Passing::Other => return,
        };
        if self.is_now(moment) {
            let me = Arc::clone(self);
            tokio::spawn(async move {
                sleep(Duration::from_millis(me.below(soon))).await;
                me.kill(Some(node)).await;
            });
        }
    }
}

pub use self::load::{Load, roll, soak};
