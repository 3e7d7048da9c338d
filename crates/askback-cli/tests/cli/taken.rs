//! Tasks of a server over HTTP, which outlive the conversation that began them.

use std::{
    fs,
    future::pending,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use askback::{Ctx, Form, Result, Server, Tool, protocol::TaskSupport};
use tokio::{net::TcpListener, runtime::Builder, sync::oneshot};

use crate::{
    full::{CTRL_D, ENTER, PATIENCE, REVIEW, Terminal},
    scratch::Scratch,
};

#[derive(Form)]
struct Depth {
    metres: u8,
}

/// A server whose calls are tasks: `dig` asks how deep, and `wait` never ends.
struct Ground {
    address: SocketAddr,
    /// How often a tool was called.
    calls: Arc<AtomicUsize>,
    /// Hears of the end of each call, however it ends.
    ends: Receiver<()>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

/// Tells when it is dropped, as what a call holds is at its end.
struct Ending(Sender<()>);

impl Drop for Ending {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send(());
    }
}

impl Ground {
    /// One that is reached at an address, or at any that is free.
    fn start(address: Option<SocketAddr>) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let (ended, ends) = mpsc::channel();
        let called = Arc::clone(&calls);
        let begin = move || {
            called.fetch_add(1, Ordering::Relaxed);
            Ending(ended.clone())
        };
        let begin_waiting = begin.clone();
        let wait = move || {
            let ending = begin_waiting();
            async move {
                let _ending = ending;
                pending::<Result<String>>().await
            }
        };
        let dig = move |ctx: Ctx| {
            let ending = begin();
            async move {
                let _ending = ending;
                let depth: Depth = ctx.elicit("How deep?").await?.accepted()?;
                Result::Ok(format!("{} metres", depth.metres))
            }
        };
        let server = Server::new("ground", "1")
            .tool(Tool::new("dig", dig).task(TaskSupport::Optional))
            .tool(Tool::new("wait", wait).task(TaskSupport::Optional))
            .build()
            .expect("it is well made");
        let (stop, stopped) = oneshot::channel();
        let (bound, address_of) = mpsc::channel();
        let serving = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("there is room for one").block_on(async {
                let address = address.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
                let listener = TcpListener::bind(address).await.expect("it is free");
                let address = listener.local_addr().expect("it is bound");
                bound.send(address).expect("it is waited for");
                tokio::select! {
                    _ = server.http().serve(listener) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address: address_of.recv().expect("it is served"),
            calls,
            ends,
            stop: Some(stop),
            serving: Some(serving),
        }
    }

    /// A conversation with it, at the line of commands.
    fn open(&self, scratch: &Scratch) -> Terminal {
        let mut terminal = self.begin(scratch);
        terminal.until("> ");
        terminal
    }

    /// A conversation with it, in which a task that was begun earlier may ask at once.
    fn begin(&self, scratch: &Scratch) -> Terminal {
        let url = format!("http://{}/mcp", self.address);
        let state = scratch.path("state");
        let state = state.to_str().expect("it is a text");
        let words = ["open", "--url", &url, "--name", "ground"];
        Terminal::open_with(&words, 100, &[("XDG_STATE_HOME", state)])
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Waits for the end of a call.
    #[track_caller]
    fn ended(&self) {
        let ended = self.ends.recv_timeout(PATIENCE);
        ended.expect("a call ends");
    }

    #[track_caller]
    fn goes_on(&self) {
        assert!(self.ends.try_recv().is_err(), "the call has ended");
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            // What went wrong there was seen here.
            let _ = serving.join();
        }
    }
}

/// The files of tasks that are kept.
fn kept(scratch: &Scratch) -> usize {
    let folder = scratch.path("state").join("askback").join("tasks");
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Waits until a task is kept.
#[track_caller]
fn until_kept(scratch: &Scratch) {
    let begun = Instant::now();
    while kept(scratch) == 0 {
        assert!(begun.elapsed() < PATIENCE, "no task is kept");
        thread::yield_now();
    }
}

/// Begins a task, and waits until it asks.
#[track_caller]
fn begin(terminal: &mut Terminal) {
    terminal
        .press("/begin dig")
        .until("/begin dig")
        .press(ENTER);
    terminal.until("ground asks · task 1 | dig");
}

/// Answers the question of a task.
#[track_caller]
fn answer(terminal: &mut Terminal) {
    terminal.press("7").until("metres* 7");
    terminal.press(REVIEW).until("[Enter] Send").press(ENTER);
}

/// Asks how the tasks stand, where there is none.
#[track_caller]
fn has_none(terminal: &mut Terminal) {
    terminal.press("/tasks").until("> /tasks").press(ENTER);
    terminal.until("No task was begun");
}

// Shows TA-16.
#[test]
fn a_task_outlives_the_process_that_began_it() {
    let scratch = Scratch::new("taken-killed");
    let ground = Ground::start(None);
    let mut first = ground.open(&scratch);
    begin(&mut first);
    // Another conversation leaves it to the one that follows it.
    let mut beside = ground.open(&scratch);
    has_none(&mut beside);
    beside.press(CTRL_D);
    assert_eq!(beside.end(), Some(0));
    first.kill();
    let mut second = ground.begin(&scratch);
    second.until("ground asks · task 1 | dig");
    answer(&mut second);
    second.until("Task 1 is done: | dig");
    second.press("/tasks 1").until("> /tasks 1").press(ENTER);
    second.until("| 7 metres").press(CTRL_D);
    assert!(second.shows("Task 1 was begun earlier and goes on: | dig"));
    assert_eq!(second.end(), Some(0));
    assert_eq!((ground.calls(), kept(&scratch)), (1, 0));
    has_none(&mut ground.open(&scratch));
}

// Shows TA-16.
#[test]
fn a_question_that_was_open_when_the_window_was_closed_is_asked_again() {
    let scratch = Scratch::new("taken-closed");
    let ground = Ground::start(None);
    let mut first = ground.open(&scratch);
    begin(&mut first);
    first.hang_up();
    let mut second = ground.begin(&scratch);
    second.until("ground asks · task 1 | dig");
    ground.goes_on();
    answer(&mut second);
    second.until("Task 1 is done: | dig").press(CTRL_D);
    assert_eq!(second.end(), Some(0));
}

// Shows TA-16.
#[test]
fn a_task_that_is_left_is_there_again_until_it_is_cancelled() {
    let scratch = Scratch::new("taken-left");
    let ground = Ground::start(None);
    let mut first = ground.open(&scratch);
    first.press("/begin wait").until("/begin wait").press(ENTER);
    first.until("Task 1 began: | wait");
    until_kept(&scratch);
    first.press(CTRL_D);
    first.until("Tasks at work: 1. They go on, and are there again");
    assert_eq!(first.end(), Some(0));
    let mut second = ground.open(&scratch);
    second.until("Task 1 was begun earlier and goes on: | wait");
    ground.goes_on();
    second.press("/tasks cancel 1").until("> /tasks cancel 1");
    second.press(ENTER).until("Task 1 is cancelled: | wait");
    ground.ended();
    second.press(CTRL_D);
    assert_eq!(second.end(), Some(0));
    assert_eq!((ground.calls(), kept(&scratch)), (1, 0));
    has_none(&mut ground.open(&scratch));
}

#[test]
fn a_task_whose_server_cannot_be_reached_is_asked_after_again() {
    let scratch = Scratch::new("taken-gone");
    let ground = Ground::start(None);
    let mut terminal = ground.open(&scratch);
    terminal
        .press("/begin wait")
        .until("/begin wait")
        .press(ENTER);
    terminal.until("Task 1 began: | wait");
    until_kept(&scratch);
    let address = ground.address;
    drop(ground);
    terminal.until("Task 1 failed: | wait");
    terminal.until("It may go on at the server: /restart asks after it.");
    let _ground = Ground::start(Some(address));
    terminal.press("/restart").until("> /restart").press(ENTER);
    terminal.until("Task 2 was begun earlier and goes on: | wait");
    terminal.until("Task 2 is over, and the server no longer knows it: | wait");
    assert_eq!(kept(&scratch), 0);
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_task_that_the_server_no_longer_knows_is_forgotten() {
    let scratch = Scratch::new("taken-lost");
    let ground = Ground::start(None);
    let mut first = ground.open(&scratch);
    begin(&mut first);
    first.kill();
    assert_ne!(kept(&scratch), 0);
    let address = ground.address;
    drop(ground);
    let ground = Ground::start(Some(address));
    let mut second = ground.open(&scratch);
    second.until("Task 1 is over, and the server no longer knows it: | dig");
    assert_eq!(kept(&scratch), 0);
    second.press(CTRL_D);
    assert_eq!(second.end(), Some(0));
    has_none(&mut ground.open(&scratch));
}
