//! Servers in child processes. Each is this test binary, started to run one "test",
//! [`the_server_side`], which serves and never returns. The harness prints noise to standard output
//! first, as some servers do, and the client must ignore it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a server speaks on its standard streams"
)]

use std::{
    env,
    future::pending,
    io::{BufRead, Read, Write},
    net::{TcpListener, TcpStream},
    pin::pin,
    process::{Command, exit},
    time::Duration,
};

use askback::{
    Ctx, Form, Result, Revision, Server, Tool,
    client::{ClientError, Event, ServerEnd},
    keys::{Key, KeyRing, KeySource},
    protocol::CallToolResult,
    transport::{Child, ChildLine},
};
use serde_json::{Value, json};

use super::{Hosted, Scripted, accept, builder, limits};

/// The server to run.
pub(super) const SERVER: &str = "ASKBACK_TEST_SERVER";
/// The address of a listener that watches how long the process lives.
const WITNESS: &str = "ASKBACK_TEST_WITNESS";

/// After this time, a server that should exit by itself is killed.
const PROMPT: Duration = Duration::from_secs(10);

/// The arguments that make this binary serve. With more than one thread, the harness does not print
/// a test's name before the test runs, so the name would end up in the first line of the server's
/// output.
pub(super) const SERVE: [&str; 4] = [
    "--exact",
    "client::child::the_server_side",
    "--nocapture",
    "--test-threads=2",
];

fn child(server: &str) -> Child {
    Child::command(env::current_exe().unwrap())
        .args(SERVE)
        .env(SERVER, server)
}

#[test]
fn the_server_side() {
    let Ok(server) = env::var(SERVER) else { return };
    // Open for as long as the process lives.
    let witness = env::var(WITNESS).map(|address| TcpStream::connect(address).unwrap());
    match server.as_str() {
        "agency" => agency(),
        "prints" => prints(),
        "exits at the probe" => exits_at_the_probe(),
        "crashes" => crashes(),
        "stubborn" => stubborn(),
        "asked to end" => asked_to_end(witness.unwrap()),
        "parent" => parent(),
        "sleeper" => sleep_for_ever(),
        other => panic!("what is {other:?}?"),
    }
    exit(0);
}

#[derive(Form, Debug)]
struct Seat {
    /// By the window?
    window: bool,
}

async fn reserve(ctx: Ctx) -> Result<String> {
    let first: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    let second: Seat = ctx.elicit("And back?").await?.accepted()?;
    Ok(format!("{} {}", first.window, second.window))
}

async fn wait() -> Result<String> {
    pending().await
}

/// An askback server that returns its process id.
fn agency() {
    eprintln!("pid {}", std::process::id());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = Server::new("agency", "1")
        .tool(Tool::new("reserve", reserve))
        .tool(Tool::new("wait", wait))
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
        .build()
        .unwrap();
    runtime.block_on(server.serve_stdio()).unwrap();
    eprintln!("good bye");
    // The thread that reads standard input may still be running.
    exit(0);
}

/// A server whose handler prints, and starts children that print and read.
fn prints() {
    let print = async || -> Result<&'static str> {
        println!("printed a line");
        print!("printed no line");
        std::io::stdout().flush()?;
        let child = Command::new("echo").arg(" and a child").status();
        assert!(child.unwrap().success());
        // If the child inherited the input, it would steal messages of the client.
        assert!(Command::new("cat").status().unwrap().success());
        Ok("done")
    };
    let server = Server::new("prints", "1").tool(Tool::new("print", print));
    let server = server.build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        server.serve_stdio().await.unwrap();
        let again = server.serve_stdio().await.unwrap_err();
        eprintln!("{again}");
    });
    println!("printed after the end");
}

/// Answers the requests on standard input with the function.
fn answer(mut answer: impl FnMut(&str) -> Value) {
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let mut answered = answer(message["method"].as_str().unwrap());
        if let Some(id) = message.get("id") {
            answered["jsonrpc"] = json!("2.0");
            answered["id"] = id.clone();
            println!("{answered}");
        }
    }
}

/// Exits at any first message but `initialize`, as some servers do.
fn exits_at_the_probe() {
    let mut initialized = false;
    answer(|method| {
        if method == "initialize" {
            initialized = true;
            return json!({"result": {
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "touchy", "version": "1"},
            }});
        }
        if !initialized {
            eprintln!("expected initialize");
            exit(101);
        }
        json!({"result": {"tools": []}})
    });
}

fn crashes() {
    answer(|method| match method {
        "server/discover" => {
            json!({"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}})
        }
        _ => {
            eprintln!("out of memory");
            exit(3);
        }
    });
}

/// Ignores both the end of its input and the signal to end.
fn stubborn() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _guard = runtime.enter();
    let terminate = tokio::signal::unix::SignalKind::terminate();
    let _terminations = tokio::signal::unix::signal(terminate).unwrap();
    idle();
    sleep_for_ever();
}

/// Ignores the end of its input, but reports the signal to end.
fn asked_to_end(mut witness: TcpStream) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let terminate = tokio::signal::unix::SignalKind::terminate();
        let mut terminations = tokio::signal::unix::signal(terminate).unwrap();
        tokio::task::spawn_blocking(idle).await.unwrap();
        terminations.recv().await.unwrap();
        witness.write_all(b"asked").unwrap();
    });
}

/// Answers the probe, and returns when its input ends.
fn idle() {
    answer(
        |_| json!({"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}),
    );
}

/// Starts another process, and exits before it.
#[expect(clippy::zombie_processes, reason = "leaving it behind is the point")]
fn parent() {
    let mut sleeper = Command::new(env::current_exe().unwrap());
    sleeper
        .args(SERVE)
        .env(SERVER, "sleeper")
        .stdin(std::process::Stdio::null());
    let _left_behind = sleeper.spawn().unwrap();
    idle();
}

fn sleep_for_ever() {
    loop {
        std::thread::park();
    }
}

fn text(result: &CallToolResult) -> String {
    assert!(!result.failed(), "{result:?}");
    serde_json::to_value(&result.content[0]).unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn seats() -> Scripted {
    Scripted::new(|_| accept(json!({"window": true})))
}

// Shows HT25-02, ST-02, ST-11, ST-12, ST-14, LI25-17, LI25-18, TR-02.
#[tokio::test]
async fn a_server_is_started_called_and_ended() {
    for revision in [
        Some(Revision::V2025_06_18),
        Some(Revision::V2025_11_25),
        None,
    ] {
        let host = seats();
        let client = builder(revision)
            .host(host.clone())
            .limits(limits(|limits| limits.client.exit = PROMPT))
            .connect(child("agency"))
            .await
            .unwrap();
        assert_eq!(client.revision(), revision.unwrap_or(Revision::LATEST));
        let result = client.call_tool("reserve", ()).await.unwrap();
        assert_eq!(text(&result), "true true");
        client.close().await;
        // The server exited when its input ended. Its stderr arrived line by line.
        let lines = host.lines();
        assert!(lines[0].starts_with("pid "), "{lines:?}");
        assert_eq!(lines.last().unwrap(), "good bye");
        // The harness's noise was reported, and did no harm.
        let notes = host
            .heard()
            .into_iter()
            .filter(|event| matches!(event, Event::Note(_)));
        assert_eq!(notes.count(), 1);
    }
}

// Shows ST-03.
#[tokio::test]
async fn what_a_server_prints_is_no_message() {
    for revision in Revision::ALL {
        let host = seats();
        let client = builder(Some(revision))
            .host(host.clone())
            .limits(limits(|limits| limits.client.exit = PROMPT))
            .connect(child("prints"))
            .await
            .unwrap();
        for _ in 0..2 {
            let result = client.call_tool("print", ()).await.unwrap();
            assert_eq!(text(&result), "done");
        }
        client.close().await;
        let printed = ["printed a line", "printed no line and a child"];
        let after = [
            "the standard streams of this process serve a client already",
            "printed after the end",
        ];
        assert_eq!(host.lines(), [&printed[..], &printed, &after].concat());
        // Apart from the noise that the harness makes first.
        let notes = host.heard().into_iter().filter_map(|event| match event {
            Event::Note(note) => Some(note),
            _ => None,
        });
        let notes: Vec<_> = notes.collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        let advice = "A program that speaks MCP over stdio must not print to its standard output";
        assert!(
            notes[0].contains("`running 1 test`") && notes[0].ends_with(advice),
            "{notes:?}"
        );
    }
}

// Shows ST-14.
#[tokio::test]
async fn a_server_ends_with_its_input_whatever_it_works_on() {
    let host = seats();
    let client = builder(None)
        .host(host.clone())
        .limits(limits(|limits| limits.client.exit = PROMPT))
        .connect(child("agency"))
        .await
        .unwrap();
    let other = client.clone();
    let mut waiting = pin!(other.call_tool("wait", ()));
    // A message that is sent after the call is answered while the server works on the call.
    tokio::select! {
        biased;
        ended = &mut waiting => panic!("{ended:?}"),
        result = client.call_tool("reserve", ()) => assert_eq!(text(&result.unwrap()), "true true"),
    }
    client.close().await;
    assert_eq!(host.lines().last().unwrap(), "good bye");
}

/// The id of the `nth` started process, once the process has printed it. The id arrives on another
/// stream than the question, and may be later.
async fn process(host: &Scripted, nth: usize) -> String {
    loop {
        let lines = host.lines();
        let mut pids = lines.iter().filter_map(|line| line.strip_prefix("pid "));
        if let Some(pid) = pids.nth(nth) {
            return pid.to_owned();
        }
        tokio::task::yield_now().await;
    }
}

// Shows ST-15.
#[tokio::test]
async fn a_server_may_be_killed_between_any_two_rounds() {
    let host = std::sync::Arc::new(std::sync::OnceLock::<Scripted>::new());
    let hearing = std::sync::Arc::clone(&host);
    let rounds = std::sync::atomic::AtomicUsize::new(0);
    let killing = Scripted::waiting(move |_| {
        let hearing = std::sync::Arc::clone(&hearing);
        let round = rounds.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(async move {
            let pid = process(hearing.get().unwrap(), round).await;
            let kill = Command::new("kill").args(["-KILL", &pid]).status();
            assert!(kill.unwrap().success());
            accept(json!({"window": true}))
        })
    });
    host.set(killing.clone()).ok().unwrap();
    let client = builder(None)
        .host(killing.clone())
        .resend_answers(true)
        .connect(child("agency"))
        .await
        .unwrap();
    let result = client.call_tool("reserve", ()).await.unwrap();
    assert_eq!(text(&result), "true true");
    process(&killing, 2).await;
    client.close().await;
    let lines = killing.lines();
    let started = lines.iter().filter(|line| line.starts_with("pid "));
    assert_eq!(started.count(), 3);
}

#[tokio::test]
async fn a_server_that_ends_itself_at_the_probe_is_started_again() {
    let host = seats();
    let client = builder(None)
        .host(host.clone())
        .connect(child("exits at the probe"))
        .await
        .unwrap();
    assert_eq!(client.revision(), Revision::V2025_06_18);
    assert!(client.tools().await.unwrap().is_empty());
    assert_eq!(host.lines(), ["expected initialize"]);
    client.close().await;
}

// Shows ST-02, LI25-24.
#[tokio::test]
async fn a_crash_says_how_the_server_ended_after_all_it_said() {
    let host = seats();
    let client = builder(None)
        .host(host.clone())
        .connect(child("crashes"))
        .await
        .unwrap();
    let error = client.call_tool("t", ()).await.unwrap_err();
    assert_eq!(error, ClientError::Crashed(ServerEnd::exited(3)));
    assert_eq!(host.lines(), ["out of memory"]);
    client.close().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_cannot_be_reached() {
    let away = || Child::command("sh").current_dir("/nowhere/at/all");
    for (child, says) in [
        (
            Child::command("/nowhere/at/all"),
            "`/nowhere/at/all` cannot be started: ",
        ),
        // The error blames the folder, not the program.
        (
            away(),
            "`sh` cannot be started: the folder `/nowhere/at/all` does not exist",
        ),
        (
            away().shown_as("it"),
            "`it` cannot be started: its folder does not exist",
        ),
    ] {
        let Err(error) = builder(None).connect(child).await else {
            panic!("connected to nothing")
        };
        let ClientError::Unreachable(why) = error else {
            panic!("{error:?}")
        };
        assert!(why.starts_with(says), "{why}");
    }
}

/// Waits until a process has connected to this listener and closed the connection.
struct Witness {
    listener: TcpListener,
}

impl Witness {
    fn new() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        }
    }

    fn address(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    fn meet(&self) -> TcpStream {
        let (life, _) = self.listener.accept().unwrap();
        life.set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        life
    }
}

#[track_caller]
fn assert_dead(mut life: TcpStream) {
    assert_eq!(life.read_to_end(&mut Vec::new()).unwrap(), 0);
}

// Shows ST-13, LI24-05, LI25-18, LI25-19.
#[tokio::test]
async fn a_server_that_does_not_end_is_killed() {
    let witness = Witness::new();
    let client = builder(None)
        .limits(limits(|limits| {
            limits.client.exit = Duration::from_millis(50)
        }))
        .connect(child("stubborn").env(WITNESS, witness.address()))
        .await
        .unwrap();
    let life = witness.meet();
    client.close().await;
    assert_dead(life);
}

#[tokio::test]
async fn a_server_is_asked_to_end_before_it_is_killed() {
    let witness = Witness::new();
    let client = builder(None)
        .connect(child("asked to end").env(WITNESS, witness.address()))
        .await
        .unwrap();
    let mut life = witness.meet();
    client.close().await;
    let mut said = String::new();
    life.read_to_string(&mut said).unwrap();
    assert_eq!(said, "asked");
}

// Shows ST-13.
#[tokio::test]
async fn no_orphan_is_left_behind() {
    let witness = Witness::new();
    let client = builder(None)
        .connect(child("parent").env(WITNESS, witness.address()))
        .await
        .unwrap();
    let (parent, sleeper) = (witness.meet(), witness.meet());
    client.close().await;
    assert_dead(parent);
    assert_dead(sleeper);
}

#[test]
fn no_orphan_is_left_behind_by_a_runtime_that_is_gone() {
    let witness = Witness::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = child("parent").env(WITNESS, witness.address());
    let client = runtime.block_on(builder(None).connect(server)).unwrap();
    let (parent, sleeper) = (witness.meet(), witness.meet());
    drop(runtime);
    assert_dead(parent);
    assert_dead(sleeper);
    drop(client);
}

#[tokio::test]
async fn dropping_the_client_ends_the_server() {
    let witness = Witness::new();
    let client = builder(None)
        .connect(child("agency").env(WITNESS, witness.address()))
        .await
        .unwrap();
    let life = witness.meet();
    drop(client);
    tokio::task::spawn_blocking(|| assert_dead(life))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_open_child_is_sent_and_says_what_it_will() {
    let limits = limits(|limits| limits.client.exit = PROMPT);
    let mut open = child("exits at the probe").open(&limits).unwrap();
    open.send(b"{\"id\": 1, \"method\": \"askback\"}".to_vec())
        .await
        .unwrap();
    // The harness's output comes first.
    let mut stderr = Vec::new();
    while let Some(line) = open.receive().await.unwrap() {
        if let ChildLine::Stderr(line) = line {
            stderr.push(line);
        }
    }
    let end = open.end(&limits).await.unwrap();
    stderr.extend(end.stderr);
    assert_eq!(stderr, ["expected initialize"]);
    assert_eq!((end.code, end.is_by_itself), (Some(101), true));
}

#[tokio::test]
async fn an_open_child_that_does_not_end_is_ended() {
    let limits = limits(|limits| limits.client.exit = Duration::from_millis(50));
    let open = child("stubborn").open(&limits).unwrap();
    let end = open.end(&limits).await.unwrap();
    assert_eq!((end.code, end.is_by_itself), (None, false));
}

#[tokio::test]
async fn an_open_child_that_reads_nothing_is_ended() {
    let limits = limits(|limits| limits.client.exit = Duration::from_millis(50));
    let mut open = child("sleeper").open(&limits).unwrap();
    // More than a pipe's buffer.
    let sending = open.send(vec![b'a'; 1 << 20]);
    let sent = tokio::time::timeout(limits.client.exit, sending).await;
    assert!(!matches!(sent, Ok(Err(_))), "{sent:?}");
    let ending = tokio::time::timeout(PROMPT, open.end(&limits)).await;
    let end = ending.expect("it is ended").unwrap();
    assert_eq!((end.code, end.is_by_itself), (None, false));
}

#[tokio::test]
async fn an_exit_is_noticed_while_another_process_holds_the_output() {
    async fn check(script: &str) {
        let child = Child::command("sh").args(["-c", script]);
        let connecting = builder(None).connect(child);
        let connected = tokio::time::timeout(PROMPT, connecting).await;
        let error = connected.expect("it is noticed").unwrap_err();
        assert!(error.to_string().contains("(code 7)"), "{script}: {error}");
    }
    check("sleep 30 & read line; exit 7").await;
    check("setsid sleep 30 & read line; exit 7").await;
    check("setsid sleep 30 & exit 7").await;
}

#[tokio::test]
async fn what_a_server_wrote_before_its_exit_is_read() {
    let script = "setsid sleep 30 & i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo $i; done";
    let child = Child::command("sh").args(["-c", script]);
    let mut child = child.open(&limits(|_| {})).unwrap();
    let mut lines = 0;
    while let Some(line) = child.receive().await.unwrap() {
        lines += 1;
        assert_eq!(line, ChildLine::Output(lines.to_string().into_bytes()));
    }
    assert_eq!(lines, 500);
}
