//! Ends the process on a signal: the front end restores the terminal, then the servers end.

use std::{
    pin::pin,
    sync::{
        LazyLock, Once, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use askback::transport::Child;
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    time::{sleep, timeout},
};

use crate::{full, plain};

/// How long the servers may take to end. Longer than [`Child`] gives each of them.
const SERVERS: Duration = Duration::from_secs(6);

/// How long the program may take to react. It cannot while it reads a line from stdin.
const NOTICE: Duration = Duration::from_millis(500);

/// Further signals within this time count as the first: `timeout` sends two, and a closed window
/// may.
const SAME: Duration = Duration::from_millis(500);

static END: LazyLock<watch::Sender<Option<u8>>> = LazyLock::new(|| watch::Sender::new(None));

/// When the program began to wait for its servers.
static ENDING: OnceLock<Instant> = OnceLock::new();

static INTERRUPTS_HELD: AtomicUsize = AtomicUsize::new(0);

static TERMINATIONS_HELD: AtomicUsize = AtomicUsize::new(0);

/// As long as this lives, some signals do not end the process. The owner handles them.
#[derive(Debug)]
pub struct Held(Vec<&'static AtomicUsize>);

impl Held {
    /// Holds Ctrl-C.
    pub fn interrupts() -> Self {
        Self::all(vec![&INTERRUPTS_HELD])
    }

    /// Holds Ctrl-C and SIGTERM.
    pub fn terminations() -> Self {
        Self::all(vec![&INTERRUPTS_HELD, &TERMINATIONS_HELD])
    }

    fn all(counts: Vec<&'static AtomicUsize>) -> Self {
        for count in &counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Self(counts)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for count in &self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Runs the program until it ends or a signal ends it: Ctrl-C, SIGTERM, SIGQUIT or a closed window.
/// Then the servers that it started are asked to end, and killed after a timeout. A second signal
/// kills them at once. Must be called only once per process.
/// The error is the exit code, if a signal ended the program.
pub fn run<T>(runtime: &Runtime, program: impl Future<Output = T>) -> Result<T, u8> {
    let signals = Builder::new_current_thread().enable_all().build();
    if let Ok(signals) = signals {
        let listening = {
            let _within = signals.enter();
            Signals::new()
        };
        // A thread of its own, because the program may block its runtime.
        thread::spawn(move || signals.block_on(listen(listening)));
    }
    runtime.block_on(async {
        let ran = {
            let program = pin!(program);
            let mut end = END.subscribe();
            tokio::select! {
                biased;
                code = end.wait_for(Option::is_some) => Err(code.ok().and_then(|code| *code)),
                ran = program => Ok(ran),
            }
        };
        // The program and its clients are now dropped.
        ENDING.get_or_init(Instant::now);
        if timeout(SERVERS, Child::all_ended()).await.is_err() {
            Child::kill_all();
        }
        ran.map_err(|code| code.unwrap_or(1))
    })
}

/// Ends the program because its window was closed, even if its parent process ignored SIGHUP. Questions
/// are cancelled and servers are told first.
#[cfg(unix)]
pub(crate) async fn close() {
    sleep(CLOSING).await;
    end(Signal::Hangup.code());
}

/// Ends the program with this exit code. Exits at once if [`run`] is not running.
pub(crate) fn end(code: u8) {
    if END.receiver_count() == 0 {
        end_now(code);
    }
    END.send_if_modified(|end| end.replace(end.unwrap_or(code)).is_none());
}

#[must_use]
pub fn is_ending() -> bool {
    END.borrow().is_some()
}

/// Restores the terminal before the message of a panic.
pub(crate) fn restore_after_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave_terminal();
            before(panic);
        }));
    });
}

fn leave_terminal() {
    full::leave();
    plain::leave();
}

fn end_now(code: u8) -> ! {
    leave_terminal();
    Child::kill_all();
    std::process::exit(code.into());
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code))]
enum Signal {
    Interrupt,
    Quit,
    Terminate,
    Hangup,
}

impl Signal {
    /// The exit code that a shell reports for this signal.
    fn code(self) -> u8 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Quit => 131,
            Self::Terminate => 143,
        }
    }

    /// Whether the signal is handled by a part of the program.
    fn is_held(self) -> bool {
        match self {
            Self::Interrupt => INTERRUPTS_HELD.load(Ordering::Relaxed) > 0,
            Self::Terminate => TERMINATIONS_HELD.load(Ordering::Relaxed) > 0,
            Self::Quit | Self::Hangup => false,
        }
    }
}

async fn listen(mut signals: Signals) {
    let mut first: Option<Instant> = None;
    loop {
        let signal = signals.next().await;
        // A front end may have ended the program on the same Ctrl-C.
        if let Some(since) = first.as_ref().or_else(|| ENDING.get()) {
            let is_same = since.elapsed() < SAME;
            // A window is closed only once.
            if !is_same && signal != Signal::Hangup {
                end_now(signal.code());
            }
            continue;
        }
        if signal.is_held() {
            continue;
        }
        if signal == Signal::Hangup {
            sleep(CLOSING).await;
        }
        first = Some(Instant::now());
        end(signal.code());
        tokio::spawn(async move {
            sleep(NOTICE).await;
            if ENDING.get().is_none() {
                end_now(signal.code());
            }
        });
    }
}

/// How long a closed window leaves to cancel questions and tell the servers.
const CLOSING: Duration = Duration::from_millis(500);

#[cfg(unix)]
struct Signals(Vec<(Signal, tokio::signal::unix::Signal)>);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let ignored = ignored();
        let all = [
            (Signal::Interrupt, SignalKind::interrupt()),
            (Signal::Quit, SignalKind::quit()),
            (Signal::Terminate, SignalKind::terminate()),
            (Signal::Hangup, SignalKind::hangup()),
        ];
        let wanted = all.into_iter().filter(|(_, kind)| {
            let bit = kind.as_raw_value().saturating_sub(1);
            u32::try_from(bit).is_ok_and(|bit| ignored.checked_shr(bit).unwrap_or(0) & 1 == 0)
        });
        let signals = wanted.filter_map(|(it, kind)| Some((it, signal(kind).ok()?)));
        Self(signals.collect())
    }

    async fn next(&mut self) -> Signal {
        let signals = &mut self.0;
        std::future::poll_fn(|context| {
            for (it, signal) in &mut *signals {
                if signal.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*it);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

/// A bit mask of the signals that the parent process ignored, for example `nohup`. They stay
/// ignored. 0 if unknown.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}

#[cfg(not(unix))]
struct Signals(());

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self(())
    }

    async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}
