//! Runs the command as a user or a script does.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Output, Stdio},
    thread,
};

use serde_json::Value;

use crate::scratch::Scratch;

pub(crate) const ASKBACK: &str = env!("CARGO_BIN_EXE_askback");

/// A run of the command, with a folder for its files and lines for its stdin.
pub(crate) struct Run {
    pub(crate) scratch: Scratch,
    words: Vec<String>,
    variables: Vec<(&'static str, String)>,
    input: String,
}

pub(crate) struct Ran {
    pub(crate) scratch: Scratch,
    exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn new(name: &str, words: &[&str]) -> Self {
        Self {
            scratch: Scratch::new(name),
            words: words.iter().map(|&word| word.to_owned()).collect(),
            variables: Vec::new(),
            input: String::new(),
        }
    }

    pub(crate) fn and(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    pub(crate) fn answers(self, text: &str) -> Self {
        let file = self.scratch.file("answers.yaml", text);
        self.and(&["--answers", &file])
    }

    pub(crate) fn set(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn input(mut self, lines: &str) -> Self {
        self.input = lines.to_owned();
        self
    }

    pub(crate) fn on_travel(self) -> Ran {
        self.and(&["--", ASKBACK, "serve", "travel"]).run()
    }

    pub(crate) fn run(self) -> Ran {
        let mut command = Command::new(ASKBACK);
        command
            .args(&self.words)
            .current_dir(self.scratch.path("."))
            .env("NO_COLOR", "1")
            .env("XDG_STATE_HOME", self.scratch.path("state"))
            .envs(self.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command was built");
        let mut stdin = child.stdin.take().expect("it was asked for");
        // A command that does not read stdin may have exited.
        let _ = stdin.write_all(self.input.as_bytes());
        drop(stdin);
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("it ends");
        Ran {
            scratch: self.scratch,
            exit: status.code(),
            stdout: String::from_utf8(stdout).expect("it writes text"),
            stderr: String::from_utf8(stderr).expect("it writes text"),
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect(self, exit: i32) -> Self {
        assert_eq!(self.exit, Some(exit), "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(
            self.stderr.contains(words),
            "{words:?} is not in\n{}",
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn prints(self, words: &str) -> Self {
        assert!(
            self.stdout.contains(words),
            "{words:?} is not in\n{}",
            self.stdout
        );
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let json = serde_json::from_str(&self.stdout);
        json.unwrap_or_else(|error| panic!("{error}:\n{}", self.stdout))
    }
}

/// Serves HTTP: `respond` returns the response to each message, beginning with its status. Returns the URL.
pub(crate) fn served(respond: impl Fn(&Value) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let url = format!("http://{}/mcp", listener.local_addr().expect("it is bound"));
    thread::spawn(move || {
        // The thread ends with the test process.
        for stream in listener.incoming().flatten() {
            // The client may have disconnected.
            let _ = responded(stream, &respond);
        }
    });
    url
}

fn responded(mut stream: TcpStream, respond: impl Fn(&Value) -> String) -> std::io::Result<()> {
    let message = message(&stream)?;
    write!(stream, "HTTP/1.1 {}", respond(&message))
}

/// The message in a request. Null if it has none.
pub(crate) fn message(stream: &TcpStream) -> std::io::Result<Value> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line)? > 2 {
        let header = line.trim_end().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.parse().unwrap_or_default();
        }
        line.clear();
    }
    Ok(serde_json::from_reader(reader.take(length)).unwrap_or_default())
}

/// A response with this JSON. The connection closes after it.
pub(crate) fn json_response(status: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "{status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}
