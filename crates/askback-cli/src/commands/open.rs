//! `askback TARGET` opens a conversation with a server.

use std::path::PathBuf;

use askback_host::{
    host::Host,
    page::{Style, out},
    plain::catalog,
    text::given,
    words,
};

use crate::{
    app::commands,
    error::{Error, Outcome},
    files::WatchedFiles,
    misplaced,
    repl::Repl,
    session::{Answers, Session, SessionArgs},
    suite::record::Recorder,
    target::{Reach, Target},
};

/// Open a server, or several, and talk to it
///
/// Its prompts are slash commands; /help lists the others. Lines are read from the standard input,
/// whatever it is; its end leaves, and cancels a question that is open.
#[derive(Debug, Clone, clap::Args)]
pub struct OpenArgs {
    /// The server: a URL, a name in mcp.json, or a file such as server.py
    #[arg(value_name = "SERVER")]
    target: Option<String>,
    /// Record calls and their questions in this new file, as a suite
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Open all servers of the file that are not disabled
    #[arg(long, conflicts_with_all = ["target", "server", "url", "command", "name"])]
    all: bool,
    /// Show the questions on a page in your browser, too
    #[arg(long)]
    web: bool,
    /// Start the server again when a file changes, and call again
    #[arg(long)]
    watch: bool,
    /// Watch these files and folders instead
    #[arg(long, value_name = "PATH", num_args = 1..)]
    watch_files: Vec<PathBuf>,
    /// Ignore the files that this glob matches, such as logs
    #[arg(long, value_name = "GLOB")]
    ignore: Vec<String>,
    #[command(flatten)]
    session: SessionArgs,
}

impl OpenArgs {
    fn files(&self, target: &Target) -> Result<Option<WatchedFiles>, Error> {
        if !self.watch && self.watch_files.is_empty() {
            return match self.ignore.is_empty() {
                true => Ok(None),
                false => Err(Error::usage("--ignore needs --watch or --watch-files")),
            };
        }
        let Reach::Start(command) = &target.reach else {
            return Err(Error::usage(
                "--watch is for a server that is started here, not one at a URL",
            ));
        };
        let paths = match self.watch_files.is_empty() {
            true => vec![command.cwd.clone().unwrap_or_else(|| ".".into())],
            false => self.watch_files.clone(),
        };
        WatchedFiles::new(&paths, &self.ignore).map(Some)
    }
}

pub async fn run(mut args: OpenArgs, outcome: &mut Outcome) -> Result<(), Error> {
    out::speak_at_terminal();
    let word = args.target.take();
    let words = word.iter().cloned().collect();
    args.session.target.name_by_all(words).map_err(|error| {
        let commands = commands();
        let commands: Vec<_> = commands.iter().map(String::as_str).collect();
        let near = word.and_then(|word| misplaced::near(&word, &commands));
        match near {
            Some(command) => error.hint(words!(
                "Did you mean {}? `askback help` lists the commands.",
                given(command)
            )),
            None => error.hint("`askback help` lists the commands."),
        }
    })?;
    args.session.asks_in_known = true;
    args.session.keeps_wire = true;
    args.session.on_page = args.web;
    let mut targets = args.session.targets(args.all)?;
    if targets.len() > 1 {
        return several(args, targets, outcome).await;
    }
    let Some(target) = targets.pop() else {
        return Err(Error::usage("no server is named"));
    };
    let files = args.files(&target)?;
    let mut session_args = args.session;
    session_args.builds = files.is_some();
    let recorder = args.record.as_deref();
    let mut recorder = recorder
        .map(|file| Recorder::new(file, &target))
        .transpose()?;
    let mut session = Session::open(target, &session_args, Answers::Person).await?;
    let Session { client, host, .. } = &mut session;
    greet(host, client);
    if let Some(recorder) = &mut recorder {
        recorder.attach(&mut session);
    }
    let mut repl = Repl::new(&mut session).watching(files);
    repl.record(recorder.as_mut());
    let ran = repl.run().await;
    *outcome = repl.outcome();
    if let Some(recorder) = &recorder {
        recorder.tell(session.host.page());
        session.host.flush();
    }
    session.close().await;
    ran
}

async fn several(
    args: OpenArgs,
    mut targets: Vec<Target>,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    if args.record.is_some() || args.watch || !args.watch_files.is_empty() {
        return Err(Error::usage(
            "--record and --watch are for one server, and several are meant",
        ));
    }
    let first = targets.remove(0);
    let session_args = args.session;
    let (mut session, others, opening) =
        Session::open_several(first, targets, &session_args).await?;
    let mut repl = Repl::new(&mut session).beside(others, opening);
    repl.list_servers();
    let ran = repl.run().await;
    *outcome = repl.outcome();
    for other in repl.leave() {
        other.close(&mut session.host).await;
    }
    session.close().await;
    ran
}

fn greet(host: &mut Host, client: &askback::client::Client) {
    let asker = host.desk().asker().clone();
    let page = host.page();
    let capabilities = client.capabilities();
    let revision = client.revision();
    catalog::identity(page, &asker, revision.as_str(), &capabilities, None);
    if let Some(instructions) = client.instructions() {
        let lines = instructions.lines().count();
        let lines = match lines {
            1 => "1 line".into(),
            lines => words!("{} lines", lines),
        };
        let words = words!(
            "instructions for models: {}; /instructions shows them",
            lines
        );
        page.note(Style::Plain, words);
    }
    page.note(Style::Plain, "/help lists the commands.");
}
