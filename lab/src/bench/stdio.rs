//! Calls over the standard streams, and how soon a server answers.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    Effort, Peer, Sample,
    process::Programs,
    requests::{Way, call, initialize, initialized},
};

/// How many calls are under way at a time.
const DEPTHS: &[usize] = &[1, 16];

/// How often a server is started in a round.
const STARTS: usize = 10;

/// Measures calls at several depths, and cold starts.
pub(super) fn measure(programs: &Programs, effort: Effort) -> io::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for round in 1..=effort.rounds {
        for &depth in DEPTHS {
            for peer in [Peer::Floor, Peer::Rmcp, Peer::Askback] {
                super::report::tell(&format!("round {round}: stdio, {depth}, {}", peer.name()));
                samples.extend(calls(programs, peer, depth, effort.span)?);
            }
        }
        for peer in [Peer::Rmcp, Peer::Askback] {
            for _ in 0..STARTS {
                let begun = Instant::now();
                let (_server, mut input, output) = programs.stdio(peer)?;
                open(&mut input, &mut BufReader::new(output))?;
                samples.push(Sample {
                    what: "cold start".into(),
                    peer,
                    unit: "ms",
                    value: begun.elapsed().as_secs_f64() * 1e3,
                });
            }
        }
    }
    Ok(samples)
}

fn calls(programs: &Programs, peer: Peer, depth: usize, span: Duration) -> io::Result<Vec<Sample>> {
    let (server, mut input, output) = programs.stdio(peer)?;
    let mut output = BufReader::new(output);
    if peer != Peer::Floor {
        open(&mut input, &mut output)?;
        writeln!(input, "{}", initialized())?;
    }
    let calls: Vec<String> = (0..depth)
        .map(|id| {
            let mut call = call(Way::Session, "echo", &Value::Null);
            call["id"] = id.into();
            format!("{call}\n")
        })
        .collect();
    // The answers are counted and not told apart: what is answered is asked again.
    let mut next = 0;
    let mut more = |count: usize, input: &mut dyn Write| {
        let mut lines = String::new();
        for _ in 0..count {
            lines += &calls[next % depth];
            next += 1;
        }
        input.write_all(lines.as_bytes())
    };
    more(depth, &mut input)?;
    let mut buffer = vec![0; 64 << 10];
    let mut count = 0_u64;
    let before = server.processor_time()?;
    let begun = Instant::now();
    while begun.elapsed() < span {
        let read = output.read(&mut buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let answered = buffer[..read].iter().filter(|byte| **byte == b'\n').count();
        count += answered as u64;
        more(answered, &mut input)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let spent = server.processor_time()? - before;
    let sample = |unit, value| Sample {
        what: format!("stdio, depth {depth}"),
        peer,
        unit,
        value,
    };
    Ok(vec![
        sample("per second", count as f64 / seconds),
        sample("processor, µs", spent.as_secs_f64() * 1e6 / count as f64),
    ])
}

/// Opens a session.
fn open(input: &mut impl Write, output: &mut impl BufRead) -> io::Result<()> {
    writeln!(input, "{}", initialize())?;
    let mut line = String::new();
    output.read_line(&mut line)?;
    let answer: Value = serde_json::from_str(&line)?;
    if answer["result"]["protocolVersion"].is_string() {
        Ok(())
    } else {
        Err(io::Error::other(format!("answered {line}")))
    }
}
