//! The memory of idle sessions and open streams.

use std::{io, net::SocketAddr};

use super::{
    Effort, Peer, Sample,
    client::Client,
    http::{end_session, open_session},
    process::{Programs, REST, Running},
    requests::{Way, bare, listen, post},
};

pub(super) fn measure(programs: &Programs, effort: Effort) -> io::Result<Vec<Sample>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut samples = Vec::new();
    for &count in effort.open {
        for peer in [Peer::Rmcp, Peer::Askback] {
            super::report::tell(&format!("{count} sessions, {}", peer.name()));
            let server = programs.http(peer)?;
            let kib = runtime.block_on(sessions(&server, count))?;
            samples.extend(described("session", count, peer, kib));
        }
        for peer in [Peer::Floor, Peer::Rmcp, Peer::Askback] {
            super::report::tell(&format!("{count} streams, {}", peer.name()));
            let server = programs.http(peer)?;
            let kib = runtime.block_on(streams(&server, peer, count))?;
            samples.extend(described("stream", count, peer, kib));
        }
    }
    Ok(samples)
}

/// The server's memory before, during and after, and when the same number is open again. Memory that remains afterwards
/// may be leaked, or just not returned to the system yet.
type Used = [f64; 4];

fn described(what: &str, count: usize, peer: Peer, used: Used) -> Vec<Sample> {
    let [before, open, after, again] = used;
    let sample = |what: String, kib: f64| Sample {
        what,
        peer,
        unit: "KiB",
        value: (kib - before) / count as f64,
    };
    vec![
        sample(format!("{what}, one of {count}"), open),
        sample(format!("{what}, one of {count}, left behind"), after),
        sample(format!("{what}, one of {count}, opened once more"), again),
    ]
}

async fn sessions(server: &Running, count: usize) -> io::Result<Used> {
    let address = server.address()?;
    let mut client = Client::connect(address).await?;
    let session = open_session(&mut client, address).await?;
    end_session(&mut client, address, &session).await?;
    let before = server.memory()?;
    let mut used = vec![before.kib];
    for _ in 0..2 {
        let mut sessions = Vec::new();
        for _ in 0..count {
            sessions.push(open_session(&mut client, address).await?);
        }
        tokio::time::sleep(REST).await;
        used.push(server.memory()?.kib);
        for session in sessions {
            end_session(&mut client, address, &session).await?;
        }
        tokio::time::sleep(REST).await;
        used.push(server.memory()?.kib);
    }
    Ok([used[0], used[1], used[2], used[3]])
}

async fn streams(server: &Running, peer: Peer, count: usize) -> io::Result<Used> {
    let address = server.address()?;
    let request = match peer {
        Peer::Floor => bare("GET", address, None),
        _ => post(address, Way::Json, None, &listen()),
    };
    stream(address, &request).await?;
    let before = server.memory()?;
    let mut used = vec![before.kib];
    for _ in 0..2 {
        let mut streams = Vec::new();
        for _ in 0..count {
            streams.push(stream(address, &request).await?);
        }
        tokio::time::sleep(REST).await;
        used.push(server.memory()?.kib);
        drop(streams);
        tokio::time::sleep(REST).await;
        used.push(server.memory()?.kib);
    }
    Ok([used[0], used[1], used[2], used[3]])
}

pub(super) async fn stream(address: SocketAddr, request: &[u8]) -> io::Result<Client> {
    let mut client = Client::connect(address).await?;
    let head = client.begin(request).await?;
    if head.status != 200 {
        return Err(io::Error::other(format!("answered {}", head.status)));
    }
    client.chunk().await?;
    Ok(client)
}
