//! Counts a server's instructions per call with `valgrind`, if it is installed. The numbers hardly differ between runs,
//! even on a busy machine.

use std::io;

use tokio::runtime::{Builder, Runtime};

use super::{Peer, Sample, http, process::Programs, report::tell, requests::Way, stdio};

const AT_A_TIME: usize = 16;

/// The number of exchanges before the counted ones, and the number of counted ones.
const COUNTED: u64 = 1600;

const EXCHANGES: &[(&str, Way, bool)] = &[
    ("call over HTTP, JSON", Way::Json, false),
    ("call over HTTP, SSE", Way::Events, false),
    ("call over HTTP, session", Way::Session, false),
    ("elicitation, 2026-07-28", Way::Json, true),
    ("elicitation, session", Way::Session, true),
];

pub(super) fn measure(programs: &Programs) -> io::Result<Vec<Sample>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut samples = Vec::new();
    for &(what, way, asks) in EXCHANGES {
        let rmcp = if way == Way::Json && !asks {
            Peer::RmcpJson
        } else {
            Peer::RmcpNoDelay
        };
        let floor = (!asks).then_some(Peer::Floor);
        for peer in floor.into_iter().chain([rmcp, Peer::Askback]) {
            tell(&format!("instructions, {what}, {}", peer.name()));
            let run = |count| over_http(programs, &runtime, peer, way, asks, count);
            samples.push(sample(what, peer, run)?);
        }
        for peer in [Peer::Askback, Peer::AskbackFleet] {
            tell(&format!("instructions in a fleet, {what}, {}", peer.name()));
            let run = |count| over_http(programs, &runtime, peer, way, asks, count);
            samples.push(Sample {
                unit: "instructions, fleet",
                ..sample(what, peer, run)?
            });
        }
    }
    for peer in [Peer::Floor, Peer::Rmcp, Peer::Askback] {
        tell(&format!("instructions, standard streams, {}", peer.name()));
        let run = |count| over_stdio(programs, peer, count);
        samples.push(sample("call over the standard streams", peer, run)?);
    }
    Ok(samples)
}

/// Returns the cost of one exchange, without the start of the server and the warm-up.
fn sample(what: &str, peer: Peer, run: impl Fn(u64) -> io::Result<u64>) -> io::Result<Sample> {
    let (few, many) = (run(COUNTED)?, run(2 * COUNTED)?);
    Ok(Sample {
        what: what.to_owned(),
        peer,
        unit: "instructions",
        value: many.saturating_sub(few) as f64 / COUNTED as f64,
    })
}

fn over_http(
    programs: &Programs,
    runtime: &Runtime,
    peer: Peer,
    way: Way,
    asks: bool,
    count: u64,
) -> io::Result<u64> {
    let server = programs.counted_http(peer)?;
    let each = count / AT_A_TIME as u64;
    runtime.block_on(http::exchange(&server, peer, way, asks, AT_A_TIME, each))?;
    server.instructions()
}

fn over_stdio(programs: &Programs, peer: Peer, count: u64) -> io::Result<u64> {
    let (server, mut input, mut output) = programs.counted_stdio(peer)?;
    stdio::exchange(peer, AT_A_TIME, count, &mut input, &mut output)?;
    server.instructions()
}
