//! Stories: the screens that a user sees at several widths, and the answers that the server receives. Each story runs
//! three times: on the full screen, in line mode (`--plain`) and with an answers file. The server must receive the same
//! answers each time.
//!
//! To record the screens again:
//! `INSTA_UPDATE=always cargo test --workspace --all-features --test cli -- stories`.

mod closing;
mod deaths;
mod faults;
mod forms;
mod hostile;
mod http;
mod links;
mod models;

use std::{collections::BTreeMap, fs, thread, time::Instant};

use pty_process::blocking::Command;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::{
    full::{PATIENCE, Terminal},
    models::provider,
    run::{ASKBACK, Run},
    scratch::Scratch,
};

/// The terminal widths of each story.
const WIDTHS: [u16; 3] = [40, 80, 120];

/// The rows of a recorded screen.
const ROWS: usize = 24;

struct Story<'a> {
    name: &'a str,
    server: Server<'a>,
    /// Whether sampling requests can be answered.
    model: bool,
    /// Whether the story runs `askback open` instead of `askback call`.
    opens: bool,
    /// The events on the full screen.
    full: &'a [Do<'a>],
    /// The lines that are typed in line mode. Empty to skip this run.
    plain: &'a str,
    /// The rules of the answers file. Empty to skip this run.
    answers: &'a str,
    exit: i32,
}

enum Server<'a> {
    /// The form of the travel agency with every kind of field.
    Travel,
    /// A server that asks with these messages in each round.
    Asks(&'a [String]),
    /// Like [`Asks`](Self::Asks), with other results for these methods. A method with the result
    /// null ends the server.
    Says(&'a [(&'a str, Value)], &'a [String]),
}

#[derive(Clone, Copy)]
enum Do<'a> {
    /// Waits until this text is visible.
    Until(&'a str),
    /// Waits until this text is no longer visible.
    Gone(&'a str),
    Press(&'a str),
    Paste(&'a str),
    /// Changes the terminal to this number of columns.
    Resize(u16),
    See,
    Kill,
}

const UNTOLD: Story<'_> = Story {
    name: "",
    server: Server::Travel,
    model: false,
    opens: false,
    full: &[],
    plain: "",
    answers: "",
    exit: 0,
};

impl Server<'_> {
    /// Writes the server into a folder. Returns the words to call its tool, and the words to start it.
    fn set(&self, scratch: &Scratch) -> (&'static [&'static str], &'static [&'static str]) {
        let (said, rounds) = match self {
            Self::Travel => {
                scratch.file("travel.sh", "tee heard | exec \"$PROGRAM\" serve travel\n");
                let call = &["tailor_trip", "destination=Kyoto"];
                return (call, &["--name", "travel", "--", "sh", "travel.sh"]);
            }
            Self::Asks(rounds) => (&[][..], rounds),
            Self::Says(said, rounds) => (*said, rounds),
        };
        scratch.file("stage.sh", include_str!("stage.sh"));
        for (method, answer) in answered(said) {
            let file = scratch.path(&format!("answers/{method}"));
            let folder = file.parent().expect("it is in one");
            fs::create_dir_all(folder).expect("the target folder can be written");
            scratch.file(&format!("answers/{method}"), &answer);
        }
        for (index, round) in rounds.iter().enumerate() {
            scratch.file(&format!("round-{}", index + 1), round);
        }
        let start = &[
            "--protocol",
            "2025-11-25",
            "--name",
            "zoo",
            "--",
            "sh",
            "stage.sh",
        ];
        (&["t"], start)
    }
}

/// The server's results by method, with `said` replacing the default ones. Each is formatted as a member of a message.
fn answered<'a>(said: &[(&'a str, Value)]) -> BTreeMap<&'a str, String> {
    let greeting = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "zoo", "version": "1"},
    });
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let called = json!({"content": [{"type": "text", "text": "done"}]});
    let mut answers = BTreeMap::from([
        ("initialize", greeting),
        ("tools/list", tools),
        ("tools/call", called),
    ]);
    answers.extend(said.iter().cloned());
    answers.retain(|_, answer| !answer.is_null());
    let member = |answer: &Value| match answer.get("error") {
        Some(error) => format!("\"error\":{error}"),
        None => format!("\"result\":{answer}"),
    };
    let answers = answers.iter();
    answers
        .map(|(&method, answer)| (method, member(answer)))
        .collect()
}

/// A request from a server.
fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn form(id: &str, message: &str, fields: &Value, required: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": fields, "required": required});
    let params = json!({"message": message, "requestedSchema": schema});
    request(id, "elicitation/create", &params)
}

fn link(id: &str, url: &str) -> Value {
    let params = json!({"mode": "url", "message": "Pay.", "elicitationId": id, "url": url});
    request(id, "elicitation/create", &params)
}

/// A round with these messages.
fn asks(messages: &[Value]) -> String {
    let lines = messages.iter().map(|message| format!("{message}\n"));
    lines.collect()
}

/// The answers that the server received, one per line.
fn heard(scratch: &Scratch) -> String {
    let heard = fs::read_to_string(scratch.path("heard")).unwrap_or_default();
    let mut answers: Vec<_> = heard.lines().flat_map(answers).collect();
    // Questions in a queue can be answered in any order.
    answers.sort();
    answers.concat()
}

/// The answers in a message, one per line.
fn answers(line: &str) -> Vec<String> {
    let message: Value = serde_json::from_str(line).expect("the command writes JSON");
    let line = |id: &str, answer: &Value| {
        let text = answer.to_string();
        match text.len() {
            0..2000 => format!("{id}: {text}\n"),
            long => format!("{id}: {long} bytes that hash to {}\n", hash(&text)),
        }
    };
    match (&message["method"], &message["params"]["inputResponses"]) {
        (Value::Null, _) => {
            let id = message["id"].as_str().unwrap_or_default();
            let result = message.get("result").unwrap_or(&message["error"]);
            vec![line(id, result)]
        }
        (_, Value::Object(answers)) => answers
            .iter()
            .map(|(key, answer)| line(key, answer))
            .collect(),
        _ => Vec::new(),
    }
}

fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

/// Runs a story in all ways, and compares it with the recorded one.
#[track_caller]
fn tell(story: &Story<'_>) {
    let mut told = String::new();
    let mut wire = None;
    for width in WIDTHS {
        let (screens, heard) = on_the_screen(story, width);
        told += &format!("=== {width} columns ===\n{screens}");
        assert_eq!(
            *wire.get_or_insert_with(|| heard.clone()),
            heard,
            "{width} columns"
        );
    }
    let wire = wire.unwrap_or_default();
    for (way, heard) in [("lines", in_lines(story)), ("file", by_a_file(story))] {
        if let Some(heard) = heard {
            assert_eq!(heard, wire, "{way}");
        }
    }
    insta::assert_snapshot!(
        story.name,
        format!("{told}=== the server heard ===\n{wire}")
    );
}

/// The recorded screens, and what the server received.
#[track_caller]
fn on_the_screen(story: &Story<'_>, width: u16) -> (String, String) {
    let scratch = Scratch::new(&format!("story-{}-{width}", story.name));
    let mut terminal = Terminal::start(command(story, &scratch, &[]), width);
    let mut screens = String::new();
    for does in story.full {
        match *does {
            Do::Until(seen) => drop(terminal.until(seen)),
            Do::Gone(seen) => drop(terminal.until_not(seen)),
            Do::Press(keys) => drop(terminal.press(keys)),
            Do::Paste(text) => drop(terminal.press(&format!("\x1b[200~{text}\x1b[201~"))),
            Do::Resize(columns) => drop(terminal.resize(columns)),
            Do::See => screens += &format!("{}---\n", seen(&mut terminal)),
            Do::Kill => kill(&scratch),
        }
    }
    let exit = terminal.ended();
    let last = cut(&terminal.rows().join("\n"));
    assert_eq!(exit, Some(story.exit), "{width} columns\n{last}");
    screens += &format!("{last}--- exit {}\n", story.exit);
    (screens, heard(&scratch))
}

/// The options for a model, if the story has one.
fn model(story: &Story<'_>) -> Vec<String> {
    match story.model {
        true => ["--model", "ollama/qwen3", "--model-url", &provider()]
            .map(str::to_owned)
            .into(),
        false => Vec::new(),
    }
}

/// The command with these options and the server of a story, in its own folder.
fn command(story: &Story<'_>, scratch: &Scratch, options: &[&str]) -> Command {
    let (call, start) = story.server.set(scratch);
    let words = match story.opens {
        true => [&["open"], start].concat(),
        false => [&["call"], call, start].concat(),
    };
    Command::new(ASKBACK)
        .arg(words[0])
        .args(options)
        .args(model(story))
        .args(&words[1..])
        .current_dir(scratch.path("."))
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env("BROWSER", "true")
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "1")
        .env("PROGRAM", ASKBACK)
}

/// The rows of the complete screen.
#[track_caller]
fn seen(terminal: &mut Terminal) -> String {
    terminal.until_drawn(0);
    cut(&terminal.rows().join("\n"))
}

/// The last rows of a terminal, without the rows that a slow machine adds to say what is being waited for.
fn cut(rows: &str) -> String {
    let mut rows: Vec<_> = rows.trim_end().lines().collect();
    // The path of the test folder may have any length, and is not cut.
    let mut is_folder = false;
    rows.retain(|row| {
        let row = unframed(row);
        let is_rest = is_folder && !row.starts_with("Another folder:");
        is_folder = is_rest || row.starts_with("Offered:");
        !is_rest
    });
    let is_waited =
        |row: &str| row.starts_with("Waiting for ") && !row.starts_with("Waiting for you");
    let is_shown = |row: &&&str| !is_waited(row) && **row != "answer…";
    let rows: Vec<_> = rows.iter().filter(is_shown).map(|row| same(row)).collect();
    rows[rows.len().saturating_sub(ROWS)..].join("\n") + "\n"
}

/// A row without text that varies between runs: the test folder, times and durations.
fn same(row: &str) -> String {
    if unframed(row).starts_with("Offered:") {
        return "│ Offered: …".to_owned();
    }
    let words: Vec<_> = row.split(' ').collect();
    let is_span = |at: usize| words[at].parse::<f64>().is_ok() && words.get(at + 1) == Some(&"s");
    let is_time = |at: usize| words[at].starts_with("20") && words[at].ends_with("Z,");
    let same = |at: usize| {
        if is_span(at) || is_time(at) {
            "#"
        } else {
            words[at]
        }
    };
    let same = (0..words.len()).map(same);
    same.collect::<Vec<_>>().join(" ")
}

/// A row without the frame of a question.
fn unframed(row: &str) -> &str {
    row.strip_prefix("│ ").unwrap_or(row)
}

fn kill(scratch: &Scratch) {
    let id = fs::read_to_string(scratch.path("pid")).expect("the server wrote it");
    let id = id.trim().parse().ok().and_then(Pid::from_raw);
    let id = id.expect("it has one");
    kill_process(id, Signal::KILL).expect("it is ours");
    // Waits until its parent has noticed the exit.
    let begun = Instant::now();
    while test_kill_process(id).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "nobody waits for the server");
        thread::yield_now();
    }
}

/// The answers that the server received in line mode.
#[track_caller]
fn in_lines(story: &Story<'_>) -> Option<String> {
    if story.plain.is_empty() {
        return None;
    }
    let run = Run::new(&format!("story-{}-lines", story.name), &["open", "--plain"]);
    let (call, start) = story.server.set(&run.scratch);
    let input = format!("/call {}\n{}", call.join(" "), story.plain);
    let model = model(story);
    let model: Vec<_> = model.iter().map(String::as_str).collect();
    let run = run
        .and(&model)
        .and(start)
        .input(&input)
        .set("BROWSER", "true")
        .set("PROGRAM", ASKBACK);
    Some(heard(&run.run().expect(story.exit).scratch))
}

/// A terminal in line mode, in which the tool of a server was called.
fn typed(scratch: &Scratch, server: &Server<'_>) -> Terminal {
    let (call, start) = server.set(scratch);
    let command = Command::new(ASKBACK)
        .args(["open", "--plain"])
        .args(start)
        .current_dir(scratch.path("."))
        .env("XDG_STATE_HOME", scratch.path("state"));
    let mut terminal = Terminal::start(command, 80);
    terminal.until_wanted("zoo>");
    terminal.press(&format!("/call {}\n", call.join(" ")));
    terminal
}

/// The answers that the server received with an answers file.
#[track_caller]
fn by_a_file(story: &Story<'_>) -> Option<String> {
    if story.answers.is_empty() {
        return None;
    }
    let run = Run::new(&format!("story-{}-file", story.name), &["call"]);
    let (call, start) = story.server.set(&run.scratch);
    let run = run.answers(story.answers).and(call).and(start);
    let run = run.set("PROGRAM", ASKBACK);
    Some(heard(&run.run().expect(story.exit).scratch))
}
