use std::{ffi::OsStr, path::Path, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::Result;

/// The command, and the second server for clients.
pub(crate) const ASKBACK: &str = env!("CARGO_BIN_EXE_interop-askback");
pub(crate) const SERVER: &str = env!("CARGO_BIN_EXE_interop-server");

/// How long a server may take to print its URL. Some import large libraries first.
const START: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` if a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Program {
    words: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

pub(crate) struct Serving {
    _child: Box<Child>,
    pub(crate) url: String,
}

impl Program {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            words: vec![program.as_ref().to_string_lossy().into_owned()],
            environment: Vec::new(),
        }
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.words
            .push(argument.as_ref().to_string_lossy().into_owned());
        self
    }

    pub(crate) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(self, arguments: I) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_string_lossy().into_owned();
        self.environment.push((name, value));
        self
    }

    /// Appends this program's command line and environment to another's.
    pub(crate) fn behind(self, other: Self) -> Self {
        let mut environment = other.environment;
        environment.extend(self.environment);
        Self {
            words: [other.words, self.words].concat(),
            environment,
        }
    }

    /// The command line, with the environment, because some clients do not pass on theirs.
    pub(crate) fn words(&self) -> Vec<String> {
        let environment = self.environment.iter();
        let environment = environment.map(|(name, value)| format!("{name}={value}"));
        match self.environment.is_empty() {
            true => self.words.clone(),
            false => ["env".to_owned()]
                .into_iter()
                .chain(environment)
                .chain(self.words.clone())
                .collect(),
        }
    }

    /// Starts a program that runs until it is dropped.
    pub(crate) fn start(&self, log: &Path) -> Result<Child> {
        let mut command = self.command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log)?);
        command
            .spawn()
            .map_err(|error| self.failed(&error.to_string()))
    }

    pub(crate) async fn run(&self, limit: Duration) -> Result<Ended> {
        let mut command = self.command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command
            .spawn()
            .map_err(|error| self.failed(&error.to_string()))?;
        let Ok(output) = timeout(limit, child.wait_with_output()).await else {
            return Err(self.failed(&format!("it has not ended after {} s", limit.as_secs())));
        };
        let output = output?;
        Ok(Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Starts a server that prints its URL to stdout, and waits for it.
    pub(crate) async fn serve(&self, log: &Path) -> Result<Serving> {
        let mut command = self.command();
        let log = std::fs::File::create(log)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        self.serving(command, |child| child.stdout.take().map(BufReader::new))
            .await
    }

    /// Like `serve`, for a server that prints its address to stderr.
    pub(crate) async fn serve_on_stderr(&self) -> Result<Serving> {
        let mut command = self.command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        self.serving(command, |child| child.stderr.take().map(BufReader::new))
            .await
    }

    async fn serving<R>(
        &self,
        mut command: Command,
        output: impl FnOnce(&mut Child) -> Option<BufReader<R>>,
    ) -> Result<Serving>
    where
        R: tokio::io::AsyncRead + Unpin + Send + 'static,
    {
        let mut child = command
            .spawn()
            .map_err(|error| self.failed(&error.to_string()))?;
        let Some(output) = output(&mut child) else {
            return Err(self.failed("it has no output"));
        };
        let mut lines = output.lines();
        let line = timeout(START, lines.next_line()).await;
        let line = line.ok().and_then(|line| line.ok().flatten());
        let url = line
            .as_deref()
            .and_then(|line| line.find("http://").map(|at| &line[at..]));
        let Some(url) = url else {
            return Err(self.failed(&format!("it does not say where it is: {line:?}")));
        };
        let url = url.trim().to_owned();
        // Its later output must not block it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let _child = Box::new(child);
        Ok(Serving { _child, url })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .kill_on_drop(true);
        command
    }

    fn failed(&self, why: &str) -> Box<dyn std::error::Error + Send + Sync> {
        format!("{}: {why}", self.words.join(" ")).into()
    }
}

impl Ended {
    /// Returns the last line of stderr, to explain a failure.
    pub(crate) fn last_words(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().map(str::trim_end).collect();
        lines[lines.len().saturating_sub(6)..].join(" / ")
    }

    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).map_err(|error| {
            let Self { code, stdout, .. } = self;
            format!(
                "exit {code:?}, {stdout:?} is no JSON: {error}: {}",
                self.last_words()
            )
            .into()
        })
    }
}
