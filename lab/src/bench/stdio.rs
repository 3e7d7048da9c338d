use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{ChildStdin, ChildStdout},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    Effort, Peer, Sample,
    process::Programs,
    requests::{Way, call, initialize, initialized},
};

const DEPTHS: &[usize] = &[1, 16];

pub(super) fn measure(programs: &Programs, effort: Effort) -> io::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for round in 1..=effort.rounds {
        for &depth in DEPTHS {
            for peer in [Peer::Floor, Peer::Rmcp, Peer::Askback] {
                super::report::tell(&format!("round {round}: stdio, {depth}, {}", peer.name()));
                samples.extend(calls(programs, peer, depth, effort.span)?);
            }
        }
    }
    Ok(samples)
}

fn calls(programs: &Programs, peer: Peer, depth: usize, span: Duration) -> io::Result<Vec<Sample>> {
    let (server, mut input, mut output) = programs.stdio(peer)?;
    let mut load = Load::begin(peer, depth, &mut input, &mut output)?;
    let before = server.processor_time()?;
    let begun = Instant::now();
    while begun.elapsed() < span {
        load.step()?;
    }
    let count = load.answered;
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

/// Makes at least this many calls, with this many at a time.
pub(super) fn exchange(
    peer: Peer,
    depth: usize,
    count: u64,
    input: &mut ChildStdin,
    output: &mut ChildStdout,
) -> io::Result<()> {
    let mut load = Load::begin(peer, depth, input, output)?;
    while load.answered < count {
        load.step()?;
    }
    Ok(())
}

/// Concurrent calls. Responses are counted without matching them to requests: each response triggers the next call.
struct Load<'a> {
    input: &'a mut ChildStdin,
    output: BufReader<&'a mut ChildStdout>,
    calls: Vec<String>,
    next: usize,
    answered: u64,
    buffer: Vec<u8>,
}

impl<'a> Load<'a> {
    /// Opens a session and makes the first calls.
    fn begin(
        peer: Peer,
        depth: usize,
        input: &'a mut ChildStdin,
        output: &'a mut ChildStdout,
    ) -> io::Result<Self> {
        let mut output = BufReader::new(output);
        if peer != Peer::Floor {
            open(input, &mut output)?;
            writeln!(input, "{}", initialized())?;
        }
        let calls = (0..depth).map(|id| {
            let mut call = call(Way::Session, "echo", &Value::Null);
            call["id"] = id.into();
            format!("{call}\n")
        });
        let mut load = Self {
            input,
            output,
            calls: calls.collect(),
            next: 0,
            answered: 0,
            buffer: vec![0; 64 << 10],
        };
        load.call(depth)?;
        Ok(load)
    }

    /// Reads the available responses, and makes as many new calls.
    fn step(&mut self) -> io::Result<()> {
        let read = self.output.read(&mut self.buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let read = &self.buffer[..read];
        let answered = read.iter().filter(|byte| **byte == b'\n').count();
        self.answered += answered as u64;
        self.call(answered)
    }

    fn call(&mut self, count: usize) -> io::Result<()> {
        let mut lines = String::new();
        for _ in 0..count {
            lines += &self.calls[self.next % self.calls.len()];
            self.next += 1;
        }
        self.input.write_all(lines.as_bytes())
    }
}

pub(super) fn open(input: &mut impl Write, output: &mut impl BufRead) -> io::Result<()> {
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
