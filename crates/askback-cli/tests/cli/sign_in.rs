//! Sign-in, with a minimal server and authorization server.

pub(crate) mod issuer;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use self::issuer::{Issuer, fetch};
use crate::{
    full::{CTRL_C, Terminal},
    scratch::{Scratch, is_in_wrapped},
};

/// The timeout for a line that should appear at once. It is long because tests share a machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A user of the command. Their browser only logs its arguments.
struct Desk {
    scratch: Scratch,
    issuer: Issuer,
}

struct Talk {
    child: Child,
    shown: mpsc::Receiver<String>,
    screen: String,
}

impl Desk {
    fn new(name: &str, issuer: Issuer) -> Self {
        let scratch = Scratch::new(name);
        let log = scratch.path("browser.log");
        // The browser runs in the background. Reading from a pipe waits for it.
        scratch.pipe("browser.log");
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > {}\n",
            log.display()
        );
        let browser = scratch.file("browser", &script);
        fs::set_permissions(browser, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        Self { scratch, issuer }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askback"));
        command
            .args(words)
            .env("NO_COLOR", "1")
            .env("BROWSER", self.scratch.path("browser"))
            .env("XDG_STATE_HOME", self.scratch.path("state"))
            .env_remove("ASKBACK_CLIENT_SECRET")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end, without a user.
    fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let url = self.issuer.server();
        let words = words.iter().map(|word| word.replace("URL", &url));
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        told(
            self.command(&words)
                .output()
                .expect("the command was built"),
        )
    }

    fn open(&self, more: &[&str]) -> Talk {
        let url = self.issuer.server();
        let words = [&["open", "--name", "agency", "--url", &url], more].concat();
        let mut child = self
            .command(&words)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let stderr = BufReader::new(child.stderr.take().expect("it was asked for"));
        let (show, shown) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // A failed test has stopped reading.
                let _ = show.send(line + "\n");
            }
        });
        Talk {
            child,
            shown,
            screen: String::new(),
        }
    }

    /// The arguments of the browser, after their number.
    fn opened(&self) -> Vec<String> {
        let opened = fs::read_to_string(self.scratch.path("browser.log"));
        let opened = opened.expect("the browser writes");
        opened.lines().map(str::to_owned).collect()
    }

    fn credentials(&self) -> std::path::PathBuf {
        self.scratch.path("state").join("askback/credentials.json")
    }

    /// Stores tokens, as if by an earlier run.
    fn keep_tokens(&self) {
        let kept = json!({format!("tokens {}", self.issuer.server()): self.grant().to_string()});
        self.keep(&kept);
    }

    fn keep(&self, kept: &Value) {
        let file = self.credentials();
        fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is ours");
        fs::write(&file, kept.to_string()).expect("the file is ours");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("the file is ours");
    }

    fn grant(&self) -> Value {
        let (server, origin) = (self.issuer.server(), self.issuer.origin());
        json!({
            "server": server, "resource": server, "issuer": origin,
            "token_endpoint": format!("{origin}/token"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "client": {"id": "made", "method": "none"},
            "access_token": issuer::ACCESS, "refresh_token": issuer::REFRESH,
        })
    }
}

impl Talk {
    fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").expect("it reads its input");
    }

    /// Waits until a line of the screen contains this text.
    fn until(&mut self, words: &str) {
        loop {
            let line = self.shown.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("{words:?} was not shown:\n{}", self.screen));
            self.screen.push_str(&line);
            if line.contains(words) {
                return;
            }
        }
    }

    /// Closes the input. Returns the exit code, stdout and the screen.
    fn end(mut self) -> (Option<i32>, String, String) {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().expect("it ends");
        let (code, printed, _) = told(output);
        (
            code,
            printed,
            self.screen + &self.shown.iter().collect::<String>(),
        )
    }
}

fn told(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("it writes text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

// Shows AZ-46, AS-05, AS-18, BP-60, BP-61.
#[test]
fn a_person_signs_in_once_and_out_again() {
    let desk = Desk::new("sign-in", Issuer::start());
    let mut talk = desk.open(&[]);
    talk.say("yes\nyes");
    let opened = desk.opened();
    let [count, url] = &opened[..] else {
        panic!("{opened:?}")
    };
    assert_eq!(count, "1");
    talk.until("Waiting for the browser");
    let screen = talk.screen.clone();
    let origin = desk.issuer.origin();
    for line in [
        "agency wants you to sign in",
        &format!("  {}", desk.issuer.server()),
        &format!("  at  | {origin}"),
        "  for | trips:read",
        "Site    | 127.0.0.1",
    ] {
        assert!(
            screen.contains(&format!("\n{line}\n")),
            "{line} in {screen}"
        );
    }
    let whole = screen.replace("\n        | ", "");
    assert!(whole.contains(url), "{url} in {screen}");

    let returns = fetch("GET", url).location().expect("it leads back");
    // A request that does not come from the browser's redirect.
    let (at, _) = returns.split_once('?').expect("it has an answer");
    assert_eq!(
        fetch("GET", &format!("{at}?state=guessed&code=x")).status(),
        "404"
    );
    let page = fetch("GET", &returns);
    assert_eq!(page.status(), "200");
    assert!(
        page.0.contains("says whether you are signed in"),
        "{}",
        page.0
    );
    talk.until("The browser is back.");
    talk.until("MCP 2026-07-28");
    talk.say("/call hello");
    let (code, printed, screen) = talk.end();
    assert_eq!((code, &*printed), (Some(0), "Hello!\n"), "{screen}");

    let kept = fs::metadata(desk.credentials()).expect("they are kept");
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    // The next command needs no user.
    let (code, printed, shown) = desk.run(&["call", "hello", "--url", "URL"]);
    assert_eq!((code, &*printed), (Some(0), "Hello!\n"), "{shown}");
    let (code, listed, _) = desk.run(&["servers", "sign-ins"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        listed,
        format!(
            "{}\n  at | {origin}\n  for | trips:read\n  renewed by itself\n",
            desk.issuer.server()
        )
    );
    for secret in [issuer::ACCESS, issuer::REFRESH] {
        assert!(!listed.contains(secret) && !screen.contains(secret));
    }

    let (code, _, shown) = desk.run(&["servers", "sign-out", "URL"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("signed out; the tokens are revoked."),
        "{shown}"
    );
    assert!(desk.issuer.heard("/revoke").contains(issuer::REFRESH));
    let (_, listed, _) = desk.run(&["servers", "sign-ins"]);
    assert_eq!(listed, "You are signed in to no server.\n");
    let (_, _, shown) = desk.run(&["servers", "sign-out", "URL"]);
    assert!(shown.contains("you were not signed in."), "{shown}");
}

#[test]
fn one_server_that_stays_keeps_no_other() {
    let desk = Desk::new("sign-in-logout", Issuer::start());
    let (server, origin) = (desk.issuer.server(), desk.issuer.origin());
    let grant = desk.grant();
    let kept = json!({
        // The first cannot be revoked, and the second cannot be parsed.
        "tokens : no URL": grant.to_string(),
        "tokens http://127.0.0.1/mcp": "?",
        format!("tokens {server}"): grant.to_string(),
        format!("registration {origin}"): "{}",
        "issuer mine": origin,
    });
    desk.keep(&kept);

    let (code, _, shown) = desk.run(&["servers", "sign-out", "--all"]);
    assert_eq!(code, Some(5), "{shown}");
    assert!(shown.contains("you are still signed in"), "{shown}");
    assert!(desk.issuer.heard("/revoke").contains(issuer::REFRESH));
    let left = fs::read_to_string(desk.credentials()).expect("it is there");
    let left: BTreeMap<String, String> = serde_json::from_str(&left).expect("it is an object");
    // The registration of a client is kept after its tokens are deleted.
    assert_eq!(
        left.keys().collect::<Vec<_>>(),
        ["issuer mine", "tokens : no URL"]
    );
}

#[test]
fn two_processes_renew_one_token_without_a_new_sign_in() {
    let desk = Desk::new("sign-in-together", Issuer::start());
    desk.keep_tokens();
    // Both processes are rejected before either gets the next token.
    desk.issuer.rotate(2);
    let server = desk.issuer.server();
    let call = || {
        let mut call = desk.command(&["call", "hello", "--url", &server]);
        call.spawn().expect("the command was built")
    };
    for child in [call(), call()] {
        let output = child.wait_with_output().expect("it ends");
        let (code, printed, shown) = told(output);
        assert_eq!((code, &*printed), (Some(0), "Hello!\n"), "{shown}");
    }
    assert_eq!(desk.issuer.count("/token"), 1);
}

#[test]
fn a_log_out_stays_while_another_process_runs() {
    let desk = Desk::new("sign-in-logged-out", Issuer::start());
    desk.keep_tokens();
    let mut talk = desk.open(&[]);
    talk.until("MCP 2026-07-28");
    let (code, _, shown) = desk.run(&["servers", "sign-out", "URL"]);
    assert_eq!(code, Some(0), "{shown}");
    // The authorization server ignores the revocation.
    desk.issuer.rotate(0);
    talk.say("/call hello");
    talk.until("wants you to sign in");
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(5), "{screen}");
    assert_eq!(desk.issuer.count("/token"), 0);
    let (_, listed, _) = desk.run(&["servers", "sign-ins"]);
    assert_eq!(listed, "You are signed in to no server.\n");
}

#[test]
fn the_address_is_pasted_if_the_browser_is_on_another_machine() {
    let desk = Desk::new("sign-in-paste", Issuer::start());
    let mut talk = desk.open(&[]);
    talk.say("yes\nyes");
    let url = desk.opened()[1].clone();
    talk.until("Waiting for the browser");
    talk.say("https://example.com/");
    talk.until("× that address begins with http://127.0.0.1:");
    let returns = fetch("GET", &url).location().expect("it leads back");
    talk.say(&returns);
    talk.until("MCP 2026-07-28");
    talk.say("/call hello");
    let (code, printed, screen) = talk.end();
    assert_eq!((code, &*printed), (Some(0), "Hello!\n"), "{screen}");
}

#[test]
fn an_answer_to_another_sign_in_is_not_taken() {
    let desk = Desk::new("sign-in-other", Issuer::start());
    let mut talk = desk.open(&[]);
    talk.say("yes\nyes");
    let url = desk.opened()[1].clone();
    talk.until("Waiting for the browser");
    let returns = fetch("GET", &url).location().expect("it leads back");
    let (at, _) = returns.split_once('?').expect("it has an answer");
    talk.say(&format!("{at}?code=stolen&state=guessed"));
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(5), "{screen}");
    assert!(desk.issuer.heard("/token").is_empty());
}

#[test]
fn without_a_yes_no_user_signs_in() {
    for (name, line) in [("no", "no"), ("cancel", "/cancel"), ("end", "")] {
        let desk = Desk::new(&format!("sign-in-{name}"), Issuer::start());
        let mut talk = desk.open(&[]);
        if !line.is_empty() {
            talk.say(line);
        }
        let (code, _, screen) = talk.end();
        assert_eq!(code, Some(5), "{name}: {screen}");
        assert!(!screen.contains("Opened"), "{name}: {screen}");
        let kept = fs::read_to_string(desk.credentials()).unwrap_or_default();
        assert!(!kept.contains("tokens "), "{name}: {kept}");
        // This client is not sent there either.
        assert!(
            screen.contains("registers itself before"),
            "{name}: {screen}"
        );
        assert_eq!(desk.issuer.count("/register"), 0, "{name}");
    }
}

#[test]
fn ctrl_c_at_a_sign_in_stops_the_run() {
    let desk = Desk::new("sign-in-stopped", Issuer::start());
    let mut talk = desk.open(&[]);
    talk.say("yes\nyes");
    talk.until("Waiting for the browser");
    let id = talk.child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    // Keeps stdin open, because its end would cancel the sign-in, too.
    let input = talk.child.stdin.take();
    let (code, _, screen) = talk.end();
    drop(input);
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(desk.issuer.count("/token"), 0);

    let url = desk.issuer.server();
    let state = desk.scratch.path("state").display().to_string();
    let words = ["call", "hello", "--url", &url];
    let variables = [("XDG_STATE_HOME", &*state), ("NO_COLOR", "1")];
    let mut terminal = Terminal::open_with(&words, 80, &variables);
    terminal.until("wants you to sign in").press(CTRL_C);
    assert_eq!(terminal.end(), Some(130));
}

#[test]
fn the_terminal_says_that_the_sign_in_was_refused() {
    let desk = Desk::new("sign-in-refused", Issuer::start());
    let mut talk = desk.open(&[]);
    talk.say("yes\nyes");
    let url = desk.opened()[1].clone();
    talk.until("Waiting for the browser");
    let returns = fetch("GET", &url).location().expect("it leads back");
    let returns = returns.replace("code=one-time", "error=access_denied");
    let page = fetch("GET", &returns);
    assert!(page.0.contains("says whether you are"), "{}", page.0);
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(5), "{screen}");
    assert!(screen.contains("access_denied"), "{screen}");
}

#[test]
fn without_a_terminal_the_command_says_what_to_do() {
    #[track_caller]
    fn check(desk: &Desk, why: &str, is_sign_in_advised: bool) {
        let (code, printed, shown) = desk.run(&["call", "hello", "--url", "URL"]);
        assert_eq!((code, &*printed), (Some(5), ""), "{shown}");
        assert!(is_in_wrapped(why, &shown), "{shown}");
        let advice = "Run askback list --url";
        assert_eq!(shown.contains(advice), is_sign_in_advised, "{shown}");
        assert!(shown.contains("--header 'Authorization"), "{shown}");
        // The refused sign-in leaves no registration either.
        assert_eq!(desk.issuer.heard("/register"), "");
        assert!(!desk.credentials().exists());
    }
    let desk = Desk::new("sign-in-nobody", Issuer::start());
    check(&desk, "found no terminal or browser", true);
    // The server names no authorization server, so no user could sign in either.
    desk.issuer.hide();
    let why = "no document at its origin names an authorization server";
    check(&desk, why, false);
}

// Shows AR-18, AZ25-09.
#[test]
fn a_client_that_was_registered_by_hand_is_used() {
    let desk = Desk::new("sign-in-by-hand", Issuer::start());
    let secret = desk.scratch.file("secret", "a b\n");
    let mut talk = desk.open(&["--client-id", "mine", "--client-secret-file", &secret]);
    talk.say("yes");
    let url = desk.opened()[1].clone();
    assert!(url.contains("client_id=mine&"), "{url}");
    talk.until("Waiting for the browser");
    fetch(
        "GET",
        &fetch("GET", &url).location().expect("it leads back"),
    );
    talk.until("MCP 2026-07-28");
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(desk.issuer.heard("/register").is_empty());
    // `mine:a+b`, form encoded.
    let asked = desk.issuer.heard("/token");
    assert!(asked.contains("Basic bWluZTphK2I="), "{asked}");
    let kept = fs::read_to_string(desk.credentials()).expect("they are kept");
    assert!(!kept.contains("a b"), "{kept}");
}

// Shows AR-04, AZ25-06.
#[test]
fn a_person_names_the_client_where_none_can_register() {
    let desk = Desk::new("sign-in-named", Issuer::start());
    desk.issuer.close();
    let signs_in = |talk: &mut Talk| {
        let url = desk.opened()[1].clone();
        assert!(url.contains("client_id=mine&"), "{url}");
        talk.until("Waiting for the browser");
        let returns = fetch("GET", &url).location().expect("it leads back");
        fetch("GET", &returns);
        talk.until("MCP 2026-07-28");
    };
    let mut talk = desk.open(&[]);
    talk.until("cannot register itself");
    talk.until("http://127.0.0.1:");
    // The client ID, its confirmation, and the link.
    talk.say("mine\n\nyes");
    signs_in(&mut talk);
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(0), "{screen}");
    // After a sign-out, the client ID is still known.
    let (code, _, shown) = desk.run(&["servers", "sign-out", "URL"]);
    assert_eq!(code, Some(0), "{shown}");
    let mut talk = desk.open(&[]);
    talk.say("yes");
    signs_in(&mut talk);
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("cannot register"), "{screen}");

    let desk = Desk::new("sign-in-unnamed", Issuer::start());
    desk.issuer.close();
    let mut talk = desk.open(&[]);
    talk.say("/cancel");
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(5), "{screen}");
    assert!(!screen.contains("Opened"), "{screen}");
}

// Shows AR-26.
#[test]
fn a_client_is_shown_to_its_own_issuer_alone() {
    let desk = Desk::new("sign-in-issuer", Issuer::start());
    let secret = desk.scratch.file("secret", "a b\n");
    let by_hand = ["--client-id", "mine", "--client-secret-file", &secret];
    let elsewhere = ["--client-issuer", "https://auth.example.com"];
    let talk = desk.open(&[&by_hand[..], &elsewhere].concat());
    let (code, _, screen) = talk.end();
    assert_eq!(code, Some(5), "{screen}");
    assert!(screen.contains("registered with"), "{screen}");
    assert!(desk.issuer.heard("/token").is_empty());

    // A file with the wrong issuer.
    let config = format!(
        r#"{{"mcpServers": {{"it": {{"url": "{}", "oauth": {{"clientId": "mine", "issuer": "https://auth.example.com"}}}}}}}}"#,
        desk.issuer.server()
    );
    let config = desk.scratch.file("mcp.json", &config);
    let mut open = desk.command(&["open", "--server", "it", "--config", &config]);
    let (code, _, shown) = told(open.output().expect("the command was built"));
    assert_eq!(code, Some(5), "{shown}");
    assert!(shown.contains("registered with"), "{shown}");
}

#[test]
fn a_secret_of_the_environment_is_for_a_named_issuer() {
    let desk = Desk::new("sign-in-variable", Issuer::start());
    let (server, origin) = (desk.issuer.server(), desk.issuer.origin());
    let run = |words: &[&str]| {
        let mut command = desk.command(words);
        command.env("ASKBACK_CLIENT_SECRET", "hush");
        told(command.output().expect("the command was built"))
    };
    let by_hand = ["call", "hello", "--url", &server, "--client-id", "mine"];
    let (code, _, shown) = run(&by_hand);
    assert_eq!(code, Some(2), "{shown}");
    let says = [
        "the variable ASKBACK_CLIENT_SECRET is for one authorization server, which is not named",
        "--client-issuer URL",
    ];
    assert!(says.iter().all(|words| shown.contains(words)), "{shown}");
    let logout = ["servers", "sign-out", &server, "--client-id", "mine"];
    assert_eq!(run(&logout).0, Some(2));
    assert!(!shown.contains("hush") && desk.issuer.heard("/mcp").is_empty());
    // With an issuer, the command continues, but no user can sign in; the same without a client.
    let named = [&by_hand[..], &["--client-issuer", &origin]].concat();
    for words in [&named[..], &by_hand[..4]] {
        let (code, _, shown) = run(words);
        assert_eq!(code, Some(5), "{shown}");
    }

    // The options may also be in a file.
    let config = |oauth: &str| {
        let config =
            format!(r#"{{"mcpServers": {{"it": {{"url": "{server}", "oauth": {oauth}}}}}}}"#);
        let file = desk.scratch.file("mcp.json", &config);
        run(&["call", "hello", "--server", "it", "--config", &file])
    };
    let variable = r#""clientId": "mine", "clientSecretEnv": "ASKBACK_CLIENT_SECRET""#;
    let (code, _, shown) = config(&format!("{{{variable}}}"));
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("Add `issuer` to the `oauth`"), "{shown}");
    let (code, _, shown) = config(&format!(r#"{{{variable}, "issuer": "{origin}"}}"#));
    assert_eq!(code, Some(5), "{shown}");
}

// Shows BP-57, BP-58, BP-59, BP-60, BP-61, BP-65, BP-66, BP-68.
#[test]
fn an_authorization_endpoint_runs_nothing() {
    for (name, endpoint) in [
        ("substitution", "ORIGIN/$(touch${IFS}PWNED)"),
        ("backticks", "ORIGIN/`touch${IFS}PWNED`"),
        ("semicolon", "ORIGIN/a;touch${IFS}PWNED"),
        ("pipe", "ORIGIN/a|touch${IFS}PWNED"),
        ("quote", "ORIGIN/a\"&&touch${IFS}PWNED"),
        ("windows", "ORIGIN/a^&calc.exe"),
        // Contains a character that is not valid in a URL.
        ("bare semicolon", "ORIGIN/a;reboot"),
        ("bare substitution", "ORIGIN/$(reboot)"),
        ("bare quote", "ORIGIN/a'b"),
        ("bare star", "ORIGIN/*!"),
        ("option", "--help"),
        ("script", "javascript:alert(1)"),
        ("data", "data:text/html,<script>alert(1)</script>"),
        ("file", "file:///etc/passwd"),
        ("own", "zoommtg://example.com/join"),
        ("user", "http://good.example@127.0.0.1/"),
        ("unencrypted", "http://example.com/authorize"),
        ("break", "ORIGIN/a\nb"),
    ] {
        let scratch = format!("sign-in-attack-{name}");
        let desk = Desk::new(&scratch, Issuer::with_endpoint(endpoint));
        // Answers yes to any question, but no question should be asked.
        let mut talk = desk.open(&[]);
        talk.say("yes\nyes");
        let (code, _, screen) = talk.end();
        assert_eq!(code, Some(5), "{name}: {screen}");
        let told = "the URL of the authorization endpoint may not be used";
        assert!(screen.contains(told), "{name}: {screen}");
        assert!(!screen.contains("Opened"), "{name}: {screen}");
        assert!(!desk.scratch.path("PWNED").exists(), "{name}");
    }
}

#[test]
fn a_sign_in_that_cannot_be_stored_is_for_one_run() {
    let desk = Desk::new("sign-in-homeless", Issuer::start());
    let url = desk.issuer.server();
    let run = |credentials: &str| {
        let mut command = desk.command(&["call", "hello", "--url", &url, "--credentials"]);
        command
            .arg(credentials)
            .env_remove("XDG_STATE_HOME")
            .env_remove("HOME");
        told(command.output().expect("the command was built"))
    };
    for (credentials, expected, words) in [
        ("auto", 5, "found no terminal or browser"),
        ("nowhere", 5, "found no terminal or browser"),
        ("file", 2, "no folder to store credentials in"),
    ] {
        let (code, _, shown) = run(credentials);
        assert_eq!(code, Some(expected), "{credentials}: {shown}");
        assert!(shown.contains(words), "{credentials}: {shown}");
    }
}
