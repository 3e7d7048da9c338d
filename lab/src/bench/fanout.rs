//! The cost of change notifications, and of calls made at the same time.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep},
};

use super::{
    Effort, Peer, Sample,
    client::Client,
    http::{message, open_session, unexpected},
    memory::stream,
    process::{Programs, REST, Running},
    report::tell,
    requests::{Way, call, listen, post},
};

/// The number of sessions that do not watch the changed resource.
const SESSIONS: usize = 30_000;

const CHANGES: usize = 1000;

/// The number of listeners that watch the changes while other clients call.
const LISTENERS: usize = 10_000;

const PERIOD: Duration = Duration::from_millis(10);

const SPAN: Duration = Duration::from_secs(3);
const CONNECTIONS: &[usize] = &[1, 16];

/// Measures a change inside its handler, and calls during changes.
pub(super) fn measure(programs: &Programs, effort: Effort) -> io::Result<Vec<Sample>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut samples = Vec::new();
    for round in 1..=effort.rounds {
        for (peer, sessions) in [(Peer::AskbackAlone, 0), (Peer::Askback, SESSIONS)] {
            tell(&format!("round {round}: changes, {sessions} sessions"));
            let server = programs.fanout()?;
            samples.push(Sample {
                what: format!("change without watchers, {SESSIONS} sessions"),
                peer,
                unit: "change, µs",
                value: runtime.block_on(unwatched(&server, sessions))?,
            });
        }
        for &connections in CONNECTIONS {
            for peer in [Peer::AskbackAlone, Peer::Askback] {
                tell(&format!(
                    "round {round}: {LISTENERS} listeners, {connections} call"
                ));
                let server = programs.fanout()?;
                let changes = peer == Peer::Askback;
                let calls = runtime.block_on(beside(&server, connections, changes))?;
                samples.push(Sample {
                    what: format!("next to {LISTENERS} listeners, {connections}"),
                    peer,
                    unit: "calls",
                    value: calls as f64,
                });
            }
        }
    }
    Ok(samples)
}

/// Returns the median microseconds of a change without watchers.
async fn unwatched(server: &Running, sessions: usize) -> io::Result<f64> {
    let address = server.address()?;
    let mut client = Client::connect(address).await?;
    for _ in 0..sessions {
        open_session(&mut client, address).await?;
    }
    let request = change(address, json!({"uri": "bench://page"}));
    let mut micros = Vec::new();
    for _ in 0..CHANGES {
        let nanoseconds = told(&mut client, &request).await?;
        micros.push(nanoseconds as f64 / 1e3);
    }
    micros.sort_by(f64::total_cmp);
    Ok(micros[CHANGES / 2])
}

/// Counts the calls made while listeners are connected, with or without changes.
async fn beside(server: &Running, connections: usize, changes: bool) -> io::Result<u64> {
    let address = server.address()?;
    let request = post(address, Way::Json, None, &listen());
    let heard = Arc::new(AtomicU64::new(0));
    let mut listeners = JoinSet::new();
    for _ in 0..LISTENERS {
        let mut client = stream(address, &request).await?;
        let heard = Arc::clone(&heard);
        listeners.spawn(async move {
            while let Ok(Some(_)) = client.chunk().await {
                heard.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    sleep(REST).await;
    let mut changing = JoinSet::new();
    if changes {
        let mut client = Client::connect(address).await?;
        let request = change(address, json!({}));
        changing.spawn(async move {
            let mut turns = interval(PERIOD);
            turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                turns.tick().await;
                if let Err(error) = told(&mut client, &request).await {
                    return error;
                }
            }
        });
    }
    let calls = calls(address, connections).await?;
    if let Some(stopped) = changing.try_join_next() {
        return Err(stopped.map_err(io::Error::other)?);
    }
    let heard = heard.load(Ordering::Relaxed);
    if changes && heard < LISTENERS as u64 {
        let why = format!("{LISTENERS} listeners heard of {heard} changes");
        return Err(io::Error::other(why));
    }
    Ok(calls)
}

async fn calls(address: SocketAddr, connections: usize) -> io::Result<u64> {
    let request = post(
        address,
        Way::Json,
        None,
        &call(Way::Json, "echo", &Value::Null),
    );
    let request: Arc<[u8]> = request.into();
    let until = Instant::now() + SPAN;
    let mut callers = JoinSet::new();
    for _ in 0..connections {
        let mut client = Client::connect(address).await?;
        let request = Arc::clone(&request);
        callers.spawn(async move {
            let mut count = 0;
            while Instant::now() < until {
                client.exchange(&request).await?;
                count += 1;
            }
            io::Result::Ok(count)
        });
    }
    let mut calls = 0;
    while let Some(counted) = callers.join_next().await {
        calls += counted.map_err(io::Error::other)??;
    }
    Ok(calls)
}

fn change(address: SocketAddr, arguments: Value) -> Vec<u8> {
    let call = call(Way::Json, "change", &json!({ "arguments": arguments }));
    post(address, Way::Json, None, &call)
}

/// Makes a change. Returns the nanoseconds that the server reports for it.
async fn told(client: &mut Client, request: &[u8]) -> io::Result<u64> {
    let (head, body) = client.exchange(request).await?;
    let answer: Value = serde_json::from_slice(message(&body))?;
    let text = answer["result"]["content"][0]["text"].as_str();
    let nanoseconds = text.and_then(|text| text.parse().ok());
    nanoseconds.ok_or_else(|| unexpected(head.status, &body))
}
