//! The command as the client. A user at a terminal and a script are led to the pages, sign in, and get the miles. If
//! the user refuses, in the terminal or on the page, nothing is connected.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{self, Stdio},
    time::Duration,
};

use askback_connect::vault::AuditEvent;
use lab::{
    browser::{Browser, Person},
    issuers::Maker,
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines},
    net::unix::pipe,
    process::ChildStderr,
    time::timeout,
};

use crate::{
    Result, browser,
    canary::Canary,
    scene::{MILES, Plan, Scene},
    terminal::{CTRL_D, ENTER, Terminal},
};

const ASKBACK: &str = env!("CARGO_BIN_EXE_interop-askback");

/// A rule that accepts all links to this machine.
const ANSWERS: &str = "answers: [{when: {mode: url, host: 127.0.0.1}, accept: true}]\n";

const PATIENCE: Duration = Duration::from_secs(30);

/// A revision in which the client repeats the call.
const IN_ROUNDS: &str = "2026-07-28";

/// A revision in which a client is asked by a request of the server, or told by an error.
const BY_QUESTION: &str = "2025-11-25";

const MOST_LOOKS: usize = 200;

/// The line below a prompt that accepts keys.
const HOME: &str = "Ctrl-D leave";

/// A user's environment for the command: its files, and a fake browser that reports its URL.
struct Desk<'a> {
    scene: &'a Scene,
    revision: &'a str,
    directory: PathBuf,
    given: Lines<BufReader<pipe::Receiver>>,
    /// Keeps the pipe open between two writers.
    _open: pipe::Sender,
    said: String,
}

impl<'a> Desk<'a> {
    fn new(scene: &'a Scene, revision: &'a str) -> Result<Self> {
        let directory = scene.directory.join("command");
        fs::create_dir_all(&directory)?;
        let given = directory.join("given");
        let made = process::Command::new("mkfifo").arg(&given).status()?;
        assert!(made.success());
        let browser = directory.join("browser");
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", given.display());
        fs::write(&browser, script)?;
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755))?;
        fs::write(directory.join("answers.yaml"), ANSWERS)?;
        let receiver = pipe::OpenOptions::new().open_receiver(&given)?;
        Ok(Self {
            scene,
            revision,
            directory,
            given: BufReader::new(receiver).lines(),
            _open: pipe::OpenOptions::new().open_sender(&given)?,
            said: String::new(),
        })
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let url = &self.scene.endpoint;
        let there = ["--name", "desk", "--url", url, "--protocol", self.revision];
        let words = words.iter().chain(&there).map(|&word| word.to_owned());
        words.collect()
    }

    /// Returns the environment variables, which isolate the command from real files.
    fn variables(&self) -> [(&'static str, PathBuf); 4] {
        [
            ("HOME", self.directory.join("home")),
            ("XDG_CONFIG_HOME", self.directory.join("config")),
            ("XDG_STATE_HOME", self.state()),
            ("BROWSER", self.directory.join("browser")),
        ]
    }

    fn state(&self) -> PathBuf {
        self.directory.join("state")
    }

    fn open(&self) -> Result<Terminal> {
        let words = self.words(&["open", "--credentials", "file"]);
        let command = pty_process::blocking::Command::new(ASKBACK)
            .args(words)
            .current_dir(&self.directory)
            .envs(self.variables());
        Terminal::start(command)
    }

    /// Starts the command as a script does.
    fn script(&self, words: &[String]) -> Result<Script> {
        let mut process = tokio::process::Command::new(ASKBACK)
            .args(words)
            .current_dir(&self.directory)
            .envs(self.variables())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stderr = process.stderr.take().ok_or("it has no standard error")?;
        Ok(Script {
            process,
            stderr: BufReader::new(stderr).lines(),
            said: String::new(),
        })
    }

    /// Waits for the URL that the browser is opened with.
    async fn given(&mut self) -> Result<String> {
        let line = timeout(PATIENCE, self.given.next_line()).await;
        let line = line.map_err(|_| "the browser is given nothing")??;
        Ok(line.ok_or("the browser has ended")?)
    }

    /// Waits for a script to end. Returns its exit code and its stdout.
    async fn end(&mut self, script: Script) -> Result<(Option<i32>, String)> {
        let (code, printed, said) = script.end().await?;
        self.said += &printed;
        self.said += &said;
        Ok((code, printed))
    }
}

struct Script {
    process: tokio::process::Child,
    stderr: Lines<BufReader<ChildStderr>>,
    said: String,
}

impl Script {
    async fn link(&mut self, pages: &str) -> Result<String> {
        loop {
            let line = timeout(PATIENCE, self.stderr.next_line()).await;
            let line = line.map_err(|_| format!("no link is in {:?}", self.said))??;
            let line = line.ok_or_else(|| format!("no link is in {:?}", self.said))?;
            self.said += &format!("{line}\n");
            if let Some(at) = line.find(pages) {
                return Ok(line[at..].trim_end().to_owned());
            }
        }
    }

    async fn end(mut self) -> Result<(Option<i32>, String, String)> {
        let (mut printed, mut said) = (String::new(), self.said);
        let stdout = self.process.stdout.as_mut().ok_or("it is taken")?;
        timeout(PATIENCE, stdout.read_to_string(&mut printed)).await??;
        while let Some(line) = self.stderr.next_line().await? {
            said += &format!("{line}\n");
        }
        Ok((self.process.wait().await?.code(), printed, said))
    }
}

async fn say(terminal: &mut Terminal, line: &str) -> Result<()> {
    terminal.until(HOME).await?;
    terminal.press(line)?;
    // The line above the prompt may have the same text.
    terminal.until_at_end(&format!("desk> {line}")).await?;
    terminal.press(ENTER)
}

async fn sign_in(terminal: &mut Terminal, desk: &mut Desk<'_>, browser: &Browser) -> Result<()> {
    terminal.until("askback is not known there").await?;
    terminal.press(ENTER)?;
    terminal.until("[o] Open").await?;
    terminal.press("o")?;
    let ada = browser.person("ada").await?;
    ada.goto(&desk.given().await?).await?;
    desk.scene.known(&ada, "ada").await?;
    ada.sees("askback has the answer").await?;
    terminal.until(HOME).await?;
    terminal.until(&format!("MCP {}", desk.revision)).await
}

/// Calls the tool, and opens the link that the user is asked to open.
async fn call(terminal: &mut Terminal, desk: &mut Desk<'_>) -> Result<String> {
    say(terminal, "/call my_miles").await?;
    terminal.until("[o] Open").await?;
    terminal.press("o")?;
    desk.given().await
}

/// Confirms that the page is done, unless the command finds out before it asks.
async fn finish(terminal: &mut Terminal, desk: &Desk<'_>) -> Result<()> {
    if desk.revision != IN_ROUNDS {
        return Ok(());
    }
    terminal.until("[Enter] I have finished").await?;
    terminal.press(ENTER)
}

/// A user at a terminal refuses there, then on the page, and then completes everything.
async fn converse(desk: &mut Desk<'_>, browser: &Browser, ada: &Person) -> Result<Vec<u8>> {
    let scene = desk.scene;
    let mut terminal = desk.open()?;
    sign_in(&mut terminal, desk, browser).await?;

    say(&mut terminal, "/call my_miles").await?;
    terminal.until("[o] Open").await?;
    let shown = terminal.contents();
    let (_, dead) = shown
        .rsplit_once("Address | ")
        .ok_or("there is no address")?;
    let dead = dead.lines().next().unwrap_or_default().trim_end();
    assert!(dead.starts_with(&format!("{}/c/", scene.pages)), "{shown}");
    terminal.press(CTRL_D)?;
    terminal.until("Why not?").await?;
    terminal.press("not today")?;
    terminal.until("not today").await?;
    terminal.press(ENTER)?;
    terminal
        .until("Nothing was done: the person declined (not today).")
        .await?;
    scene.visit(ada, "ada").await?;
    ada.goto(dead).await?;
    ada.sees("This link is over").await?;
    assert_eq!(ada.answer().await?.status, 410);

    let link = call(&mut terminal, desk).await?;
    ada.goto(&link).await?;
    ada.click("button", "Decline").await?;
    ada.sees("Nothing was connected.").await?;
    finish(&mut terminal, desk).await?;
    terminal
        .until("Nothing was done: the person declined.")
        .await?;
    assert_eq!(scene.accounts("ada").await?, [""; 0]);
    assert_eq!(scene.third.log().await?, []);

    let link = call(&mut terminal, desk).await?;
    scene.agree(ada, &link).await?;
    scene.allow(ada, "ada").await?;
    ada.sees("Airline is connected").await?;
    finish(&mut terminal, desk).await?;
    terminal.until(&said()).await?;
    assert_eq!(scene.accounts("ada").await?, ["ada"]);
    terminal.until(HOME).await?;
    terminal.press(CTRL_D)?;
    assert_eq!(terminal.end().await?, Some(0));
    Ok(std::mem::take(&mut terminal.wrote))
}

/// An error tells a user at a terminal about the link. The call continues when the server reports that the page is
/// done.
async fn be_told(desk: &mut Desk<'_>, browser: &Browser, ada: &Person) -> Result<Vec<u8>> {
    let scene = desk.scene;
    let mut terminal = desk.open()?;
    sign_in(&mut terminal, desk, browser).await?;
    scene.visit(ada, "ada").await?;
    let link = call(&mut terminal, desk).await?;
    terminal.until("[Enter] I have finished").await?;
    scene.agree(ada, &link).await?;
    scene.allow(ada, "ada").await?;
    ada.sees("Airline is connected").await?;
    terminal.until("desk says that the link is done.").await?;
    terminal.until(&said()).await?;
    terminal.until(HOME).await?;
    terminal.press(CTRL_D)?;
    assert_eq!(terminal.end().await?, Some(0));
    Ok(std::mem::take(&mut terminal.wrote))
}

/// A script calls with that user's sign-in, and the user opens the link that the script accepts.
async fn script(desk: &mut Desk<'_>, ada: &Person) -> Result<()> {
    let scene = desk.scene;
    let words = ["call", "my_miles", "--credentials", "file"];
    disconnect(scene, ada).await?;
    let answers = desk.words(&[&words[..], &["--answers", "answers.yaml"]].concat());
    let mut call = desk.script(&answers)?;
    let link = call.link(&scene.pages).await?;
    scene.agree(ada, &link).await?;
    // The airline already knows the user.
    scene.allow_again(ada, "ada").await?;
    ada.sees("Airline is connected").await?;
    let (code, printed) = desk.end(call).await?;
    assert_eq!((code, printed.trim_end()), (Some(0), &*said()));
    // A connected account needs no user.
    let again = desk.script(&desk.words(&words))?;
    let (code, printed) = desk.end(again).await?;
    assert_eq!((code, printed.trim_end()), (Some(0), &*said()));
    Ok(())
}

/// Disconnects the account on the pages, and reloads until the airline has been told.
async fn disconnect(scene: &Scene, person: &Person) -> Result<()> {
    person.goto(&format!("{}/accounts", scene.pages)).await?;
    person.click("button", "Disconnect Airline ada").await?;
    for _ in 0..MOST_LOOKS {
        if scene.accounts("ada").await?.is_empty() {
            return person.goto(&format!("{}/accounts", scene.pages)).await;
        }
        person.reload().await?;
    }
    Err(format!("the account stays: {}", person.text().await?).into())
}

fn said() -> String {
    json!({"person": "ada", "miles": MILES}).to_string()
}

/// The two makers are for the sign-in issuer and the airline's server.
const fn between(name: &'static str, signs_in: Maker, maker: Maker) -> Plan {
    Plan {
        signs_in,
        ..Plan::new(name, maker)
    }
}

async fn check(plan: Plan, revision: &str) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = Scene::set(plan).await? else {
        return Ok(());
    };
    scene.airline.credit("ada", MILES);
    let mut desk = Desk::new(&scene, revision)?;
    let ada = browser.person("ada").await?;
    let wrote = match plan.by_error {
        true => be_told(&mut desk, browser, &ada).await?,
        false => converse(&mut desk, browser, &ada).await?,
    };
    script(&mut desk, &ada).await?;
    let events = scene.events("ada").await?;
    let count = |event| events.iter().filter(|it| **it == event).count();
    match plan.by_error {
        // One link for the terminal, and one for the script.
        true => assert_eq!(count(AuditEvent::Asked), 2, "{events:?}"),
        false => assert_eq!(count(AuditEvent::Declined), 2, "{events:?}"),
    }

    let canary = Canary::of(&scene).await?;
    canary.hold_none("the terminal", &wrote, "Airline");
    canary.hold_none("what scripts were told", desk.said.as_bytes(), &scene.pages);
    // The command's own token is stored there.
    canary.hold_none_below(&desk.state(), "eyJ")?;
    canary.hold_none_in(&ada, &scene.pages).await?;
    assert_eq!(ada.violations().await?, []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn askback_is_asked_between_two_of_oidc_provider() -> Result<()> {
    let plan = between(
        "askback-oidc-oidc",
        Maker::OidcProvider,
        Maker::OidcProvider,
    );
    check(plan, BY_QUESTION).await
}

#[tokio::test(flavor = "multi_thread")]
async fn askback_is_asked_between_two_of_authlib() -> Result<()> {
    let plan = between("askback-authlib-authlib", Maker::Authlib, Maker::Authlib);
    check(plan, BY_QUESTION).await
}

#[tokio::test(flavor = "multi_thread")]
async fn askback_goes_on_in_rounds_from_oidc_provider_to_authlib() -> Result<()> {
    let plan = between("askback-oidc-authlib", Maker::OidcProvider, Maker::Authlib);
    check(plan, IN_ROUNDS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn askback_goes_on_in_rounds_from_authlib_to_oidc_provider() -> Result<()> {
    let plan = between("askback-authlib-oidc", Maker::Authlib, Maker::OidcProvider);
    check(plan, IN_ROUNDS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn askback_is_told_by_an_error_between_oidc_provider_and_authlib() -> Result<()> {
    let plan = Plan {
        by_error: true,
        ..between("askback-by-error", Maker::OidcProvider, Maker::Authlib)
    };
    check(plan, BY_QUESTION).await
}
