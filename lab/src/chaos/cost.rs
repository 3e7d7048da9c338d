//! What calls cost the processes and PostgreSQL.

use std::{
    fmt, fs, io,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use askback::Revision;
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use super::{
    Scene, Settings,
    clients::{OwnClient, connect},
    load::{Ready, begin},
};

/// How many calls without a question are made for each call with one, because they cost so little.
const PLAIN: u64 = 10;

/// How long the processes are measured without calls.
const IDLE: Duration = Duration::from_secs(10);

/// The statements without those that count them.
const STATEMENTS: &str = "SELECT calls, round(total_exec_time::numeric, 1), left(regexp_replace(query, '\\s+', ' ', 'g'), 100) \
    FROM pg_stat_statements WHERE userid = 'vault'::regrole ORDER BY calls DESC";

/// The cost of calls of one kind, or of a pause without calls.
#[derive(Debug)]
struct Phase {
    name: &'static str,
    calls: u64,
    failed: u64,
    took: Duration,
    median: Duration,
    /// In hundredths of a second.
    processor_time: u64,
    sleeps: u64,
    /// If they are counted.
    instructions: Option<u64>,
    hints: u64,
    statements: u64,
    /// The time of PostgreSQL for the statements, in milliseconds.
    executed: f64,
}

/// The costs of a run.
#[derive(Debug)]
pub struct Cost {
    nodes: usize,
    phases: Vec<Phase>,
}

impl Cost {
    /// Whether all calls had a result.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.phases.iter().all(|phase| phase.failed == 0)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for phase in &self.phases {
            let each = phase.calls.max(1) as f64;
            writeln!(
                f,
                "{} processes, {}: {} calls ({} failed) in {:.1} s, median {:.2} ms; a call (or the pause) {:.3} ms of \
                 processor time, {:.2} sleeps of a thread, {:.2} hints, {:.2} statements, {:.3} ms in PostgreSQL",
                self.nodes,
                phase.name,
                phase.calls,
                phase.failed,
                phase.took.as_secs_f64(),
                phase.median.as_secs_f64() * 1e3,
                phase.processor_time as f64 * 10.0 / each,
                phase.sleeps as f64 / each,
                phase.hints as f64 / each,
                phase.statements as f64 / each,
                phase.executed / each,
            )?;
        }
        let pause = self.phases.iter().find(|phase| phase.calls == 0);
        let a_second = |phase: &Phase| Some(phase.instructions? as f64 / phase.took.as_secs_f64());
        let Some(idle) = pause.and_then(a_second) else {
            return Ok(());
        };
        writeln!(
            f,
            "{} processes, a pause: {:.1} million instructions a second",
            self.nodes,
            idle / 1e6,
        )?;
        for phase in self.phases.iter().filter(|phase| phase.calls > 0) {
            let all = phase.instructions.unwrap_or_default() as f64;
            let of_calls = all - idle * phase.took.as_secs_f64();
            writeln!(
                f,
                "{} processes, {}: {:.1} thousand instructions a call, without those of a pause that is as long",
                self.nodes,
                phase.name,
                of_calls / phase.calls as f64 / 1e3,
            )?;
        }
        Ok(())
    }
}

/// Measures a pause, calls that ask nothing, and calls with one question, in sessions. For each process, as many calls run
/// at once as the settings say, so that runs with other numbers of processes can be compared.
///
/// # Errors
///
/// If a process cannot be started, or a client cannot connect.
pub async fn measure(settings: &Settings) -> io::Result<Cost> {
    let folder = settings.folder.join("cost");
    fs::create_dir_all(&folder)?;
    let mut settings = settings.clone();
    settings.counts_statements = true;
    settings.is_calm = true;
    let scene = begin(&settings, &folder).await?;
    // Without our own balancer in between.
    let gateway = scene.gateway.as_ref();
    let url = gateway.map(|gateway| format!("http://{}/mcp", gateway.address));
    let url = url.unwrap_or_else(|| scene.url.clone());
    let revision = match settings.is_stateless {
        true => Revision::LATEST,
        false => Revision::V2025_11_25,
    };
    let mut clients = Vec::new();
    for number in 0..settings.at_once * settings.nodes {
        let person = Arc::new(Ready::default());
        let name = format!("cost-{number}");
        let client = connect(&url, revision, &name, &person).await;
        clients.push(Arc::new(client.map_err(io::Error::other)?));
    }
    // Each process opens each session, and begins to watch the journal.
    let warm = (clients.len() * settings.nodes * 20) as u64;
    for tool in ["hello", "greet"] {
        call_all(&clients, tool, warm).await?;
    }
    let mut phases = Vec::new();
    for (name, tool, calls) in [
        ("a pause", None, 0),
        ("without a question", Some("hello"), PLAIN * settings.calls),
        ("with a question", Some("greet"), settings.calls),
    ] {
        ask(&scene, "SELECT pg_stat_statements_reset()").await?;
        let (hints, processor_time) = (scene.nodes.hints(), scene.nodes.processor_time()?);
        let sleeps = scene.nodes.sleeps()?;
        scene.nodes.take_instructions().await?;
        let begun = Instant::now();
        let (failed, mut times) = match tool {
            Some(tool) => call_all(&clients, tool, calls).await?,
            None => {
                sleep(IDLE).await;
                (0, Vec::new())
            }
        };
        let took = begun.elapsed();
        let instructions = scene.nodes.take_instructions().await?;
        let processor_time = scene.nodes.processor_time()? - processor_time;
        let sleeps = scene.nodes.sleeps()? - sleeps;
        let hints = scene.nodes.hints() - hints;
        let text = ask(&scene, STATEMENTS).await?;
        fs::write(folder.join(format!("statements of {name}")), &text)?;
        let column = |at: usize| {
            let lines = text.lines();
            let values = lines.filter_map(move |line| line.split(' ').nth(at)?.parse::<f64>().ok());
            values.sum::<f64>()
        };
        times.sort();
        phases.push(Phase {
            name,
            calls: times.len() as u64,
            failed,
            took,
            median: times.get(times.len() / 2).copied().unwrap_or_default(),
            processor_time,
            sleeps,
            instructions,
            hints,
            statements: column(0) as u64,
            executed: column(1),
        });
    }
    Ok(Cost {
        nodes: settings.nodes,
        phases,
    })
}

async fn ask(scene: &Arc<Scene>, query: &'static str) -> io::Result<String> {
    let engines = Arc::clone(&scene.engines);
    let ask = move || {
        let engines = engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.ask(query)
    };
    tokio::task::spawn_blocking(ask).await?
}

/// Makes this many calls with all clients at once. Returns how many failed, and how long each took.
async fn call_all(
    clients: &[Arc<OwnClient>],
    tool: &'static str,
    calls: u64,
) -> io::Result<(u64, Vec<Duration>)> {
    let begun = Arc::new(AtomicU64::new(0));
    let mut calling = JoinSet::new();
    for client in clients {
        let (client, begun) = (Arc::clone(client), Arc::clone(&begun));
        calling.spawn(async move {
            let (mut failed, mut times) = (0, Vec::new());
            while begun.fetch_add(1, Ordering::Relaxed) < calls {
                let at = Instant::now();
                if let Err(why) = client.tool(tool, json!({})).await {
                    eprintln!("{tool}: {why}");
                    failed += 1;
                }
                times.push(at.elapsed());
            }
            (failed, times)
        });
    }
    let (mut failed, mut times) = (0, Vec::new());
    for (failures, of_client) in calling.join_all().await {
        failed += failures;
        times.extend(of_client);
    }
    Ok((failed, times))
}
