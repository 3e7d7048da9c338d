//! A server that runs as a child process.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    future::poll_fn,
    io,
    path::Path,
    pin::Pin,
    process::{ExitStatus, Stdio},
    task::{Context, Poll, ready},
    time::Duration,
};

use askback_core::{engine::client::ServerEnd, future::BoxFuture, limits::Limits};
use tokio::{
    io::{AsyncRead, ReadBuf},
    process::Command,
    sync::{Notify, mpsc, oneshot, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    Channel, Connect, ConnectFuture, Link, Receiver, Sender, WAITING,
    connect::ChannelResource,
    lines::{LineReader, LineWriter},
};
use crate::mutex::Mutex;

/// A server that is started as a child process and uses its standard input and output (2026-07-28,
/// basic/transports/stdio). The host receives its standard error as
/// [`Event::ServerStderr`](crate::client::Event::ServerStderr).
///
/// The process ends with the client. First its input is closed. If it does not exit, it gets
/// SIGTERM and is finally killed, each step after
/// [`limits.client.exit`](crate::limits::ClientLimits::exit). On Unix it has its own process group,
/// so that Ctrl-C at the terminal reaches only the client, and all processes left in the group end
/// with it. On other systems only the process itself is ended. The same happens if the client is
/// dropped or its task panics, as long as the runtime keeps running: a program that ends its
/// runtime waits for [`Child::all_ended`] first. When the runtime ends, all remaining processes are
/// killed. If this process itself is killed, the server's input ends, and servers should then exit.
#[derive(Debug)]
pub struct Child {
    command: Command,
    /// The program's name in errors, if it differs from the path.
    shown_as: Option<String>,
}

impl Child {
    /// A server that runs this program.
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

    /// Sets the program's name in errors, for a path that contains a secret such as a variable's
    /// value. Errors then omit the working directory.
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

    /// Sets an environment variable. The process otherwise inherits this process's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets environment variables.
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

    /// Removes an environment variable, even if it was set before. It can be set again later.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Starts the process for raw messages, without a client: for tools that try out a server. Must
    /// be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be started.
    #[doc(hidden)]
    pub fn open(mut self, limits: &Limits) -> io::Result<OpenChild> {
        let started = self.start(limits)?;
        let (receiver, sender) = Channel::of_lines(started.stdout, started.stdin).split();
        Ok(OpenChild {
            receiver,
            sender,
            stderr: started.stderr,
            process: started.process,
        })
    }

    fn start(&mut self, limits: &Limits) -> io::Result<ChildProcess> {
        let mut child = self.command.spawn().map_err(|error| {
            let kind = error.kind();
            let program = match &self.shown_as {
                Some(program) => program.into(),
                None => self.command.as_std().get_program().to_string_lossy(),
            };
            let folder = self.command.as_std().get_current_dir();
            let error = match folder.filter(|folder| !folder.is_dir()) {
                // The system says that the program was not found, which would mislead.
                Some(folder) => match &self.shown_as {
                    Some(_) => "its folder does not exist".to_owned(),
                    None => format!("the folder `{}` does not exist", folder.display()),
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
        let (release, released) = oneshot::channel();
        let (tell, exited) = watch::channel(None);
        let group = Group::new(&child);
        tokio::spawn(keep(child, group, limits.client.exit, released, tell));
        let (said, heard) = mpsc::channel(WAITING);
        let stderr = Output::new(stderr, exited.clone());
        let listening = tokio::spawn(listen(stderr, said, limits.client.stderr_line_bytes));
        let stdout = Output::new(stdout, exited.clone());
        Ok(ChildProcess {
            stdin: LineWriter::new(stdin),
            stdout: LineReader::new(stdout, limits.wire.message_bytes),
            stderr: heard,
            process: Process {
                release: Some(release),
                exited,
                listening,
            },
        })
    }

    /// Waits until every process started as a [`Child`] has ended. A process ends after its client
    /// was closed or dropped.
    pub async fn all_ended() {
        loop {
            let mut changed = std::pin::pin!(GROUP_ENDED.notified());
            changed.as_mut().enable();
            if GROUPS.lock().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Kills every process started as a [`Child`], with its group. May be called from any thread.
    pub fn kill_all() {
        for group in GROUPS.lock().iter() {
            kill(*group, LastSignal::Kill);
        }
    }
}

impl Connect for Child {
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> ConnectFuture<'a> {
        let link = self.start(limits).map(|started| Link {
            stderr: Some(started.stderr),
            behind: Some(Box::new(started.process)),
            ..Channel::of_lines(started.stdout, started.stdin).into()
        });
        Box::pin(async { link })
    }
}

struct ChildProcess {
    stdin: LineWriter,
    stdout: LineReader,
    stderr: mpsc::Receiver<String>,
    process: Process,
}

/// A server [opened](Child::open) as a child process, which can be sent any message. Dropping this
/// ends the process as described at [`Child`].
#[doc(hidden)]
pub struct OpenChild {
    receiver: Receiver,
    sender: Sender,
    stderr: mpsc::Receiver<String>,
    process: Process,
}

/// A line that a server wrote.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildLine {
    /// A line of standard output that is not blank. It should be a message.
    Output(Vec<u8>),
    /// A line of standard error.
    Stderr(String),
}

/// How a server ended.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildEnd {
    /// The exit code, if any.
    pub code: Option<i32>,
    /// Whether the process exited when its input was closed, without a signal.
    pub is_by_itself: bool,
    /// The last lines of standard error that were not received before.
    pub stderr: Vec<String>,
}

impl OpenChild {
    /// Sends one line, which does not have to be a message.
    ///
    /// # Errors
    ///
    /// Broken pipe if the server is gone.
    pub async fn send(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.sender.add(line);
        // The server may not read before it was read: the rest is written while this receives.
        let written = poll_fn(|cx| Poll::Ready(self.sender.poll_flush(cx))).await;
        match written {
            Poll::Ready(written) => written,
            Poll::Pending => Ok(()),
        }
    }

    /// Receives the next line, or `None` at the end of standard output. Cancel safe.
    ///
    /// # Errors
    ///
    /// Fails if standard output cannot be read.
    pub async fn receive(&mut self) -> io::Result<Option<ChildLine>> {
        let (receiver, sender) = (&mut self.receiver, &mut self.sender);
        let output = poll_fn(|cx| {
            // If the server is gone, its output ends.
            let _ = sender.poll_flush(cx);
            let line = ready!(receiver.poll_receive(cx));
            Poll::Ready(line.map(|line| ChildLine::Output(line.to_vec())))
        });
        tokio::select! {
            biased;
            Some(line) = self.stderr.recv() => Ok(Some(ChildLine::Stderr(line))),
            output = output => Ok(output),
        }
    }

    /// Closes the server's input and waits for the server to exit, as described at [`Child`].
    ///
    /// # Errors
    ///
    /// Fails if waiting for the process fails.
    pub async fn end(mut self, limits: &Limits) -> io::Result<ChildEnd> {
        // If the server does not read, pending messages are lost.
        let _ = timeout(limits.client.exit, self.sender.close()).await;
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

/// The last lines of a server's output, which has no other limit. Each line has the length limit of
/// standard error.
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

askback_core::debug_only!(OpenChild {});

/// A running process. Its own task ends it once this is dropped.
struct Process {
    release: Option<oneshot::Sender<()>>,
    exited: watch::Receiver<Option<Exit>>,
    listening: JoinHandle<()>,
}

/// The exit status, and whether the process exited when its input was closed. An error says why
/// waiting failed.
type Exit = Result<(ExitStatus, bool), String>;

/// How long output is read after the exit, if another process still holds the pipe. The process's
/// own output is in the pipe by then.
const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(100);

impl Process {
    async fn finish(&mut self, limits: &Limits) -> io::Result<(ExitStatus, bool)> {
        self.release = None;
        let exit = match self.exited.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone(),
            Err(_) => None,
        };
        let _ = timeout(limits.client.exit, &mut self.listening).await;
        let exit = exit.unwrap_or_else(|| Err("the runtime ended".to_owned()));
        exit.map_err(io::Error::other)
    }
}

/// Owns a process and its group until both are gone. Processes end only here.
async fn keep(
    mut child: tokio::process::Child,
    group: Group,
    patience: Duration,
    released: oneshot::Receiver<()>,
    tell: watch::Sender<Option<Exit>>,
) {
    let exit = tokio::select! {
        status = child.wait() => status.map(|status| (status, true)),
        _ = released => end(&mut child, &group, patience).await,
    };
    // Kills all processes left in the group.
    drop(group);
    let _ = tell.send(Some(exit.map_err(|error| error.to_string())));
}

async fn end(
    child: &mut tokio::process::Child,
    group: &Group,
    patience: Duration,
) -> io::Result<(ExitStatus, bool)> {
    if let Ok(status) = timeout(patience, child.wait()).await {
        return Ok((status?, true));
    }
    kill(group.0, LastSignal::Terminate);
    if let Ok(status) = timeout(patience, child.wait()).await {
        return Ok((status?, false));
    }
    child.kill().await?;
    Ok((child.wait().await?, false))
}

/// The running processes, by group number.
static GROUPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

static GROUP_ENDED: Notify = Notify::const_new();

/// A process group, killed on drop. The system does not reuse the number while a process is left in
/// the group, and the drop directly follows the last wait.
struct Group(u32);

impl Group {
    fn new(child: &tokio::process::Child) -> Self {
        // A process has a number until it has been waited for.
        let group = child.id().unwrap_or_default();
        GROUPS.lock().push(group);
        Self(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill(self.0, LastSignal::Kill);
        GROUPS.lock().retain(|group| *group != self.0);
        GROUP_ENDED.notify_waiters();
    }
}

#[derive(Clone, Copy)]
enum LastSignal {
    Terminate,
    Kill,
}

#[cfg(unix)]
fn kill(group: u32, signal: LastSignal) {
    use rustix::process::{Pid, Signal, kill_process_group};

    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = match signal {
            LastSignal::Terminate => kill_process_group(group, Signal::TERM),
            LastSignal::Kill => kill_process_group(group, Signal::KILL),
        };
    }
}

#[cfg(not(unix))]
fn kill(_: u32, _: LastSignal) {}

/// A process's output. It ends with the process, even if a grandchild holds the pipe, but the
/// content of the pipe is read first.
struct Output<R> {
    pipe: R,
    after_exit: BoxFuture<'static, ()>,
}

impl<R> Output<R> {
    fn new(pipe: R, mut exited: watch::Receiver<Option<Exit>>) -> Self {
        let after_exit = Box::pin(async move {
            let _ = exited.wait_for(Option::is_some).await;
            sleep(OUTPUT_AFTER_EXIT).await;
        });
        Self { pipe, after_exit }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Output<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.pipe).poll_read(cx, buffer) {
            Poll::Pending => self.after_exit.as_mut().poll(cx).map(Ok),
            read => read,
        }
    }
}

impl ChannelResource for Process {
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

async fn listen(
    stderr: impl AsyncRead + Send + Unpin + 'static,
    said: mpsc::Sender<String>,
    most: usize,
) {
    let mut stderr = LineReader::of_text(stderr, most);
    while let Some(line) = stderr.line().await {
        let line = String::from_utf8_lossy(line).into_owned();
        if said.send(line).await.is_err() {
            return;
        }
    }
}
