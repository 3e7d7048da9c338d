//! A commit happens once: servers in child processes, with default settings, that crash between the
//! effect and the answer.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
    thread,
    time::Instant,
};

use askback::{
    Ctx, Limits, Result, Server, ServerBuilder, Tool,
    client::{Client, ClientError},
    keys::{Key, KeyRing, KeySource},
    protocol::ElicitResult,
    transport,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::asking::{Seat, seat_round};

/// A machine on which servers are started: their state, and the effects.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes the process crash after its next effect.
    fn will_crash(&self) {
        fs::write(self.path("crash"), "").unwrap();
    }

    fn effects(&self) -> usize {
        let lines = fs::read_to_string(self.path("effects")).unwrap_or_default();
        lines.lines().count()
    }

    fn variables(&self, over: &str, keys: &str) -> [(String, String); 4] {
        let path = |name| self.path(name).to_str().unwrap().to_owned();
        [
            ("XDG_STATE_HOME".to_owned(), path("state")),
            ("ONCE_FOLDER".to_owned(), path("")),
            ("ONCE_OVER".to_owned(), over.to_owned()),
            ("ONCE_KEYS".to_owned(), keys.to_owned()),
        ]
    }

    fn start(&self) -> Process {
        self.start_with("default")
    }

    fn start_with(&self, keys: &str) -> Process {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(SERVER)
            .envs(self.variables("http", keys))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(
                lines.read_line(&mut line).unwrap() > 0,
                "the server has ended"
            );
            if let Some(port) = line.trim().strip_prefix("port ") {
                break port.parse().unwrap();
            }
        };
        Process {
            child,
            port,
            _lines: lines,
        }
    }
}

/// The arguments that make this binary a server.
const SERVER: [&str; 4] = [
    "once::server_of_another_process",
    "--exact",
    "--ignored",
    "--nocapture",
];

/// The server in another process: it books a seat after a question.
#[ignore = "this is the server that the other tests start"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_of_another_process() {
    let Some(folder) = env::var_os("ONCE_FOLDER").map(PathBuf::from) else {
        return;
    };
    let server = server(folder, &env::var("ONCE_KEYS").unwrap());
    if env::var("ONCE_OVER").unwrap() == "stdio" {
        return server.run_stdio().await.unwrap();
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    writeln!(std::io::stdout(), "port {port}").unwrap();
    server
        .build()
        .unwrap()
        .http()
        .serve(listener)
        .await
        .unwrap();
}

fn server(folder: PathBuf, keys: &str) -> ServerBuilder {
    let folder = Arc::new(folder);
    let book = move |ctx: Ctx| {
        let folder = Arc::clone(&folder);
        async move {
            let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
            let booked = ctx.commit("book", async move || effect(&folder)).await?;
            Ok(format!("booked {booked}"))
        }
    };
    let server = Server::new("agency", "1").tool(Tool::new("tool", book));
    match keys {
        "configured" => server.keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32])))),
        _ => server,
    }
}

fn effect(folder: &Path) -> Result<u32> {
    let options = fs::OpenOptions::new().create(true).append(true).to_owned();
    let mut effects = options.open(folder.join("effects"))?;
    writeln!(effects, "{}", std::process::id())?;
    effects.sync_all()?;
    if fs::remove_file(folder.join("crash")).is_ok() {
        std::process::abort();
    }
    Ok(std::process::id())
}

struct Process {
    child: Child,
    port: u16,
    /// Dropped only after the server, which writes to it.
    _lines: BufReader<ChildStdout>,
}

impl Process {
    fn terminate(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        self.child.wait().unwrap();
    }

    /// One round of the call. With `before`, answers its question. Returns `None` if the server
    /// ends.
    fn round(&self, before: Option<&Value>) -> Option<Value> {
        round(self.port, before)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn round(port: u16, before: Option<&Value>) -> Option<Value> {
    let params = seat_round("tool", before);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let message = message.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: tool\r\n\
         content-length: {}\r\n\r\n",
        message.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(message.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A server that ends may reset the connection.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (begin, end) = (answer.find('{')?, answer.rfind('}')?);
    Some(serde_json::from_str(&answer[begin..=end]).unwrap_or_else(|_| panic!("{answer}")))
}

fn text(response: &Value) -> &str {
    let text = response["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {response}"))
}

/// The result of a call whose process ended between the effect and the answer.
const UNKNOWN: &str =
    "`book` was begun and never finished: its outcome is unknown; check before you try again";

#[test]
fn an_effect_before_a_restart_is_not_done_again_after_it() {
    for keys in ["default", "configured"] {
        let machine = Machine::new();
        let first = machine.start_with(keys);
        let asked = first.round(None).unwrap();
        first.terminate();
        let second = machine.start_with(keys);
        let booked = second.round(Some(&asked)).unwrap();
        assert!(text(&booked).starts_with("booked "), "{booked}");
        second.terminate();
        let third = machine.start_with(keys);
        let again = third.round(Some(&asked)).unwrap();
        assert_eq!(text(&again), text(&booked), "{keys}");
        assert_eq!(machine.effects(), 1, "{keys}");
    }
}

#[test]
fn an_effect_of_a_process_that_was_killed_before_its_answer_is_not_done_again() {
    let machine = Machine::new();
    let first = machine.start();
    let asked = first.round(None).unwrap();
    machine.will_crash();
    assert_eq!(first.round(Some(&asked)), None);
    let begun = Instant::now();
    for _ in 0..2 {
        let next = machine.start();
        assert_eq!(text(&next.round(Some(&asked)).unwrap()), UNKNOWN);
    }
    let took = begun.elapsed();
    assert!(
        took < Limits::default().asking.run / 2,
        "waited {took:?} for a process that is gone"
    );
    assert_eq!(machine.effects(), 1);
}

#[test]
fn an_effect_without_a_claim_is_said_not_to_be_begun() {
    let machine = Machine::new();
    let server = machine.start();
    let asked = server.round(None).unwrap();
    let (claims, away) = (
        machine.path("state/askback/agency.claims"),
        machine.path("away"),
    );
    fs::rename(&claims, &away).unwrap();
    let refused = server.round(Some(&asked)).unwrap();
    let words =
        "`book` was not begun by this attempt: The server could not keep the state of this call;";
    assert!(text(&refused).starts_with(words), "{refused}");
    assert_eq!(machine.effects(), 0);
    fs::rename(&away, &claims).unwrap();
    let booked = server.round(Some(&asked)).unwrap();
    assert!(text(&booked).starts_with("booked "), "{booked}");
}

#[test]
fn only_one_of_two_processes_performs_the_effect() {
    let machine = Machine::new();
    let (left, right) = (machine.start(), machine.start());
    for calls in 1..=10 {
        let asked = left.round(None).unwrap();
        let (asked, ports) = (&asked, [left.port, right.port, left.port, right.port]);
        let answers: Vec<String> = thread::scope(|scope| {
            let answers = ports.map(|port| scope.spawn(move || round(port, Some(asked))));
            let answers = answers.map(|answer| answer.join().unwrap().unwrap());
            answers
                .iter()
                .map(|answer| text(answer).to_owned())
                .collect()
        });
        assert!(
            answers[0].starts_with("booked ") && answers.iter().all(|it| *it == answers[0]),
            "{answers:?}"
        );
        assert_eq!(machine.effects(), calls);
    }
}

#[test]
fn an_old_state_does_not_open_if_claims_cannot_be_stored() {
    for spoil in ["state", "state/askback/agency.claims"] {
        let machine = Machine::new();
        let path = machine.path(spoil);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "no folder").unwrap();
        let first = machine.start();
        let asked = first.round(None).unwrap();
        let booked = first.round(Some(&asked)).unwrap();
        assert!(text(&booked).starts_with("booked "), "{booked}");
        first.terminate();
        let second = machine.start();
        let refused = second.round(Some(&asked)).unwrap();
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(machine.effects(), 1);
    }
}

async fn connect(machine: &Machine, resends: bool) -> Client {
    let server = transport::Child::command(env::current_exe().unwrap())
        .args(SERVER)
        .envs(machine.variables("stdio", "default"));
    let client = Client::builder("tests", "1")
        .on_elicit(async |_| Ok(ElicitResult::form(&Seat { window: true })))
        .resend_answers(resends);
    client.connect(server).await.unwrap()
}

#[tokio::test]
async fn our_client_does_not_have_an_effect_done_again() {
    for resends in [false, true] {
        let machine = Machine::new();
        let client = connect(&machine, resends).await;
        machine.will_crash();
        let ended = client.call_tool("tool", ()).await;
        match (resends, ended) {
            (false, Err(ClientError::OutcomeUnknown(_))) => {}
            (true, Ok(result)) => assert!(format!("{result:?}").contains(UNKNOWN), "{result:?}"),
            (_, ended) => panic!("{ended:?}"),
        }
        assert_eq!(machine.effects(), 1);
        // The server is started again for the next call.
        let booked = client.call_tool("tool", ()).await.unwrap();
        assert!(format!("{booked:?}").contains("booked "), "{booked:?}");
        assert_eq!(machine.effects(), 2);
        client.close().await;
    }
}

#[tokio::test]
async fn a_server_in_memory_makes_no_files() {
    // Runs this test program again, with other environment variables.
    let machine = Machine::new();
    let ended = Command::new(env::current_exe().unwrap())
        .args(["once::memory_of_another_process", "--exact", "--ignored"])
        .envs(machine.variables("memory", "default"))
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(machine.effects(), 2);
    assert!(!machine.path("state").exists());
}

/// A server with a client in the same process.
#[ignore = "another test starts this, with an environment of its own"]
#[tokio::test]
async fn memory_of_another_process() {
    let Some(folder) = env::var_os("ONCE_FOLDER").map(PathBuf::from) else {
        return;
    };
    for keys in ["default", "configured"] {
        let server = server(folder.clone(), keys).build().unwrap();
        let (near, far) = transport::memory();
        tokio::spawn(async move { server.serve(far).await });
        let client = Client::builder("tests", "1")
            .on_elicit(async |_| Ok(ElicitResult::form(&Seat { window: true })));
        let client = client.connect(near).await.unwrap();
        let booked = client.call_tool("tool", ()).await.unwrap();
        assert!(format!("{booked:?}").contains("booked "), "{booked:?}");
        client.close().await;
    }
}
