//! Calls and questions over HTTP, and the server's CPU time for them.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    Effort, Peer, Sample,
    client::{Client, find},
    process::{Programs, Running},
    requests::{Way, bare, call, initialize, initialized, post},
};

const CONNECTIONS: &[usize] = &[1, 16, 64, 256];

/// The number of connections to the servers with other SDKs.
const SDK_CONNECTIONS: &[usize] = &[1, 16];

/// The number of connections with questions.
const ASKING: &[usize] = &[1, 64];

const WARM_UP: Duration = Duration::from_millis(300);

enum Task {
    Call(Vec<u8>),
    /// A question in the stateless era: the tool is called twice.
    AskModern(SocketAddr),
    /// A question on a session: it is answered while the call waits.
    AskSession(SocketAddr, String, Vec<u8>),
}

struct Load {
    count: u64,
    seconds: f64,
    /// The duration of each exchange in microseconds, sorted.
    micros: Vec<f64>,
}

pub(super) fn measure(programs: &Programs, effort: Effort) -> io::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for round in 1..=effort.rounds {
        for way in [Way::Json, Way::Events, Way::Session] {
            for &connections in CONNECTIONS {
                for peer in callers(programs, way, connections) {
                    told(round, way.name(), connections, peer);
                    let server = programs.http(peer)?;
                    let load = load(&server, peer, way, false, connections, effort.span);
                    let (load, spent) = runtime.block_on(load)?;
                    let what = format!("{}, {connections}", way.name());
                    samples.extend(described("tools/call", &what, peer, &load, spent));
                }
            }
        }
        for way in [Way::Json, Way::Session] {
            for &connections in ASKING {
                for peer in [Peer::Rmcp, Peer::RmcpNoDelay, Peer::Askback] {
                    told(round, "questions", connections, peer);
                    let server = programs.http(peer)?;
                    let load = load(&server, peer, way, true, connections, effort.span);
                    let (load, spent) = runtime.block_on(load)?;
                    let era = if way == Way::Session {
                        "session"
                    } else {
                        "modern"
                    };
                    let what = format!("{era}, {connections}");
                    samples.extend(described("elicitation", &what, peer, &load, spent));
                }
            }
        }
    }
    Ok(samples)
}

/// Returns the servers to call in this way. The bare handler only knows one.
fn callers(programs: &Programs, way: Way, connections: usize) -> Vec<Peer> {
    let rmcp = if way == Way::Json {
        Peer::RmcpJson
    } else {
        Peer::RmcpNoDelay
    };
    let mut callers = vec![Peer::Floor, rmcp, Peer::Askback];
    if way == Way::Json && SDK_CONNECTIONS.contains(&connections) {
        callers.extend(programs.sdks());
    }
    callers
}

fn told(round: usize, what: &str, connections: usize, peer: Peer) {
    super::report::tell(&format!(
        "round {round}: {what}, {connections} connections, {}",
        peer.name()
    ));
}

fn described(kind: &str, what: &str, peer: Peer, load: &Load, spent: Duration) -> Vec<Sample> {
    let sample = |unit, value| Sample {
        what: format!("{kind}, {what}"),
        peer,
        unit,
        value,
    };
    let at = |part: f64| {
        let last = load.micros.len().saturating_sub(1);
        let at = (last as f64 * part) as usize;
        load.micros.get(at).copied().unwrap_or_default()
    };
    vec![
        sample("per second", load.count as f64 / load.seconds),
        sample("p50, µs", at(0.5)),
        sample("p99, µs", at(0.99)),
        sample(
            "processor, µs",
            spent.as_secs_f64() * 1e6 / load.count as f64,
        ),
    ]
}

async fn load(
    server: &Running,
    peer: Peer,
    way: Way,
    asks: bool,
    connections: usize,
    span: Duration,
) -> io::Result<(Load, Duration)> {
    let address = server.address()?;
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(begin(address, peer, way, asks).await?);
    }
    let until = Instant::now() + WARM_UP;
    let clients = drive(clients, until, None).await?.0;
    let before = server.processor_time()?;
    let begun = Instant::now();
    let mut micros = Vec::new();
    let (clients, count) = drive(clients, begun + span, Some(&mut micros)).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let spent = server.processor_time()? - before;
    drop(clients);
    micros.sort_by(f64::total_cmp);
    let load = Load {
        count,
        seconds,
        micros,
    };
    Ok((load, spent))
}

pub(super) async fn exchange(
    server: &Running,
    peer: Peer,
    way: Way,
    asks: bool,
    connections: usize,
    exchanges: u64,
) -> io::Result<()> {
    let address = server.address()?;
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (mut client, mut task) = begin(address, peer, way, asks).await?;
        tasks.spawn(async move {
            for _ in 0..exchanges {
                task.run(&mut client).await?;
            }
            io::Result::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(io::Error::other)??;
    }
    Ok(())
}

/// Opens a connection, with a session if the way needs one.
async fn begin(
    address: SocketAddr,
    peer: Peer,
    way: Way,
    asks: bool,
) -> io::Result<(Client, Task)> {
    let mut client = Client::connect(address).await?;
    let session = if way == Way::Session && peer != Peer::Floor {
        Some(open_session(&mut client, address).await?)
    } else {
        None
    };
    // rmcp requires that both content types are accepted, and then chooses an event stream.
    let way = if peer == Peer::RmcpNoDelay && way == Way::Events {
        Way::Json
    } else {
        way
    };
    let tool = if asks { "ask" } else { "echo" };
    let request = post(
        address,
        way,
        session.as_deref(),
        &call(way, tool, &Value::Null),
    );
    let task = match (asks, session) {
        (false, _) => Task::Call(request),
        (true, Some(session)) => Task::AskSession(address, session, request),
        (true, None) => Task::AskModern(address),
    };
    Ok((client, task))
}

pub(super) async fn open_session(client: &mut Client, address: SocketAddr) -> io::Result<String> {
    let request = post(address, Way::Session, None, &initialize());
    let (head, _) = client.exchange(&request).await?;
    let session = head.session.ok_or_else(|| io::Error::other("no session"))?;
    let request = post(address, Way::Session, Some(&session), &initialized());
    client.exchange(&request).await?;
    Ok(session)
}

pub(super) async fn end_session(
    client: &mut Client,
    address: SocketAddr,
    session: &str,
) -> io::Result<()> {
    let request = bare("DELETE", address, Some(session));
    client.exchange(&request).await.map(|_| ())
}

type Driven = (Vec<(Client, Task)>, u64);

async fn drive(
    clients: Vec<(Client, Task)>,
    until: Instant,
    micros: Option<&mut Vec<f64>>,
) -> io::Result<Driven> {
    let mut tasks = JoinSet::new();
    for (mut client, mut task) in clients {
        tasks.spawn(async move {
            let mut micros = Vec::new();
            while Instant::now() < until {
                let begun = Instant::now();
                task.run(&mut client).await?;
                micros.push(begun.elapsed().as_secs_f64() * 1e6);
            }
            io::Result::Ok((client, task, micros))
        });
    }
    let mut clients = Vec::new();
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let (client, task, micros) = done.map_err(io::Error::other)??;
        clients.push((client, task));
        all.extend(micros);
    }
    let count = all.len() as u64;
    if let Some(micros) = micros {
        *micros = all;
    }
    Ok((clients, count))
}

impl Task {
    async fn run(&mut self, client: &mut Client) -> io::Result<()> {
        match self {
            Self::Call(request) => {
                let (head, body) = client.exchange(request).await?;
                expect(head.status, &body, b"Hello, world!")
            }
            Self::AskModern(address) => ask_modern(client, *address).await,
            Self::AskSession(address, session, request) => {
                ask_on_session(client, *address, session, request).await
            }
        }
    }
}

async fn ask_modern(client: &mut Client, address: SocketAddr) -> io::Result<()> {
    let first = call(Way::Json, "ask", &Value::Null);
    let (head, body) = client
        .exchange(&post(address, Way::Json, None, &first))
        .await?;
    expect(head.status, &body, b"user_name")?;
    let asked: Value = serde_json::from_slice(message(&body))?;
    let more = json!({
        "requestState": asked["result"]["requestState"],
        "inputResponses": {"user_name": {"action": "accept", "content": {"name": "Ada"}}},
    });
    let second = call(Way::Json, "ask", &more);
    let (head, body) = client
        .exchange(&post(address, Way::Json, None, &second))
        .await?;
    expect(head.status, &body, b"Hello, Ada!")
}

async fn ask_on_session(
    client: &mut Client,
    address: SocketAddr,
    session: &str,
    request: &[u8],
) -> io::Result<()> {
    let head = client.begin(request).await?;
    let mut told = Vec::new();
    let asked: Value = loop {
        let chunk = client.chunk().await?;
        told.extend(chunk.ok_or_else(|| unexpected(head.status, &told))?);
        // The event may arrive in pieces.
        if find(&told, b"elicitation/create").is_some()
            && let Ok(asked) = serde_json::from_slice(message(&told))
        {
            break asked;
        }
    };
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    let answer = post(address, Way::Session, Some(session), &answer);
    let mut beside = Client::connect(address).await?;
    beside.exchange(&answer).await?;
    told.clear();
    while let Some(chunk) = client.chunk().await? {
        told.extend(chunk);
    }
    expect(head.status, &told, b"Hello, Ada!")
}

/// Returns the message in a body: the body itself, or the last event with a message.
pub(super) fn message(body: &[u8]) -> &[u8] {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = events.map(str::trim).rfind(|data| data.starts_with('{'));
    last.unwrap_or(text).as_bytes()
}

fn expect(status: u16, body: &[u8], what: &[u8]) -> io::Result<()> {
    if status == 200 && find(body, what).is_some() {
        Ok(())
    } else {
        Err(unexpected(status, body))
    }
}

pub(super) fn unexpected(status: u16, body: &[u8]) -> io::Error {
    let body = String::from_utf8_lossy(body);
    io::Error::other(format!("answered {status}: {body}"))
}
