//! An account at the airline: connected by a person, used by calls, listed and disconnected.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::Arc,
};

use askback_connect::{
    Connections,
    vault::{Granted, LocalKeys, SqliteVault, Vault, VaultSettings},
};
use askback_oauth::Secret;
use serde_json::{Value, json};

use crate::{
    run::ASKBACK,
    scratch::{Scratch, is_in_wrapped},
};

/// How often it is looked whether something has happened. Each time, the command is started.
const LOOKS: usize = 1000;

/// The words that serve the agency with its airline.
const SERVE: [&str; 5] = ["serve", "travel", "--connect", "--http", "127.0.0.1:0"];

/// The agency with its airline, in the background. It does not outlive its value.
struct Agency {
    process: Child,
    url: String,
}

impl Agency {
    fn start(scratch: &Scratch) -> Self {
        Self::started(askback(scratch, &SERVE))
    }

    fn started(mut command: Command) -> Self {
        let mut process = command
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let stderr = process.stderr.take().expect("it was asked for");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let line = lines.next().unwrap_or_default();
        assert!(
            line.contains("accounts are connected on pages at http://127.0.0.1:"),
            "{line}"
        );
        let line = lines.next().unwrap_or_default();
        let url = line.split_once("the travel agency is at ");
        let url = url
            .unwrap_or_else(|| panic!("no address: {line}"))
            .1
            .to_owned();
        Self { process, url }
    }
}

impl Drop for Agency {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command of a person, whose folder is the scratch.
fn askback(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = Command::new(ASKBACK);
    command
        .args(words)
        .current_dir(scratch.path("."))
        .env("NO_COLOR", "1")
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::null());
    command
}

/// A run of the command, which ends with this code: what it prints, and what it says.
#[track_caller]
fn ran(scratch: &Scratch, words: &[&str], exit: i32) -> (String, String) {
    let output = askback(scratch, words).output();
    ended(&output.expect("the command was built"), exit)
}

#[track_caller]
fn ended(output: &Output, exit: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it writes text");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(exit), "{stdout}\n{stderr}");
    (stdout, stderr)
}

/// Calls a tool as a person does who opens the link that it asks for, and goes on in a browser.
fn call_and_open(scratch: &Scratch, target: &[&str], tool: &str, go_on: impl Fn(&str)) -> String {
    let log = scratch.path("browser.log");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$1\" > {}\n", log.display());
    let browser = scratch.file("browser", &script);
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let _ = fs::remove_file(&log);
    // The browser runs by itself; reading from a pipe waits for it.
    scratch.pipe("browser.log");
    let mut child = askback(scratch, &["open"])
        .args(target)
        .env("BROWSER", browser)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    let mut stdin = child.stdin.take().expect("it was asked for");
    let lines = format!("/call {tool}\nyes\n");
    stdin
        .write_all(lines.as_bytes())
        .expect("it reads its input");
    let link = fs::read_to_string(&log).expect("the browser writes");
    go_on(link.trim_end());
    // Back from the browser.
    stdin.write_all(b"\n").expect("it reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    ended(&output, 0).0
}

/// A browser, with the cookies of each site.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<(String, String), String>,
}

/// A page in it.
struct Page {
    origin: String,
    status: String,
    text: String,
}

impl Browser {
    fn open(&mut self, url: &str) -> Page {
        self.follow(url.to_owned(), None)
    }

    /// Presses a button in the form of a page.
    fn press(&mut self, page: &Page, value: &str) -> Page {
        let (_, main) = page.text.split_once("<main>").expect("a page");
        let part = |before: &str| {
            let (_, after) = main.split_once(before).unwrap_or_else(|| panic!("{main}"));
            after.split('"').next().unwrap_or_default().to_owned()
        };
        // Its value is letters, digits, `-` and `_`.
        let (name, hidden) = (part("type=\"hidden\" name=\""), part("\" value=\""));
        let form = format!("{name}={hidden}&answer={value}");
        let url = format!("{}{}", page.origin, part("action=\""));
        self.follow(url, Some(form))
    }

    fn follow(&mut self, mut url: String, mut form: Option<String>) -> Page {
        for _ in 0..9 {
            let (page, to) = self.request(&url, form.take());
            match to {
                Some(to) => url = to,
                None => return page,
            }
        }
        panic!("it leads on and on to {url}")
    }

    fn request(&mut self, url: &str, form: Option<String>) -> (Page, Option<String>) {
        let (_, rest) = url.split_once("http://").expect("a whole address");
        let (host, path) = rest.split_once('/').expect("an address with a path");
        let method = if form.is_some() { "POST" } else { "GET" };
        let form = form.unwrap_or_default();
        let cookies = self.cookies.iter().filter(|((site, _), _)| site == host);
        let cookies: Vec<_> = cookies
            .map(|((_, name), it)| format!("{name}={it}"))
            .collect();
        let mut stream = TcpStream::connect(host).expect("it is served");
        write!(
            stream,
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\nOrigin: http://{host}\r\n\
             Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            cookies.join("; "),
            form.len()
        )
        .expect("it takes requests");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers text");
        let (head, text) = answer.split_once("\r\n\r\n").expect("an answer");
        let mut to = None;
        for line in head.lines() {
            match line.split_once(": ") {
                Some(("set-cookie", cookie)) => {
                    let (name, value) = cookie.split_once('=').expect("a cookie");
                    let value = value.split(';').next().unwrap_or_default().to_owned();
                    self.cookies
                        .insert((host.to_owned(), name.to_owned()), value);
                }
                Some(("location", url)) => to = Some(url.to_owned()),
                Some(("refresh", refresh)) => {
                    to = refresh.strip_prefix("0; url=").map(str::to_owned)
                }
                _ => {}
            }
        }
        let page = Page {
            origin: format!("http://{host}"),
            status: head.split(' ').nth(1).unwrap_or_default().to_owned(),
            text: text.to_owned(),
        };
        (page, to)
    }
}

impl Page {
    #[track_caller]
    fn says(&self, words: &str) -> &Self {
        assert_eq!(self.status, "200", "{}", self.text);
        assert!(
            self.text.contains(words),
            "{words:?} is not in {}",
            self.text
        );
        self
    }
}

/// Connects the airline behind a link.
fn connect(link: &str) {
    let mut browser = Browser::default();
    let asked = browser.open(link);
    asked.says("Connect your Fake Airline account?");
    let airline = browser.press(&asked, "yes");
    airline.says("let the travel agency read your miles?");
    let back = browser.press(&airline, "yes");
    back.says("Fake Airline is connected").says("FA-190317");
}

/// All files in a folder and those below, with their bytes.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push((
                path.display().to_string(),
                fs::read(&path).expect("it is ours"),
            )),
        }
    }
}

/// Whether a text is among bytes.
fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
fn an_account_is_connected_used_listed_and_disconnected() {
    let scratch = Scratch::new("connections");
    let (stdout, _) = ran(&scratch, &["connections"], 0);
    assert_eq!(stdout, "No account is connected.\n");
    assert!(
        !scratch.path("state").exists(),
        "nothing is made to look at it"
    );

    let agency = Agency::start(&scratch);
    let target = ["--url", &*agency.url];
    let miles = "The account FA-190317 has 48210 miles.\n";
    assert_eq!(call_and_open(&scratch, &target, "my_miles", connect), miles);
    let call = ["call", "my_miles", "--url", &agency.url];
    assert_eq!(ran(&scratch, &call, 0).0, miles);

    let mut kept = Vec::new();
    files(&scratch.path("state"), &mut kept);
    let is_kept = |text: &str| kept.iter().any(|(_, bytes)| holds(bytes, text));
    assert!(is_kept("FA-190317"), "the account has a name");
    for (name, bytes) in &kept {
        for token in ["fake-airline-access-", "fake-airline-refresh-"] {
            assert!(!holds(bytes, token), "{name} holds a token");
        }
    }

    let (stdout, _) = ran(&scratch, &["connections"], 0);
    assert_eq!(
        stdout,
        "airline\n  account | FA-190317\n  for | miles.read\n  connected\n"
    );
    let (stdout, _) = ran(&scratch, &["connections", "--json"], 0);
    let listed: Value = serde_json::from_str(&stdout).expect("it is JSON");
    let account = json!({"provider": "airline", "account": "FA-190317", "id": "FA-190317", "state": "active", "scopes": "miles.read"});
    assert_eq!(listed, json!({"connections": [account]}));

    let disconnect = ["connections", "disconnect", "airline"];
    let (_, stderr) = ran(&scratch, &[&disconnect[..], &["FA-1"]].concat(), 2);
    assert!(
        stderr.contains("there is no account FA-1 at airline"),
        "{stderr}"
    );
    let (_, stderr) = ran(&scratch, &[&disconnect[..], &["FA-190317"]].concat(), 0);
    assert!(
        stderr.contains("FA-190317 at airline is disconnected."),
        "{stderr}"
    );
    let (stdout, _) = ran(&scratch, &["connections", "--json"], 0);
    let listed: Value = serde_json::from_str(&stdout).expect("it is JSON");
    // The agency is still to give its tokens back.
    assert_eq!(listed["connections"][0]["state"], "revoking");
    // Nobody is there to open the link.
    ran(&scratch, &call, 6);
    drop(agency);

    // The next agency gives the tokens back, at the airline that is served along with it.
    let _agency = Agency::start(&scratch);
    let none = json!({"connections": []});
    let is_given_back = |_| {
        let (stdout, _) = ran(&scratch, &["connections", "--json"], 0);
        serde_json::from_str::<Value>(&stdout).expect("it is JSON") == none
    };
    assert!((0..LOOKS).any(is_given_back));
    let book = fs::read_to_string(scratch.path("state/askback/travel/airline.json"));
    assert_eq!(book.expect("the airline keeps it"), "[]");
}

#[test]
fn an_account_outlives_the_agency() {
    let scratch = Scratch::new("connections-stdio");
    let target = ["--", ASKBACK, "serve", "travel", "--connect"];
    let said = call_and_open(&scratch, &target, "connect_airline", connect);
    assert_eq!(said, "Connected: the account FA-190317 at the airline.\n");
    let (stdout, _) = ran(&scratch, &[&["call", "my_miles"], &target[..]].concat(), 0);
    assert_eq!(stdout, "The account FA-190317 has 48210 miles.\n");

    // The vault of any server is listed by the names of its files.
    let moved = fs::rename(scratch.path("state/askback"), scratch.path("elsewhere"));
    moved.expect("it is ours");
    let elsewhere = |name: &str| scratch.path("elsewhere").join(name).display().to_string();
    let (vault, keys) = (elsewhere("connections.db"), elsewhere("connections.key"));
    let (stdout, _) = ran(&scratch, &["connections"], 0);
    assert_eq!(stdout, "No account is connected.\n");
    let files = ["--vault", &*vault, "--keys", &*keys];
    let (stdout, _) = ran(&scratch, &[&["connections"], &files[..]].concat(), 0);
    assert!(stdout.contains("account | FA-190317"), "{stdout}");
    let check = |words: &[&str], told: &str| {
        let (_, stderr) = ran(&scratch, &[&["connections"], words].concat(), 2);
        assert!(is_in_wrapped(told, &stderr), "{stderr}");
    };
    check(&["--vault", &vault], "--keys <FILE>");
    check(&["--keys", &keys], "--vault <FILE>");
    let none = elsewhere("none");
    check(&["--vault", &none, "--keys", &keys], "none: No such file");
    assert!(!scratch.path("elsewhere/none").exists());
    check(&["--vault", &vault, "--keys", &none], "there is no file");
    let folder = scratch.path("elsewhere/folder");
    fs::create_dir(&folder).expect("the folder is ours");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let folder = folder.display().to_string();
    check(
        &["--vault", &folder, "--keys", &keys],
        "must be writable for this process",
    );
    check(&["--vault", &vault, "--keys", &folder], "cannot be read");
    let other = scratch.file("elsewhere/other", &"7".repeat(64));
    fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).expect("it is ours");
    check(
        &["--vault", &vault, "--keys", &other],
        "sealed under the key",
    );
    let disconnect = ["connections", "disconnect", "airline", "FA-190317"];
    let (_, stderr) = ran(&scratch, &[&disconnect[..], &files].concat(), 0);
    assert!(
        stderr.contains("FA-190317 at airline is disconnected."),
        "{stderr}"
    );
    let (stdout, _) = ran(
        &scratch,
        &[&["connections", "--json"], &files[..]].concat(),
        0,
    );
    assert!(stdout.contains("revoking"), "{stdout}");
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let scratch = Scratch::new("connections-key");
    drop(Agency::start(&scratch));
    let key = scratch.path("state/askback/connections.key");
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&key), 0o600);
    assert_eq!(mode(&key.with_extension("db")), 0o600);
    for name in ["connections.key", "connections.db"] {
        let file = key.with_file_name(name);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
        for words in [&["connections"][..], &["serve", "travel", "--connect"]] {
            let (_, stderr) = ran(&scratch, words, 2);
            assert!(
                stderr.contains("your connections cannot be used: "),
                "{stderr}"
            );
            assert!(stderr.contains("chmod 600"), "{stderr}");
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    }
}

#[test]
fn a_vault_that_does_not_open_is_named() {
    let scratch = Scratch::new("connections-damaged");
    drop(Agency::start(&scratch));
    let database = scratch.path("state/askback/connections.db");
    let check = |hint: &str| {
        let (_, stderr) = ran(&scratch, &["connections"], 2);
        // Long lines are wrapped.
        let stderr: String = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains("connections.db"), "{stderr}");
        assert!(stderr.contains(hint), "{stderr}");
    };
    for log in ["db-wal", "db-shm"] {
        // The agency was ended in the middle.
        let _ = fs::remove_file(database.with_extension(log));
    }
    fs::write(&database, [7; 4096]).expect("it is ours");
    check("It is damaged, or no database");
    fs::remove_file(&database).expect("it is ours");
    fs::create_dir(&database).expect("the folder is ours");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o700)).expect("it is ours");
    check("must be writable for this process");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let scratch = Scratch::new("connections-port");
    let taken = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let address = taken.local_addr().expect("it is bound").to_string();
    let words = ["serve", "travel", "--http", &address];
    let (_, stderr) = ran(&scratch, &words, 4);
    assert!(
        stderr.contains(&format!("nothing can be served at {address}")),
        "{stderr}"
    );
    assert!(stderr.contains("choose another port"), "{stderr}");
    let with_accounts = ["serve", "travel", "--connect", "--http", &address];
    let (_, stderr) = ran(&scratch, &with_accounts, 4);
    assert!(!stderr.contains("accounts are connected"), "{stderr}");
    let (_, stderr) = ran(
        &scratch,
        &[
            "serve",
            "travel",
            "--connect",
            "--http",
            "127.0.0.1:0",
            "--development-token",
            "ada",
        ],
        2,
    );
    assert!(stderr.contains("cannot be used with"), "{stderr}");
}

/// The status of a call of the agency by a client without a browser, with this header.
fn status(url: &str, header: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(host).expect("it is served");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{header}Accept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("it takes requests");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers text");
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// Two machines have the same addresses, and may share a home: the folder of a user's sessions is of one of them.
#[test]
fn a_key_is_in_the_folder_of_the_sessions_on_this_machine() {
    for (mode, places) in [(0o700, (1, 0)), (0o755, (0, 1))] {
        let scratch = Scratch::new("connections-sessions");
        let sessions = scratch.path("sessions");
        fs::create_dir(&sessions).expect("it is ours");
        fs::set_permissions(&sessions, fs::Permissions::from_mode(mode)).expect("it is ours");
        let with_sessions = |words: &[&str]| {
            let mut command = askback(&scratch, words);
            command.env("XDG_RUNTIME_DIR", &sessions);
            command
        };
        let keys = |folder: &str| {
            let served = fs::read_dir(scratch.path(folder).join("askback/served"));
            served.map_or(0, Iterator::count)
        };
        let agency = Agency::started(with_sessions(&SERVE));
        assert_eq!((keys("sessions"), keys("state")), places, "{mode:o}");
        let list = ["list", "--url", &agency.url];
        ended(&with_sessions(&list).output().expect("it was built"), 0);
        // Who has no such folder looks in the home alone.
        let elsewhere = askback(&scratch, &list).output().expect("it was built");
        assert_eq!(elsewhere.status.success(), places.1 == 1, "{mode:o}");
    }
}

#[test]
fn over_http_an_account_is_this_users_alone() {
    let scratch = Scratch::new("connections-user");
    let agency = Agency::start(&scratch);
    let folder = scratch.path("state/askback/served");
    let mut keys = Vec::new();
    files(&folder, &mut keys);
    let [(key, text)] = &keys[..] else {
        panic!("one key: {}", keys.len());
    };
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode(Path::new(key)), mode(&folder)), (0o600, 0o700));
    let text = String::from_utf8(text.clone()).expect("it is text");
    let header = text.trim_end();
    assert!(header.starts_with("Authorization: Bearer "), "{header}");

    // Whoever has no key is nobody, also with the command.
    assert_eq!(status(&agency.url, ""), "401");
    assert_eq!(status(&agency.url, "Authorization: Bearer x\r\n"), "401");
    assert_ne!(status(&agency.url, &format!("{header}\r\n")), "401");
    let call = ["call", "my_miles", "--url", &agency.url];
    let other = Scratch::new("connections-other");
    let output = askback(&other, &call).output().expect("it was built");
    assert!(!output.status.success());

    // Nobody is there to open the link.
    let (_, stderr) = ran(&scratch, &call, 6);
    assert!(!stderr.contains(header), "{stderr}");
    // A proxy is sent nothing.
    let proxy = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let proxied = askback(&scratch, &call)
        .env(
            "HTTP_PROXY",
            format!("http://{}", proxy.local_addr().expect("it is bound")),
        )
        .output();
    ended(&proxied.expect("the command was built"), 6);
    // A key that others can read is not used.
    fs::set_permissions(key, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let (_, stderr) = ran(&scratch, &call, 2);
    assert!(stderr.contains("chmod 600"), "{stderr}");
}

#[test]
fn reading_makes_no_key() {
    let scratch = Scratch::new("connections-read");
    let folder = scratch.path("state/askback");
    fs::create_dir_all(&folder).expect("a folder");
    let (database, key) = (
        folder.join("connections.db"),
        folder.join("connections.key"),
    );
    fs::write(&database, "").expect("a file");
    let (stdout, _) = ran(&scratch, &["connections"], 0);
    assert!(stdout.contains("No account is connected."), "{stdout}");
    fs::write(&database, "something").expect("a file");
    let (_, stderr) = ran(&scratch, &["connections"], 2);
    let missing = format!("there is no file {}, whose key seals", key.display());
    assert!(is_in_wrapped(&missing, &stderr), "{stderr}");
    assert!(!key.exists());
}

/// Has a vault with these accounts at `chat`, by their ids and names.
#[tokio::main(flavor = "current_thread")]
async fn keep(database: &Path, keys: &Path, accounts: &[(&str, &str)]) {
    let store = Arc::new(SqliteVault::open(database).expect("a vault"));
    let keys = Arc::new(LocalKeys::file(keys).expect("a key"));
    let vault = Vault::open(store, keys, VaultSettings::default()).await;
    let vault = vault.expect("a vault");
    let user = Connections::user_of_this_machine();
    for (id, name) in accounts {
        let granted = Granted::tokens(Secret::new("canary"), None).name(*name);
        let put = vault.put(&user, "chat", id, granted).await;
        put.expect("an account");
    }
}

#[test]
fn an_account_is_disconnected_by_its_id_or_by_a_name_of_its_own() {
    let scratch = Scratch::new("connections-names");
    let (database, keys) = (scratch.path("vault.db"), scratch.path("vault.keys"));
    fs::write(&keys, "07".repeat(32)).expect("a file");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let all = [("U1", "bob"), ("U2", "bob"), ("U3", "eve")];
    keep(&database, &keys, &all);
    let (database, keys) = (database.display().to_string(), keys.display().to_string());
    let files = ["--vault", &*database, "--keys", &*keys];
    let (stdout, _) = ran(&scratch, &[&["connections"], &files[..]].concat(), 0);
    for shown in [
        "  account | bob\n  id | U1\n",
        "  account | eve\n  id | U3\n",
    ] {
        assert!(stdout.contains(shown), "{stdout}");
    }
    let disconnect = |account: &str, exit: i32| {
        let words = ["connections", "disconnect", "chat", account];
        ran(&scratch, &[&words, &files[..]].concat(), exit).1
    };
    let refused = disconnect("bob", 2);
    assert!(
        refused.contains("2 accounts at chat are called bob"),
        "{refused}"
    );
    assert!(refused.contains("Give the id of one"), "{refused}");
    let refused = disconnect("U4", 2);
    assert!(
        refused.contains("there is no account U4 at chat"),
        "{refused}"
    );
    disconnect("U1", 0);
    // There is one of this name by now.
    disconnect("bob", 0);
    disconnect("eve", 0);
    let refused = disconnect("bob", 2);
    assert!(
        refused.contains("there is no account bob at chat"),
        "{refused}"
    );
}
