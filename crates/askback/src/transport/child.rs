//! A server that is a process of ours.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
};

use askback_core::{engine::client::ServerEnd, future::BoxFuture, limits::Limits};
use tokio::{
    process::{ChildStderr, Command},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};

use super::{
    Connect, Connecting, Link, LinkReceiver, LinkSender, WAITING,
    connect::Behind,
    lines::{LineReader, LineWriter},
};

/// A server that is started as a child process and spoken to over its standard input and output
/// (2026-07-28, basic/transports/stdio). What it writes to its standard error comes to the host as
/// [`Event::ServerStderr`](crate::client::Event::ServerStderr).
///
/// It ends with the client: its input is closed; if it does not end by itself, it is asked to
/// (SIGTERM) and at last killed, each after
/// [`limits.client.exit`](crate::limits::ClientLimits::exit). On Unix it has a process group of its
/// own, so that a Ctrl-C at the terminal reaches the client alone, and everything left in that
/// group ends with it; elsewhere only the process itself is looked after. The same holds when the
/// client is dropped or its task panics. Only if this process is itself killed outright can nothing
/// be done but what the system does: the server's input ends, and servers should exit then.
#[derive(Debug)]
pub struct Child {
    command: Command,
}

impl Child {
    /// The server this program is.
    pub fn command(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        Self { command }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of its environment, which is otherwise that of this process.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets variables of its environment.
    #[must_use]
    pub fn envs<I, K, V>(mut self, variables: I) -> Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.command.envs(variables);
        self
    }

    /// Keeps a variable from its environment, also one set before; one set later is there.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the directory it works in.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    fn start(&mut self, limits: &Limits) -> io::Result<Link> {
        let mut child = self.command.spawn().map_err(|error| {
            let program = self.command.as_std().get_program().to_string_lossy();
            io::Error::new(
                error.kind(),
                format!("`{program}` cannot be started: {error}"),
            )
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the streams of the process are not ours"));
        };
        let (said, heard) = mpsc::channel(WAITING);
        let listening = tokio::spawn(listen(stderr, said, limits.client.stderr_line_bytes));
        Ok(Link {
            stderr: Some(heard),
            behind: Some(Box::new(Process::new(child, listening))),
            ..Link::new(
                LinkReceiver::Lines(LineReader::new(stdout, limits.wire.message_bytes)),
                LinkSender::Lines(LineWriter::new(stdin)),
            )
        })
    }
}

impl Connect for Child {
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> Connecting<'a> {
        let link = self.start(limits);
        Box::pin(async { link })
    }
}

/// A process that was started, and everything it started in its group.
struct Process {
    child: tokio::process::Child,
    listening: JoinHandle<()>,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

impl Process {
    fn new(child: tokio::process::Child, listening: JoinHandle<()>) -> Self {
        Self {
            listening,
            #[cfg(unix)]
            group: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw),
            child,
        }
    }

    async fn wait(&mut self, limits: &Limits) -> io::Result<ExitStatus> {
        if let Ok(status) = timeout(limits.client.exit, self.child.wait()).await {
            return status;
        }
        self.terminate();
        if let Ok(status) = timeout(limits.client.exit, self.child.wait()).await {
            return status;
        }
        self.child.kill().await?;
        self.child.wait().await
    }

    #[cfg(unix)]
    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    #[cfg(not(unix))]
    fn terminate(&self) {}

    /// Kills what is left of the group. Its number is not given to another as long as something is
    /// left, and right after the end of the process nothing else can have it.
    fn kill_group(&mut self) {
        #[cfg(unix)]
        {
            self.signal(rustix::process::Signal::KILL);
            self.group = None;
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // A group in which nothing is left has ended already.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Behind for Process {
    fn end<'a>(&'a mut self, limits: &'a Limits) -> BoxFuture<'a, ServerEnd> {
        Box::pin(async {
            let status = self.wait(limits).await;
            self.kill_group();
            // What it said last is worth hearing, but something outside the group may still hold
            // the stream.
            let _ = timeout(limits.client.exit, &mut self.listening).await;
            match status {
                Ok(status) => match status.code() {
                    Some(code) => ServerEnd::exited(code),
                    None => format!("its process was ended ({status})").into(),
                },
                Err(error) => format!("its process cannot be waited for: {error}").into(),
            }
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// Reads what the process writes to its standard error; what need not be text is made text.
async fn listen(stderr: ChildStderr, said: mpsc::Sender<String>, most: usize) {
    let mut stderr = LineReader::new(stderr, most);
    while let Some(line) = stderr.line().await {
        let line = String::from_utf8_lossy(line).into_owned();
        if said.send(line).await.is_err() {
            return;
        }
    }
}
