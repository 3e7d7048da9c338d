//! Receipts: a tool that requires a receipt, a user in a terminal, and `askback receipts`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Instant,
};

use askback::{Ctx, Result, Revision, Server, Tool, witness::WitnessKey};
use serde_json::{Value, json};

use crate::{
    full::{ENTER, PATIENCE, REVIEW, Terminal},
    run::{ASKBACK, Run},
    scratch::Scratch,
    wrap::{Client, answering, asks},
};

async fn wire_money(ctx: Ctx) -> Result<String> {
    let amount = ctx.elicit::<u32>("How much?").await?.accepted()?;
    Ok(format!("{amount} USD are on their way"))
}

/// A server over HTTP that trusts one key, in these revisions or else in all. Returns its URL, and where to set the key.
fn bank(revisions: &[Revision]) -> (String, Arc<Mutex<Option<WitnessKey>>>) {
    let revisions = match revisions {
        [] => Revision::ALL.to_vec(),
        revisions => revisions.to_vec(),
    };
    let trusted = Arc::new(Mutex::new(None));
    let known = Arc::clone(&trusted);
    let (sender, bound) = mpsc::channel();
    // The thread ends with the test process.
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("there is room");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.expect("there is a loopback");
            let address = listener.local_addr().expect("it is bound");
            sender.send(address).expect("the test waits for it");
            let server = Server::new("bank", "1")
                .tool(Tool::new("wire_money", wire_money).requires_witness())
                .trust_witness(move |key, _| *known.lock().unwrap() == Some(*key))
                .revisions(revisions)
                .build()
                .expect("it is whole");
            server.http().serve(listener).await
        })
    });
    let url = format!("http://{}/mcp", bound.recv().expect("it is bound"));
    (url, trusted)
}

/// Runs `askback receipts`, and returns its exit code and what it prints.
fn receipts(scratch: &Scratch, words: &[&str]) -> (Option<i32>, String) {
    let run = Command::new(ASKBACK)
        .arg("receipts")
        .args(words)
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env("NO_COLOR", "1")
        .output()
        .expect("it runs");
    let stdout = String::from_utf8(run.stdout).expect("it writes text");
    (run.status.code(), stdout)
}

#[test]
fn a_person_at_a_terminal_is_told_from_a_script() {
    let scratch = Scratch::new("receipts");
    let state = scratch.path("state").display().to_string();
    let receipts = |words: &[&str]| receipts(&scratch, words);
    let (url, trusted) = bank(&[]);
    let answer = |is_plain: bool, expected: &str| {
        let mut words = vec!["call", "wire_money", "--url", &*url];
        words.extend(is_plain.then_some("--plain"));
        let state = [("XDG_STATE_HOME", &*state)];
        let mut terminal = Terminal::open_with(&words, 100, &state);
        if is_plain {
            terminal.until_asked();
        } else {
            terminal.until("How much?");
        }
        let (review, end) = match is_plain {
            true => (ENTER, "Enter sends"),
            false => (REVIEW, "[Enter] Send"),
        };
        terminal.press("7").press(review).until(end).press(ENTER);
        terminal.until(expected);
        assert!(terminal.exit().is_some());
    };
    // The server does not know the key yet.
    answer(false, "no valid receipt");
    let (exit, key) = receipts(&["--key", &url]);
    assert_eq!(exit, Some(0), "{key}");
    *trusted.lock().unwrap() = Some(key.trim().parse().expect("it is a key"));
    answer(false, "7 USD are on their way");
    answer(true, "7 USD are on their way");
    // An answer from a file is not accepted either, even with the same key.
    let words = ["call", "wire_money", "--url", &*url];
    let script = Run::new("receipts-script", &words).set("XDG_STATE_HOME", state.clone());
    let script = script
        .answers("answers:\n  - when: {key: number}\n    accept: {answer: 7}\n")
        .run();
    script.expect(1).prints("no valid receipt");

    let (exit, list) = receipts(&[]);
    assert_eq!(exit, Some(0), "{list}");
    for (number, renderer) in [
        (1, "terminal"),
        (2, "terminal"),
        (3, "lines"),
        (4, "script"),
    ] {
        let row = list
            .lines()
            .find(|row| row.trim_start().starts_with(&format!("{number} ")));
        assert!(row.is_some_and(|row| row.contains(renderer)), "{list}");
    }
    // First a receipt is changed, then some are removed.
    let file = format!("state/askback/receipts/{}.json", key.trim());
    let file = scratch.path(&file);
    let whole = fs::read_to_string(&file).expect("it was written");
    let check = |text: &str, fault: Option<&str>| {
        fs::write(&file, text).expect("it is ours");
        let (exit, list) = receipts(&["--json"]);
        assert_eq!(exit, Some(i32::from(fault.is_some())), "{list}");
        let list: Value = serde_json::from_str(&list).expect("it is JSON");
        assert_eq!(list[0]["fault"], json!(fault));
    };
    check(&whole, None);
    check(
        &whole.replace("\"script\"", "\"page\""),
        Some("receipt 4: the signature does not fit"),
    );
    let without = |number: usize| {
        let mut list: Value = serde_json::from_str(&whole).expect("it is JSON");
        let receipts = list["receipts"].as_array_mut().expect("it is a list");
        receipts.remove(number - 1);
        list.to_string()
    };
    let missing =
        |number: u64| format!("receipt {number}: a receipt before it is missing or was changed");
    check(&without(1), Some(&missing(1)));
    check(&without(3), Some(&missing(3)));
    check(&without(4), Some("the last receipt is missing"));
    let (torn, _) = whole.split_at(whole.len() - 9);
    fs::write(&file, torn).expect("it is ours");
    assert_eq!(receipts(&[]).0, Some(1));
}

/// The client's and the server's revision: each era with each.
const CELLS: [(&str, Revision); 4] = [
    ("2025-06-18", Revision::V2025_11_25),
    ("2025-06-18", Revision::V2026_07_28),
    ("2026-07-28", Revision::V2025_11_25),
    ("2026-07-28", Revision::V2026_07_28),
];

/// A bank behind `askback wrap`, and a client that cannot ask.
struct WrappedBank {
    scratch: Scratch,
    folder: String,
    client: Client,
}

impl WrappedBank {
    fn open(test: &str, (down, up): (&'static str, Revision), words: &[&str]) -> Self {
        let scratch = Scratch::new(&format!("receipts-{test}"));
        let (url, trusted) = bank(&[up]);
        let (exit, key) = receipts(&scratch, &["--key", &url]);
        assert_eq!(exit, Some(0), "{key}");
        *trusted.lock().unwrap() = Some(key.trim().parse().expect("it is a key"));
        scratch.file(
            "answers.yaml",
            "answers:\n  - when: {key: number}\n    accept: {answer: 7}\n",
        );
        let folder = asks(&scratch);
        let words = [&["--asks", &*folder, "--show=none", "--url", &*url], words].concat();
        let mut client = Client::start(&scratch, down, &words, &[]);
        client.greet(&json!({}));
        Self {
            scratch,
            folder,
            client,
        }
    }
}

/// The renderers of the receipts, in their order.
fn renderers(scratch: &Scratch) -> Vec<String> {
    let (exit, list) = receipts(scratch, &["--json"]);
    assert_eq!(exit, Some(0), "{list}");
    let list: Value = serde_json::from_str(&list).expect("it is JSON");
    let receipts = list[0]["receipts"].as_array().cloned().unwrap_or_default();
    let renderers = receipts.iter().filter_map(|it| it["renderer"].as_str());
    renderers.map(str::to_owned).collect()
}

#[test]
fn a_person_at_another_terminal_signs_behind_a_wrap() {
    for cell in CELLS {
        let mut bank = WrappedBank::open("terminal", cell, &[]);
        let mut terminal = answering(&bank.scratch, &bank.folder);
        let said = thread::scope(|scope| {
            let said = scope.spawn(|| bank.client.call("wire_money", &json!({})));
            terminal.until("How much?").press("7").press(REVIEW);
            terminal.until("[Enter] Send").press(ENTER);
            said.join().expect("it ends")
        });
        assert!(said.contains("7 USD are on their way"), "{cell:?}: {said}");
        assert_eq!(renderers(&bank.scratch), ["terminal"]);
        bank.client.end();
    }
}

#[test]
fn a_call_that_was_given_back_ends_with_the_receipt() {
    let cell = ("2025-06-18", Revision::V2026_07_28);
    let mut bank = WrappedBank::open("held", cell, &["--hold", "1"]);
    let mut terminal = answering(&bank.scratch, &bank.folder);
    let mut said = bank.client.call("wire_money", &json!({}));
    assert!(said.contains("Call `wire_money` again"), "{said}");
    terminal.until("How much?").press("7").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
    while said.contains("Call `wire_money` again") {
        said = bank.client.call("wire_money", &json!({}));
    }
    assert!(said.contains("7 USD are on their way"), "{said}");
    assert_eq!(renderers(&bank.scratch), ["terminal"]);
    bank.client.end();
}

#[test]
fn an_answers_file_signs_nothing_behind_a_wrap() {
    for cell in CELLS {
        let mut bank = WrappedBank::open("file", cell, &["--answers", "answers.yaml"]);
        let said = bank.client.call("wire_money", &json!({}));
        assert!(said.contains("no valid receipt"), "{cell:?}: {said}");
        bank.client.end();
        assert!(renderers(&bank.scratch).is_empty(), "{cell:?}");

        let mut bank = WrappedBank::open("rules", cell, &[]);
        let mut front_end = Command::new(ASKBACK)
            .args(["answer", "--file", "answers.yaml", "--asks", &bank.folder])
            .current_dir(bank.scratch.path("."))
            .env("XDG_STATE_HOME", bank.scratch.path("state"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let said = bank.client.call("wire_money", &json!({}));
        end(&mut front_end);
        assert!(said.contains("no valid receipt"), "{cell:?}: {said}");
        bank.client.end();
        assert!(renderers(&bank.scratch).is_empty(), "{cell:?}");
    }
}

fn end(child: &mut Child) {
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// The page of `askback answer --web`, and a browser that has its cookie.
struct Page {
    child: Child,
    address: String,
    cookie: String,
    path: String,
    /// The changes of the page. While it is read, the page counts as open.
    live: BufReader<TcpStream>,
}

impl Page {
    fn open(bank: &WrappedBank) -> Self {
        let mut child = Command::new(ASKBACK)
            .args(["answer", "--web", "--asks", &bank.folder])
            .env("XDG_STATE_HOME", bank.scratch.path("state"))
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("BROWSER")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stderr = child.stderr.take().expect("it was asked for");
        let mut lines = BufReader::new(stderr)
            .lines()
            .map_while(std::io::Result::ok);
        let line = lines.find(|line| line.contains("http://127.0.0.1:"));
        // The rest of stderr is ignored, but the program must be able to write it.
        thread::spawn(move || lines.for_each(drop));
        let line = line.expect("it says where the page is");
        let (_, link) = line.split_once("http://").expect("it has the link");
        let (address, once) = link.trim().split_once('/').expect("it has a path");
        let entered = request(address, &format!("GET /{once}"), "", "");
        let cookie = entered.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value)
        });
        let mut parts = cookie.expect("it is ours").split("; ");
        let cookie = parts.next().expect("it has a value").to_owned();
        let path = parts.find_map(|part| part.strip_prefix("Path="));
        let path = path.expect("it has a path").to_owned();
        let head = format!("Cookie: {cookie}\r\n");
        let live = send(address, &format!("GET {path}live"), &head, "");
        Self {
            child,
            address: address.to_owned(),
            cookie,
            path,
            live: BufReader::new(live),
        }
    }

    /// Waits until the page shows a text.
    fn until(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = self.live.read_line(&mut line).expect("it writes text");
            assert!(read > 0, "the page ended without {text}");
        }
    }

    /// Presses a button as soon as the page takes it.
    fn press(&self, button: &str, fields: &str) {
        let began = Instant::now();
        let cookie = format!("Cookie: {}\r\n", self.cookie);
        loop {
            let page = request(&self.address, &format!("GET {}", self.path), &cookie, "");
            let (_, rest) = page
                .split_once("name=\"token\" value=\"")
                .expect("it has a form");
            let token = rest.split('"').next().expect("it ends");
            let head = format!(
                "{cookie}Origin: http://{}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
                self.address
            );
            let body = format!("token={token}&act={button}{fields}");
            let said = request(
                &self.address,
                &format!("POST {}say", self.path),
                &head,
                &body,
            );
            if said.starts_with("HTTP/1.1 303") {
                return;
            }
            // A question that was just shown takes no answer yet.
            assert!(began.elapsed() < PATIENCE, "{said}");
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn send(address: &str, line: &str, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it is one");
    let length = body.len();
    let text = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\n{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).expect("it reads");
    stream
}

fn request(address: &str, line: &str, head: &str, body: &str) -> String {
    let mut answer = Vec::new();
    let mut stream = send(address, line, head, body);
    // The server may respond, and close, before it has read everything.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_person_at_the_page_signs_behind_a_wrap() {
    for cell in CELLS {
        let mut bank = WrappedBank::open("page", cell, &[]);
        let mut page = Page::open(&bank);
        let said = thread::scope(|scope| {
            let said = scope.spawn(|| bank.client.call("wire_money", &json!({})));
            page.until("How much?");
            page.press("submit", "&f0=7");
            page.press("send", "");
            said.join().expect("it ends")
        });
        assert!(said.contains("7 USD are on their way"), "{cell:?}: {said}");
        assert_eq!(renderers(&bank.scratch), ["page"]);
        bank.client.end();
    }
}
