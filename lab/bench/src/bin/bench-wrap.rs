//! Measures what `askback wrap` adds to a call without a question over the standard streams.
//!
//! `bench-wrap ASKBACK [CALLS]` starts `bench-server` from its own folder directly and through the program
//! ASKBACK. It makes CALLS (2,000) calls at each, in turn and one at a time, in each era.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Calls before the measured ones.
const WARM_UP: usize = 200;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (askback, calls) = match &arguments[..] {
        [askback] => (askback, 2_000),
        [askback, calls] => (askback, calls.parse()?),
        _ => return Err("usage: bench-wrap ASKBACK [CALLS]".into()),
    };
    let server = env::current_exe()?.with_file_name("bench-server");
    for is_session in [true, false] {
        measure(Path::new(askback), &server, calls, is_session)?;
    }
    Ok(())
}

fn measure(askback: &Path, server: &Path, calls: usize, is_session: bool) -> Result<()> {
    let mut direct = Server::start(Command::new(server).arg("--stdio"))?;
    let mut command = Command::new(askback);
    command.args(["wrap", "--show=none", "--"]).arg(server);
    let mut wrapped = Server::start(command.arg("--stdio"))?;
    if is_session {
        direct.greet()?;
        wrapped.greet()?;
    }
    let call = call(is_session);
    for _ in 0..WARM_UP {
        direct.exchange(&call)?;
        wrapped.exchange(&call)?;
    }
    let before = wrapped.processor_time()?;
    let (mut alone, mut through, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..calls {
        // Neither is always the first.
        let (one, other) = match round % 2 {
            0 => {
                let one = direct.exchange(&call)?;
                (one, wrapped.exchange(&call)?)
            }
            _ => {
                let other = wrapped.exchange(&call)?;
                (direct.exchange(&call)?, other)
            }
        };
        alone.push(microseconds(one));
        through.push(microseconds(other));
        added.push(microseconds(other) - microseconds(one));
    }
    let spent = microseconds(wrapped.processor_time()? - before) / calls as f64;
    let era = match is_session {
        true => "2025-11-25",
        false => "2026-07-28",
    };
    println!("{era}, {calls} calls each, in µs:");
    for (what, mut values) in [
        ("alone", alone),
        ("through askback wrap", through),
        ("added", added),
    ] {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[(share * (values.len() - 1) as f64) as usize];
        println!("  {what}: median {:.0}, 95 % {:.0}", at(0.5), at(0.95));
    }
    println!("  processor time of askback wrap for each call: {spent:.0}");
    Ok(())
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the line of a call.
fn call(is_session: bool) -> String {
    let mut params = json!({"name": "echo", "arguments": {"message": "Hello, world!"}});
    if !is_session {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    let call = json!({"jsonrpc": "2.0", "id": 17, "method": "tools/call", "params": params});
    format!("{call}\n")
}

/// A started server, killed on drop.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no pipe to the server")?;
        let output = child.stdout.take().ok_or("no pipe from the server")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
            line: String::new(),
        })
    }

    fn greet(&mut self) -> Result<()> {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "load", "version": "1.0.0"},
        });
        let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        self.exchange(&format!("{greeting}\n"))?;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        Ok(self
            .input
            .write_all(format!("{initialized}\n").as_bytes())?)
    }

    /// Sends a request and waits for its result. Returns the time.
    fn exchange(&mut self, request: &str) -> Result<Duration> {
        let begun = Instant::now();
        self.input.write_all(request.as_bytes())?;
        self.line.clear();
        self.output.read_line(&mut self.line)?;
        let took = begun.elapsed();
        let response: Value = serde_json::from_str(&self.line)?;
        match response["result"].is_object() && response["result"]["isError"] != true {
            true => Ok(took),
            false => Err(format!("the server answered {response}").into()),
        }
    }

    /// The processor time of all threads of the program.
    fn processor_time(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let schedule = fs::read_to_string(task?.path().join("schedstat"))?;
            let spent = schedule.split_whitespace().next().unwrap_or_default();
            nanoseconds += spent.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
