//! A messaging engine of the tests' own, on a free port. A shell stops it, even if the tests are killed.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

/// If set, the tests must not be skipped.
const NEEDED: &str = "ASKBACK_NEEDS_BUSES";

const SHELL: &str =
    r#"trap '' HUP INT PIPE TERM; "$@" 2>&1 & read -r _; kill -9 $! 2>/dev/null; wait"#;

pub(crate) struct Engine {
    program: &'static str,
    arguments: Vec<String>,
    pub(crate) port: u16,
    pub(crate) shell: Child,
}

impl Engine {
    /// Starts an engine with further arguments. Returns `None` with a message if the program is not installed.
    pub(crate) fn start(program: &'static str, arguments: &[&str]) -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        // Debian puts it into the folder of the administrator's programs.
        let mut places = env::split_paths(&path).chain(["/usr/sbin".into()]);
        if !places.any(|place| place.join(program).exists()) {
            let absent = format!("{program} is left out: it is not installed here");
            assert!(env::var_os(NEEDED).is_none(), "{absent}");
            // Not `eprintln!`, which the test harness captures.
            let _ = writeln!(std::io::stderr(), "{absent}");
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = free.local_addr().expect("it has an address").port();
        drop(free);
        let arguments: Vec<_> = arguments.iter().map(|&it| it.to_owned()).collect();
        Some(Self {
            shell: run(program, port, &arguments),
            program,
            arguments,
            port,
        })
    }

    pub(crate) fn restart(&mut self) {
        self.stop();
        self.shell = run(self.program, self.port, &self.arguments);
    }

    pub(crate) fn stop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns when it accepts connections.
fn run(program: &str, port: u16, arguments: &[String]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", SHELL, "sh", program]);
    match program {
        "nats-server" => command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]),
        _ => command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--port",
            &port.to_string(),
        ]),
    };
    command.args(arguments);
    command.current_dir("/").stdin(Stdio::piped());
    let mut shell = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let output = shell.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let is_ready = lines.any(|line| line.contains("eady to accept") || line.contains("is ready"));
    assert!(is_ready, "{program} does not start on port {port}");
    // An engine stops if nothing reads what it writes.
    std::thread::spawn(move || lines.for_each(drop));
    shell
}
