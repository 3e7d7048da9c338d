//! Calls of our client compared with rmcp's client, with the same server.

use std::{io, process::Command};

use super::{Effort, Peer, Sample, process::Programs};

const HTTP: &[usize] = &[1, 16, 64];

const STDIO: &[usize] = &[1, 16, 64, 256];

pub(super) fn measure(programs: &Programs, effort: Effort) -> io::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let span = effort.span.as_millis().to_string();
    for round in 1..=effort.rounds {
        for &depth in HTTP {
            for peer in [Peer::Rmcp, Peer::Askback] {
                let server = programs.http(Peer::Askback)?;
                let address = server.address()?;
                let (load, url) = (depth.to_string(), format!("http://{address}/mcp"));
                let client = programs.http_client(peer, [&load, &span], &url);
                samples.push(sample(round, "client, HTTP", depth, peer, client)?);
            }
        }
        for &depth in STDIO {
            for peer in [Peer::Rmcp, Peer::Askback] {
                let client = programs.stdio_client(peer, [&depth.to_string(), &span]);
                samples.push(sample(round, "client, stdio", depth, peer, client)?);
            }
        }
    }
    Ok(samples)
}

/// Runs a client, which prints its calls per second.
fn sample(
    round: usize,
    way: &str,
    depth: usize,
    peer: Peer,
    mut client: Command,
) -> io::Result<Sample> {
    super::report::tell(&format!("round {round}: {way}, {depth}, {}", peer.name()));
    let output = client.output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let value = said.trim().parse().map_err(|_| {
        let why = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("the client said {said:?}, and {why:?}"))
    })?;
    Ok(Sample {
        what: format!("{way}, depth {depth}"),
        peer,
        unit: "per second",
        value,
    })
}
