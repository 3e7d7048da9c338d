//! Third-party clients: each prints the link that it gets, and its user opens the link in the same
//! browser.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use askback::Revision::V2026_07_28;
use lab::{install, issuers::Maker};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout},
    time::timeout,
};

use crate::{
    Result, browser,
    scene::{MILES, Plan, Scene},
};

/// The packages, with the versions of the interop suite.
const NPM: [&str; 2] = [
    include_str!("../../interop/typescript/package.json"),
    include_str!("../../interop/typescript/package-lock.json"),
];
const PYTHON_1: &str = include_str!("../../interop/python/requirements-1.txt");
const PYTHON_2: &str = include_str!("../../interop/python/requirements-2.txt");

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/connect");

/// The time limit for a client's next line.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Copy)]
enum Peer {
    TypeScript(&'static str, &'static str),
    Python(&'static str, &'static str, &'static str),
}

impl Peer {
    /// Returns the command that starts it; `None` with a note if it cannot be installed.
    fn command(self) -> Result<Option<Command>> {
        let command = match self {
            Self::TypeScript(name, content) => {
                let [package, lock] = NPM;
                let directory = install::npm("interop/npm", package, lock)?;
                let node = |directory: PathBuf| -> Result<Command> {
                    Ok(install::node(&install::program(&directory, name, content)?))
                };
                directory.map(node).transpose()?
            }
            Self::Python(name, list, file) => {
                install::python(name, list)?.map(|directory| {
                    let mut command = Command::new(directory.join("bin/python"));
                    command
                        .arg(Path::new(SOURCES).join(file))
                        // Python must not write its cache into the sources.
                        .env("PYTHONDONTWRITEBYTECODE", "1");
                    command
                })
            }
        };
        if command.is_none() {
            install::tell_left_out("a client of others", "it cannot be installed here");
        }
        Ok(command)
    }
}

/// A running client, killed on drop.
struct Client {
    lines: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Client {
    fn start(command: Command, scene: &Scene, token: &str) -> Result<Self> {
        let mut process = tokio::process::Command::from(command)
            .args([&*scene.endpoint, token])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = process.stdout.take().ok_or("the client has no output")?;
        Ok(Self {
            lines: BufReader::new(stdout).lines(),
            _process: process,
        })
    }

    async fn says(&mut self) -> Result<Value> {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.map_err(|_| format!("the client said nothing within {PATIENCE:?}"))??;
        Ok(serde_json::from_str(&line.ok_or("the client ended")?)?)
    }
}

async fn check(name: &'static str, peer: Peer, revision: &str) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(command) = peer.command()? else {
        return Ok(());
    };
    let plan = Plan {
        binds: false,
        ..Plan::new(name, Maker::OidcProvider)
    };
    let Some(scene) = Scene::set(plan).await? else {
        return Ok(());
    };
    scene.airline.credit("ada", MILES);
    // Our client signs in and lends its token, which is not bound to a key.
    let lender = scene
        .call(browser, "ada", V2026_07_28, false, "my_miles")
        .await?;
    lender.said.abort();
    let mut client = Client::start(command, &scene, &lender.token)?;
    let asked = client.says().await?;
    let link = asked["link"]
        .as_str()
        .ok_or_else(|| format!("there is no link: {asked}"))?;
    let ada = browser.person("ada").await?;
    scene.connect(&ada, link, "ada").await?;
    let said = loop {
        let line = client.says().await?;
        // In 2026-07-28 the server asks for the same link again.
        if line["link"] != link {
            break line;
        }
    };
    assert_eq!(said["revision"], revision, "{said}");
    let miles: Value = serde_json::from_str(said["said"].as_str().unwrap_or_default())?;
    assert_eq!(miles, json!({"person": "ada", "miles": MILES}));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn python_1_leads_to_the_pages() -> Result<()> {
    let peer = Peer::Python("interop/python-1", PYTHON_1, "links_1.py");
    check("python-1", peer, "2025-11-25").await
}

#[tokio::test(flavor = "multi_thread")]
async fn python_2_leads_to_the_pages() -> Result<()> {
    let peer = Peer::Python("interop/python-2", PYTHON_2, "links_2.py");
    check("python-2", peer, "2026-07-28").await
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_1_leads_to_the_pages() -> Result<()> {
    let program = include_str!("../../connect/links-1.mjs");
    check(
        "typescript-1",
        Peer::TypeScript("links-1", program),
        "2025-11-25",
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_2_leads_to_the_pages() -> Result<()> {
    let program = include_str!("../../connect/links-2.mjs");
    check(
        "typescript-2",
        Peer::TypeScript("links-2", program),
        "2026-07-28",
    )
    .await
}
