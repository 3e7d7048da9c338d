//! The command with a page, and a browser in front of it.

use std::{fs, path::PathBuf, process::Stdio, time::Duration};

use lab::browser::{Browser, Means, Person};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::Result;

const ASKBACK: &str = env!("CARGO_BIN_EXE_interop-askback");

/// The time limit for a line of the command.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The command with a terminal and a page, and a user at the page. Both end on drop.
pub(crate) struct Stage {
    pub(crate) person: Person,
    /// The one-time link, which was used.
    pub(crate) link: String,
    has_scripts: bool,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
    _process: Child,
}

impl Stage {
    /// Opens the travel agency, and its page.
    pub(crate) async fn open(browser: &Browser, means: Means) -> Result<Self> {
        Self::open_server(browser, means, &[ASKBACK, "serve", "travel"], &[]).await
    }

    /// Opens a server with these options, and its page.
    pub(crate) async fn open_server(
        browser: &Browser,
        means: Means,
        server: &[&str],
        options: &[&str],
    ) -> Result<Self> {
        let mut process = Command::new(ASKBACK)
            .args(["open", "--web", "--plain"])
            .args(options)
            .arg("--")
            .args(server)
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("BROWSER")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = process.stdin.take().ok_or("the command has no stdin")?;
        let stdout = process.stdout.take().ok_or("the command has no stdout")?;
        let stderr = process.stderr.take().ok_or("the command has no stderr")?;
        let mut stderr = BufReader::new(stderr).lines();
        let line = line_with(&mut stderr, "http://127.0.0.1:").await?;
        let (_, link) = line.split_once("http://").ok_or("the line has no link")?;
        let link = format!("http://{}", link.trim());
        let person = browser.person_with("person", means).await?;
        person.goto(&link).await?;
        Ok(Self {
            person,
            link,
            has_scripts: !means.scriptless,
            stdin,
            stdout: BufReader::new(stdout).lines(),
            stderr,
            _process: process,
        })
    }

    /// Types a line at the terminal.
    pub(crate) async fn enter(&mut self, line: &str) -> Result<()> {
        Ok(self.stdin.write_all(format!("{line}\n").as_bytes()).await?)
    }

    /// Waits until the terminal shows a text.
    pub(crate) async fn prints(&mut self, text: &str) -> Result<String> {
        line_with(&mut self.stderr, text).await
    }

    /// Waits until a result contains a text.
    pub(crate) async fn returns(&mut self, text: &str) -> Result<()> {
        line_with(&mut self.stdout, text).await.map(|_| ())
    }

    /// Saves a screenshot, and checks the page.
    pub(crate) async fn look(&self, name: &str) -> Result<()> {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page");
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{name}.png"));
        let person = &self.person;
        person.screenshot(&file).await?;
        assert_eq!(
            person.overflow().await?,
            0,
            "{name}: pixels outside the window"
        );
        if self.has_scripts {
            assert_eq!(person.faults().await?, [], "{name}");
        }
        assert_eq!(person.violations().await?, [], "{name}");
        assert_eq!(person.errors().await?, [] as [String; 0], "{name}");
        Ok(())
    }
}

async fn line_with(
    lines: &mut Lines<BufReader<impl AsyncRead + Unpin>>,
    text: &str,
) -> Result<String> {
    let found = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains(text) {
                return Ok(line);
            }
        }
        Err(format!("the command ended without {text:?}").into())
    };
    timeout(PATIENCE, found).await?
}
