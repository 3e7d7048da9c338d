//! `askback answer` answers the questions of programs that have nobody to ask.

use std::path::PathBuf;
#[cfg(unix)]
use std::{io, sync::Arc, time::Duration};

#[cfg(unix)]
use askback::Limits;
#[cfg(unix)]
use askback_host::{
    Interruption,
    attach::{self, FrontEndKind, JoinOptions, PageLock},
    host::Host,
    leaf::Leaf,
    model::{Asker, Desk, Origin},
    page::{Style, out},
    receipts::ReceiptBook,
    relay::Relay,
    text::given,
    unattended::UnattendedRun,
    words,
};

use crate::error::Error;
#[cfg(unix)]
use crate::{
    receipts::ReceiptFolder,
    session::{leaf, page, with_page},
};

/// How long the automatically opened page keeps running without a program that may ask.
#[cfg(unix)]
const IDLE_PAGE: Duration = Duration::from_secs(60);

const AFTER: &str = "\
Examples:
  askback answer
  askback answer --web
  askback answer --file rules.yaml
  askback answer --json | jq .title

At a terminal it shows the questions of all your programs that have no terminal, as they arrive. With --file the rules \
of an answers file answer them, and --web shows them on a page in your browser. --json prints them for a program, \
and a line when one ends; it answers none. Ctrl-C leaves, and open questions wait for \
another askback answer.";

/// Answer questions of programs that have nobody to ask
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = AFTER)]
pub struct AnswerArgs {
    /// Answer questions by the rules of this file; `askback help answers` describes them
    #[arg(long, value_name = "RULES")]
    file: Option<PathBuf>,
    /// Ask one question a line, for a screen reader or a simple terminal
    #[arg(long, conflicts_with = "file")]
    plain: bool,
    /// Answer questions on a page in the browser, and at the terminal if there is one
    #[arg(long, conflicts_with = "file")]
    web: bool,
    /// Print each question as a line of JSON, and leave it to another askback answer
    #[arg(long, conflicts_with_all = ["file", "plain", "web"])]
    json: bool,
    /// Be the page that opens by itself: end if there is one, or if no program has had questions for a while
    #[arg(long, hide = true, requires = "web")]
    detached: bool,
    // Hidden: see the option of `askback wrap`.
    /// The folder of the questions that come, in place of the user's
    #[arg(long, value_name = "FOLDER", hide = true)]
    asks: Option<PathBuf>,
}

#[cfg(unix)]
pub async fn run(args: AnswerArgs) -> Result<(), Error> {
    let is_script = args.file.is_some() || args.json;
    if !is_script && !args.web && !out::is_attended() {
        return Err(
            Error::usage("questions cannot be shown here, because there is no terminal")
                .hint("--file RULES answers them from a file; --web shows them on a page."),
        );
    }
    let limits = Limits::default();
    let mut options = JoinOptions::new(match (is_script, args.web) {
        (true, _) => FrontEndKind::Script,
        (false, true) => FrontEndKind::Page,
        (false, false) => FrontEndKind::Terminal,
    });
    let mut lock = None;
    if args.detached {
        // Leaves the terminal of the program that started this one, because a closing terminal ends
        // its processes.
        let _ = rustix::process::setsid();
        lock = PageLock::take(args.asks.as_deref()).map_err(cannot_wait)?;
        if lock.is_none() {
            return Ok(());
        }
    }
    let leaf = args.front_end(&mut options, &limits)?;
    if options.kind != FrontEndKind::Script {
        let folder = ReceiptFolder::of_user();
        options.receipts = folder.map(|folder| Arc::new(folder) as Arc<dyn ReceiptBook>);
    }
    options.folder = args.asks;
    options.prints = args.json;
    let (relay, arrivals) = Relay::new();
    let ours = Asker {
        name: "askback".to_owned(),
        reached: Origin::Typed("askback answer".to_owned()),
        claims: None,
    };
    let desk = Desk::new(ours, None, None, limits.clone());
    let mut host = Host::new(desk, leaf, arrivals, &limits);
    relay.tell(match options.kind {
        FrontEndKind::Page => "Waiting for questions.",
        _ => "Waiting for questions. Ctrl-C ends this; open questions stay.",
    });
    let joined = tokio::select! {
        joined = attach::join(&mut host, &relay, options) => joined,
        _ = out::closed(), if args.json => Ok(Interruption),
    };
    host.end();
    drop(lock);
    joined.map(|Interruption| ()).map_err(cannot_wait)
}

#[cfg(unix)]
fn cannot_wait(error: io::Error) -> Error {
    Error::usage(words!("cannot wait for questions: {}", given(error)))
}

#[cfg(not(unix))]
pub async fn run(_: AnswerArgs) -> Result<(), Error> {
    Err(Error::usage(
        "askback cannot show the questions of other programs on this system yet",
    ))
}

impl AnswerArgs {
    #[cfg(unix)]
    fn front_end(
        &self,
        options: &mut JoinOptions,
        limits: &Limits,
    ) -> Result<Box<dyn Leaf>, Error> {
        if self.json {
            let run = UnattendedRun::new(None, limits.clone(), out::stderr());
            return Ok(Box::new(run));
        }
        let answers = super::answers(self.file.as_deref())?;
        if !self.web {
            return Ok(leaf(answers, self.plain, limits));
        }
        if !self.detached && out::is_attended() {
            options.kind = FrontEndKind::Terminal;
            return with_page(leaf(answers, self.plain, limits), limits);
        }
        let mut page = page(limits)?;
        if let Err(how) = page.open_browser() {
            // The link is only for the user, so it is not logged.
            if self.detached {
                return Err(Error::usage("cannot open a browser"));
            }
            let mut told = out::stderr_page();
            told.say(Style::Plain, how);
            out::tell(&mut told);
        }
        page.open_for_questions();
        options.is_seen = Some(page.is_open());
        options.idle = self.detached.then_some(IDLE_PAGE);
        Ok(Box::new(page))
    }
}
