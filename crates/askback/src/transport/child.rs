//! A server that is a process of ours.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    io,
    path::Path,
    pin::Pin,
    process::{ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
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
    Channel, Connect, ConnectFuture, Ends, Link, LinkReceiver, LinkSender, Receiver, Sender,
    WAITING,
    connect::ChannelResource,
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
/// client is dropped or its task panics, as long as the runtime goes on: a program that ends its
/// runtime waits for [`Child::all_ended`] first. When the runtime ends, what is left is killed.
/// If this process itself is killed, the server's input ends, and servers should exit then.
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
    #[doc(hidden)]
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

    fn start(&mut self, limits: &Limits) -> io::Result<ChildProcess> {
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

    /// Waits until no process that this program started as a [`Child`] is left. A process ends after
    /// its client was closed or dropped.
    pub async fn all_ended() {
        loop {
            let mut changed = std::pin::pin!(GROUP_ENDED.notified());
            changed.as_mut().enable();
            if groups().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Kills every process that this program started as a [`Child`], with its group. May be called
    /// from any thread.
    pub fn kill_all() {
        for group in groups().iter() {
            kill(*group, LastSignal::Kill);
        }
    }
}

impl Connect for Child {
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> ConnectFuture<'a> {
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

struct ChildProcess {
    stdin: LineWriter,
    stdout: LineReader,
    stderr: mpsc::Receiver<String>,
    process: Process,
}

/// A server that was [opened](Child::open) as a child process, to which any message may be sent. Its
/// process ends as [`Child`] says when this is dropped.
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
    /// A line of its standard output that is not blank, which should be a message.
    Output(Vec<u8>),
    /// A line of its standard error.
    Stderr(String),
}

/// How a server ended.
#[doc(hidden)]
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
        // A server that reads nothing does not get what still waits for it.
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

askback_core::debug_only!(OpenChild {});

/// A process that was started. A task of its own keeps it, and ends it once this is dropped.
struct Process {
    release: Option<oneshot::Sender<()>>,
    exited: watch::Receiver<Option<Exit>>,
    listening: JoinHandle<()>,
}

/// How a process ended: its status, and whether the end of its input was enough. An error says why
/// it could not be waited for.
type Exit = Result<(ExitStatus, bool), String>;

/// How long the output of a process is read after its exit, if another process holds the pipe. What
/// the process itself wrote is in the pipe by then.
const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(100);

impl Process {
    /// Has the process end, if it has not, and waits for what it said last.
    async fn finish(&mut self, limits: &Limits) -> io::Result<(ExitStatus, bool)> {
        self.release = None;
        let exit = match self.exited.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone(),
            Err(_) => None,
        };
        // A host that does not take the lines does not keep the client from going on.
        let _ = timeout(limits.client.exit, &mut self.listening).await;
        let exit = exit.unwrap_or_else(|| Err("the runtime ended".to_owned()));
        exit.map_err(io::Error::other)
    }
}

/// Keeps a process until it is gone, and its group with it: the only place in which one ends.
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
    // Kills what the process left behind.
    drop(group);
    let _ = tell.send(Some(exit.map_err(|error| error.to_string())));
}

/// Waits for the end of a process whose input is closed, or else makes it end.
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

/// The processes that run, by the number of their group.
static GROUPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

static GROUP_ENDED: Notify = Notify::const_new();

fn groups() -> MutexGuard<'static, Vec<u32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process group, which is killed when this is dropped. The system gives its number to no other
/// group as long as a process is left in it, and the drop follows the end of the last wait at once.
struct Group(u32);

impl Group {
    fn new(child: &tokio::process::Child) -> Self {
        // A process that has not been waited for has a number.
        let group = child.id().unwrap_or_default();
        groups().push(group);
        Self(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill(self.0, LastSignal::Kill);
        groups().retain(|group| *group != self.0);
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
        // A group that has ended needs no signal.
        let _ = match signal {
            LastSignal::Terminate => kill_process_group(group, Signal::TERM),
            LastSignal::Kill => kill_process_group(group, Signal::KILL),
        };
    }
}

#[cfg(not(unix))]
fn kill(_: u32, _: LastSignal) {}

/// An output of a process. It ends with the process, even if a process that it started holds the
/// pipe; what is in the pipe is read first.
struct Output<R> {
    pipe: R,
    after_exit: BoxFuture<'static, ()>,
}

impl<R> Output<R> {
    fn new(pipe: R, mut exited: watch::Receiver<Option<Exit>>) -> Self {
        let after_exit = Box::pin(async move {
            // If the keeper is gone, the process is, too.
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

/// Reads what the process writes to its standard error; what need not be text is made text.
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
