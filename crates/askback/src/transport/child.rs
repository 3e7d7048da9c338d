//! A server that is a process of ours.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fmt, io,
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
    Channel, Connect, Connecting, Ends, Link, LinkReceiver, LinkSender, Receiver, Sender, WAITING,
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
    /// The program as errors name it, where that is not how it is started.
    shown_as: Option<String>,
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
        Self {
            command,
            shown_as: None,
        }
    }

    /// Has errors name the program so: for one whose path holds what nobody is to read, such as the
    /// value of a variable. They do not name the directory it works in then.
    #[must_use]
    pub fn shown_as(mut self, program: impl Into<String>) -> Self {
        self.shown_as = Some(program.into());
        self
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

    /// Starts the process, and speaks to it message by message, without a client: for tools that try
    /// a server out. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails where the program cannot be started.
    pub fn open(mut self, limits: &Limits) -> io::Result<OpenChild> {
        let started = self.start(limits)?;
        let channel = Channel::over(Ends::Lines(started.stdout, started.stdin));
        let (receiver, sender) = channel.split();
        Ok(OpenChild {
            receiver,
            sender,
            stderr: started.stderr,
            process: started.process,
        })
    }

    fn start(&mut self, limits: &Limits) -> io::Result<Started> {
        let mut child = self.command.spawn().map_err(|error| {
            let kind = error.kind();
            let program = match &self.shown_as {
                Some(program) => program.into(),
                None => self.command.as_std().get_program().to_string_lossy(),
            };
            let folder = self.command.as_std().get_current_dir();
            let error = match folder.filter(|folder| !folder.is_dir()) {
                // The system's own words blame the program.
                Some(folder) => match &self.shown_as {
                    Some(_) => "the folder for it is not there".to_owned(),
                    None => format!("the folder `{}` is not there", folder.display()),
                },
                None => error.to_string(),
            };
            io::Error::new(kind, format!("`{program}` cannot be started: {error}"))
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the streams of the process are not ours"));
        };
        let (said, heard) = mpsc::channel(WAITING);
        let listening = tokio::spawn(listen(stderr, said, limits.client.stderr_line_bytes));
        Ok(Started {
            stdin: LineWriter::new(stdin),
            stdout: LineReader::new(stdout, limits.wire.message_bytes),
            stderr: heard,
            process: Process::new(child, listening),
        })
    }
}

impl Connect for Child {
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> Connecting<'a> {
        let link = self.start(limits).map(|started| Link {
            stderr: Some(started.stderr),
            behind: Some(Box::new(started.process)),
            ..Link::new(
                LinkReceiver::Lines(started.stdout),
                LinkSender::Lines(started.stdin),
            )
        });
        Box::pin(async { link })
    }
}

/// A process with the streams to it.
struct Started {
    stdin: LineWriter,
    stdout: LineReader,
    stderr: mpsc::Receiver<String>,
    process: Process,
}

/// A server that was [opened](Child::open) as a child process, to which any message may be sent. Its
/// process is killed when this is dropped.
pub struct OpenChild {
    receiver: Receiver,
    sender: Sender,
    stderr: mpsc::Receiver<String>,
    process: Process,
}

/// A line that a server wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildLine {
    /// A line of its standard output that is not blank, which should be a message.
    Output(Vec<u8>),
    /// A line of its standard error.
    Stderr(String),
}

/// How a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildEnd {
    /// Its exit code, where it has one.
    pub code: Option<i32>,
    /// Whether the end of its input was enough, so that it was not asked to terminate.
    pub is_by_itself: bool,
    /// The last lines of its standard error, among those that were not received before.
    pub stderr: Vec<String>,
}

impl OpenChild {
    /// Sends one line, which need not be a message.
    ///
    /// # Errors
    ///
    /// Broken pipe where the server is gone.
    pub async fn send(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.sender.send(line).await
    }

    /// Receives the next line, or `None` at the end of the standard output. Cancel safe.
    ///
    /// # Errors
    ///
    /// Fails where the standard output cannot be read.
    pub async fn receive(&mut self) -> io::Result<Option<ChildLine>> {
        tokio::select! {
            biased;
            Some(line) = self.stderr.recv() => Ok(Some(ChildLine::Stderr(line))),
            line = self.receiver.receive() => Ok(line?.map(ChildLine::Output)),
        }
    }

    /// Closes the input of the server and waits for its end, as [`Child`] says.
    ///
    /// # Errors
    ///
    /// Fails where the process cannot be waited for.
    pub async fn end(mut self, limits: &Limits) -> io::Result<ChildEnd> {
        // What could not be written has nobody to read it.
        let _ = self.sender.close().await;
        let mut lines = LastLines::default();
        let ended = {
            let ending = self.process.finish(limits);
            tokio::pin!(ending);
            loop {
                tokio::select! {
                    ended = &mut ending => break ended,
                    Some(line) = self.stderr.recv() => lines.push(line),
                }
            }
        };
        while let Ok(line) = self.stderr.try_recv() {
            lines.push(line);
        }
        let (status, is_by_itself) = ended?;
        Ok(ChildEnd {
            code: status.code(),
            is_by_itself,
            stderr: lines.0.into(),
        })
    }
}

/// The last lines of a server that may write without end. Each is as long as a line of its standard error may be.
#[derive(Default)]
struct LastLines(VecDeque<String>);

impl LastLines {
    fn push(&mut self, line: String) {
        if self.0.len() == WAITING {
            self.0.pop_front();
        }
        self.0.push_back(line);
    }
}

impl fmt::Debug for OpenChild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenChild").finish_non_exhaustive()
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

    /// Waits for the end of the process, or else makes it end; says whether it did by itself.
    async fn wait(&mut self, limits: &Limits) -> io::Result<(ExitStatus, bool)> {
        if let Ok(status) = timeout(limits.client.exit, self.child.wait()).await {
            return Ok((status?, true));
        }
        self.terminate();
        if let Ok(status) = timeout(limits.client.exit, self.child.wait()).await {
            return Ok((status?, false));
        }
        self.child.kill().await?;
        Ok((self.child.wait().await?, false))
    }

    /// Waits as [`Process::wait`] does, and for what the process said last.
    async fn finish(&mut self, limits: &Limits) -> io::Result<(ExitStatus, bool)> {
        let status = self.wait(limits).await;
        self.kill_group();
        // What it said last is worth hearing, but something outside the group may still hold
        // the stream.
        let _ = timeout(limits.client.exit, &mut self.listening).await;
        status
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
            match self.finish(limits).await {
                Ok((status, _)) => match status.code() {
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
    let mut stderr = LineReader::of_text(stderr, most);
    while let Some(line) = stderr.line().await {
        let line = String::from_utf8_lossy(line).into_owned();
        if said.send(line).await.is_err() {
            return;
        }
    }
}
