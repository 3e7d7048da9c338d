//! `askback wrap` is a server in front of another server. It answers questions instead of the
//! client.

mod bundle;
mod doctor;
mod install;
mod policy;

use std::{
    env,
    io::{IsTerminal as _, stdin},
    path::{Path, PathBuf},
    time::Duration,
};
#[cfg(unix)]
use std::{
    process::{self, Stdio},
    thread,
};

#[cfg(unix)]
use crate::receipts;
use askback::{
    BoxFuture,
    bridge::{Answers, Bridge, Hold, NoAnswers, OlderSign, Withdrawal},
    client::HostQuestion,
    protocol::{
        AnswerSource, ClientCapabilities, HasMeta as _, Implementation, InputRequest,
        InputResponse, Meta,
    },
    transport,
};
#[cfg(unix)]
use askback_host::{
    attach::{Board, BoardOptions, Notice},
    browser,
    host::Host,
    text,
};
use askback_host::{relay::Relay, script::Script, signals::Held, text::given, words};

use serde::Deserialize;

use self::{bundle::Bundle, policy::Options};
use super::{note, serve::termination};
use crate::{
    environment,
    error::{Error, Kind, Outcome},
    known_clients::KnownClient,
    locate::TargetArgs,
    older::{self, now},
    session::{self, SessionArgs, prepare},
    sign_in::SignInArgs,
    target::{Reach, Target},
    typed::TypedText,
};

/// The suffix of each client's title.
const MARK: &str = " (askback wrap)";

/// How long a call continues after it was given back, if the client does not repeat it.
const KEEP: Duration = Duration::from_secs(900);

/// Tells the client where questions are answered.
const PLACE: &str = "The user answers it with the command `askback answer` in a terminal.";

const PAGE: &str = "The user answers it on the page of askback in the browser, or with the command `askback answer` in a terminal.";

const AFTER: &str = "\
Examples:
  askback wrap --in codex my-server
  askback wrap --in codex --undo my-server
  askback wrap -- my-server --its-option
  askback wrap --url https://example.com/mcp --answers answers.yaml
  askback wrap --bundle my-server.mcpb --folder src -- python3 server.py

A question opens a page in your browser. `askback answer` in a terminal shows it, too.

The server gets the environment of this command, except the keys of models, which some clients pass on: --env NAME passes one.";

/// Serve another server to a client that cannot ask a person
///
/// The client talks to this command on the standard input and output, in any revision, and the command to
/// the server. A question goes to the client if the client shows such questions, and else to the answers
/// file and to `askback answer`. An answer that no person gave says so.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = AFTER)]
pub struct WrapArgs {
    /// The server in the file of the client
    #[arg(value_name = "NAME", conflicts_with_all = ["url", "server", "config", "from", "command"])]
    entry: Option<String>,
    #[command(flatten)]
    target: TargetArgs,
    /// Change the server NAME in this client's file so that it starts through askback, with a longer timeout
    #[arg(long = "in", value_name = "CLIENT", value_enum, conflicts_with_all = ["url", "server", "config", "from", "command"])]
    client: Option<&'static KnownClient>,
    /// With --in: restore the server's previous entry
    #[arg(long, requires = "client", conflicts_with = "doctor")]
    undo: bool,
    /// Say which clients here use `askback wrap`, and what is wrong
    #[arg(long, conflicts_with_all = ["entry", "url", "server", "config", "from", "command"])]
    doctor: bool,
    /// Write a bundle (.mcpb) that starts this command and the server after --, for Claude Desktop and others
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entry", "client", "doctor", "answers", "policy", "url"])]
    bundle: Option<PathBuf>,
    /// With --bundle: pack the files of the server from this folder
    #[arg(long, value_name = "FOLDER", requires = "bundle")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// The file with options for each server [default: askback/wrap.toml in the user's settings folder]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["client", "doctor"])]
    policy: Option<PathBuf>,
    // Hidden because the user's folder always works: this is for tests, and for the page that a test opens.
    /// The folder of the questions, in place of the user's
    #[arg(long, value_name = "FOLDER", hide = true)]
    asks: Option<PathBuf>,
    /// Send the header in this variable, as NAME: VALUE
    #[arg(long, value_name = "VARIABLE", hide = true)]
    header_env: Vec<String>,
    #[command(flatten)]
    sign_in: SignInArgs,
}

/// How the user learns that a question waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Show {
    Browser,
    Notice,
    None,
}

/// The choice of who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ask {
    Auto,
    Client,
    Here,
}

/// Answers questions from the answers file, or else through the user's front ends.
struct WrapAnswers {
    /// The host with the answers file, if any.
    script: Option<Relay>,
    /// `None` if the system has no place for it.
    #[cfg(unix)]
    board: Option<Board>,
    lent: ClientCapabilities,
    ask: Ask,
}

impl WrapAnswers {
    async fn answer(
        &self,
        question: HostQuestion,
        withdrawal: Withdrawal,
    ) -> askback::Result<InputResponse> {
        let by_file = match &self.script {
            Some(relay) => Some(relay.clone().answer(question.clone()).await),
            None => None,
        };
        let has_answer = match &by_file {
            Some(Ok(answer)) => !is_unasked(answer),
            Some(Err(_)) => true,
            None => false,
        };
        #[cfg(unix)]
        if let (Some(board), false) = (&self.board, has_answer) {
            return board.answer_unless(question, withdrawal).await;
        }
        #[cfg(not(unix))]
        let _ = withdrawal;
        match by_file {
            Some(answer) => answer,
            None => NoAnswers.answer(question).await,
        }
    }
}

/// Whether an answer says that the user was not asked.
fn is_unasked(answer: &InputResponse) -> bool {
    let meta = answer.meta();
    meta.and_then(Meta::answered_by) == Some(AnswerSource::Client)
}

impl Answers for WrapAnswers {
    fn capabilities(&self) -> ClientCapabilities {
        self.lent.clone()
    }

    fn answers_for(&self, client: &Implementation, question: &InputRequest) -> bool {
        match self.ask {
            Ask::Client => false,
            Ask::Here => true,
            Ask::Auto => {
                let known = KnownClient::of_info(&client.name);
                let is_lent = self.lent != ClientCapabilities::default();
                is_lent && known.is_some_and(|client| !client.shows(question))
            }
        }
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, askback::Result<InputResponse>> {
        self.answer_unless(question, Withdrawal::default())
    }

    fn answer_unless(
        &self,
        question: HostQuestion,
        withdrawal: Withdrawal,
    ) -> BoxFuture<'_, askback::Result<InputResponse>> {
        Box::pin(WrapAnswers::answer(self, question, withdrawal))
    }
}

/// Changes a client's file. `None` if the command line does not request a change.
fn configure(args: &WrapArgs, outcome: &mut Outcome) -> Option<Result<(), Error>> {
    if args.doctor {
        return Some(doctor::run(args.client, outcome));
    }
    Some(match (args.client, &args.entry) {
        (None, None) => {
            let target = &args.target;
            if target.is_named() || target.config.is_some() || target.from.is_some() {
                return None;
            }
            Err(Error::usage("no server is named")
                .hint("Write the command of the server after --: -- my-server --its-option")
                .hint("A server at a URL: --url https://example.com/mcp")
                .hint("A server in the file of a client: --in CLIENT NAME"))
        }
        (None, Some(word)) => {
            let error = words!("no client is named for the server {}", given(word));
            let option = match word.contains("://") {
                true => words!("A server at a URL: --url {}", given(word)),
                false => words!(
                    "A command that starts a server comes after --: -- {}",
                    given(word)
                ),
            };
            Err(Error::usage(error)
                .hint("Write askback wrap --in CLIENT NAME.")
                .hint(option))
        }
        (Some(client), None) => {
            let error = words!("no server of {} is named", client.title());
            Err(Error::usage(error).hint(words!(
                "askback wrap --doctor --in {} lists them.",
                client.name
            )))
        }
        (Some(client), Some(name)) if args.undo => install::undo(client, name),
        (Some(client), Some(name)) => wrap_entry(client, name, args.options.clone()),
    })
}

fn wrap_entry(client: &'static KnownClient, name: &str, options: Options) -> Result<(), Error> {
    let words = options.command_line()?;
    let show = options.or(policy::options(None, name)?).show;
    install::install(client, name, &words, show.unwrap_or(Show::Browser))
}

/// Adds the headers in these variables. Other users can read a command line.
fn add_headers(target: &mut TargetArgs, variables: &[String]) -> Result<(), Error> {
    for variable in variables {
        let header = env::var(variable).map_err(|_| {
            Error::usage("a header is in this variable, which is not set:").quoting(&**variable)
        })?;
        let Ok(header) = TypedText::read(&header);
        target.headers.push(header);
    }
    Ok(())
}

/// Runs until the client closes stdin or a signal arrives.
pub async fn run(mut args: WrapArgs, outcome: &mut Outcome) -> Result<(), Error> {
    if let Some(done) = configure(&args, outcome) {
        return done;
    }
    add_headers(&mut args.target, &args.header_env)?;
    let mut session = SessionArgs::new(args.sign_in, None);
    session.target = args.target;
    let mut target = session.target()?;
    if let Some(path) = &args.bundle {
        let program = env::current_exe();
        let program = program.map_err(|error| Error::unread(Path::new("askback"), error))?;
        return bundle::write(&Bundle {
            path,
            folder: args.folder.as_deref(),
            program: &program,
            target: &target,
            options: args.options.command_line()?,
        });
    }
    let policy = policy::options(args.policy.as_deref(), &target.name)?;
    let Options {
        answers,
        ask,
        hold,
        show,
    } = args.options.or(policy);
    let ask = ask.unwrap_or(Ask::Auto);
    let show = show.unwrap_or(Show::Browser);
    let place = match show {
        Show::Browser => PAGE,
        Show::Notice | Show::None => PLACE,
    };
    let script = answers.as_deref().map(super::script).transpose()?;
    let mut lent = lent(script.as_ref());
    let has_script = script.is_some();
    let answers = match script {
        Some(script) => session::Answers::Script(script),
        None => session::Answers::Nobody,
    };
    #[cfg(unix)]
    let identity = receipts::identity(&target);
    keep_model_keys(&mut target);
    let limits = session.limits();
    let (opener, mut host) = prepare(target, &session, answers)?;
    // An answers file draws nothing, so it signs no receipts. The front ends of the board sign their own.
    let script_relay = opener.relay.without_receipts();
    let events = script_relay.clone();
    #[cfg(unix)]
    let board = board(&host, identity, show, args.asks);
    #[cfg(unix)]
    if board.is_some() {
        let elicitation = lent.elicitation.get_or_insert_default();
        elicitation.form.get_or_insert_default();
        elicitation.url.get_or_insert_default();
    }
    if lent == ClientCapabilities::default() {
        note(
            "the server's questions are refused if the client cannot answer them: --answers FILE answers them",
        );
    }
    let (older, found) = (opener.older.clone(), opener.older.clone());
    let bridge = match opener.reach {
        Reach::Start(command) => Bridge::new(move || command.clone().child()),
        Reach::Address(address) => {
            let http = address.http()?;
            let http = match &opener.authorization {
                Some(authorization) => http.authorize(authorization),
                None => http,
            };
            Bridge::new(move || http.clone())
        }
    };
    let bridge = bridge
        .answers(WrapAnswers {
            script: has_script.then_some(script_relay),
            #[cfg(unix)]
            board,
            lent,
            ask,
        })
        .on_event(move |event| events.event(event))
        .mark_clients(MARK)
        .asks_in_older(
            move |sign| match sign {
                OlderSign::Connecting => older.is_older(now()),
                OlderSign::Greeting(server) => {
                    older.greeted(server.map(older::claims));
                    older.is_older(now())
                }
                OlderSign::Failure(said) => older::is_surely_meant(said),
            },
            move |server| {
                found.keep(server.map(older::claims), now());
                note(words!(
                    "the server can ask up to {} only, and is connected in it",
                    older::REVISION.as_str()
                ));
            },
        )
        .hold(move |client, has_progress| Hold {
            after: match hold {
                Some(seconds) => Duration::from_secs(seconds),
                None => KnownClient::hold(&client.name, has_progress),
            },
            keep: KEEP,
            place: place.to_owned(),
        })
        .limits(limits.clone());
    if stdin().is_terminal() {
        note(
            "waiting for a client of MCP on the standard input. Clients start this command themselves: see askback wrap --in, or Ctrl-C",
        );
    }
    let channel = transport::stdio(limits.wire.message_bytes).map_err(broken)?;
    // Some clients stop their servers with a signal, which is not a failure. Hold the signals until the process ends.
    std::mem::forget(Held::terminations());
    let served = tokio::select! {
        served = host.attend_silently(bridge.serve(channel)) => served.unwrap_or(Ok(())),
        () = termination() => Ok(()),
    };
    host.end();
    served.map_err(broken)
}

/// Offers questions to the user's front ends. Reports if that is impossible.
#[cfg(unix)]
fn board(host: &Host, identity: String, show: Show, folder: Option<PathBuf>) -> Option<Board> {
    let asker = host.asker(host.chosen()).clone();
    let name = text::line(&asker.name);
    let mut options = BoardOptions::new(asker);
    options.identity = Some(identity);
    options.folder.clone_from(&folder);
    let opened = Board::open(options, move |notice| match notice {
        Notice::NoFrontEnd | Notice::NotSeen(_) => {
            note(words!(
                "{} asks you something: `askback answer` in a terminal shows it",
                given(&name).short()
            ));
            let is_first = notice == Notice::NoFrontEnd;
            match show {
                Show::Browser if is_first && browser::is_seen(&environment::desktop()) => {
                    open_page(folder.as_deref());
                }
                Show::Browser | Show::Notice => show_notice(&name),
                Show::None => {}
            }
        }
        Notice::Flood => note("too many questions wait; the newest was not asked"),
        Notice::TooLong => {
            note("a question is too long to be asked; the server is told that no person was asked")
        }
        Notice::Expired(_) => note("a question was not answered in time"),
        Notice::Dropped(why) => note(words!("a front end was dropped: {}", given(why))),
    });
    match opened {
        Ok(board) => Some(board),
        Err(error) => {
            note(words!(
                "`askback answer` cannot be reached: {}",
                given(error)
            ));
            None
        }
    }
}

/// Starts the user's page, which ends at once if it is running.
#[cfg(unix)]
pub(super) fn open_page(folder: Option<&Path>) {
    let Ok(program) = env::current_exe() else {
        return;
    };
    let mut command = process::Command::new(program);
    command.args(["answer", "--web", "--detached"]);
    if let Some(folder) = folder {
        command.arg("--asks").arg(folder);
    }
    start(command);
}

#[cfg(unix)]
fn start(mut command: process::Command) {
    command
        .envs(environment::desktop())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // If it cannot be started, other front ends have the question. The thread waits for the command, so
    // that it does not become a zombie.
    thread::spawn(move || command.status());
}

/// Shows a desktop notice with our own text and the user's name for the server.
#[cfg(unix)]
fn show_notice(name: &str) {
    let title = format!("{name} asks you something");
    let body = "Run `askback answer` in a terminal.";
    let command = if cfg!(target_os = "macos") {
        // The texts are passed as arguments, not as part of the script.
        let mut command = process::Command::new("osascript");
        command.args(["-e", "on run argv"]);
        command.args([
            "-e",
            "display notification (item 2 of argv) with title (item 1 of argv)",
        ]);
        command.args(["-e", "end run", &title, body]);
        command
    } else {
        let mut command = process::Command::new("notify-send");
        command.args(["--app-name=askback", "--", &title, body]);
        command
    };
    start(command);
}

/// The kinds of questions that an answers file may answer.
fn lent(script: Option<&Script>) -> ClientCapabilities {
    let Some(script) = script else {
        return ClientCapabilities::default();
    };
    let mut lent = ClientCapabilities::default();
    let elicitation = lent.elicitation.get_or_insert_default();
    elicitation.form.get_or_insert_default();
    elicitation.url.get_or_insert_default();
    let sampling = lent.sampling.get_or_insert_default();
    if script.calls_tools() {
        sampling.tools.get_or_insert_default();
    }
    lent.roots.get_or_insert_default();
    lent
}

/// Removes the client's model keys from the server's environment, unless the command line names them.
fn keep_model_keys(target: &mut Target) {
    let Reach::Start(command) = &mut target.reach else {
        return;
    };
    for name in environment::model_keys() {
        if !command.env.contains_key(name) {
            note(words!(
                "{} is not passed to the server; --env {} passes it",
                name,
                name
            ));
            command.withheld.push(name.to_owned());
        }
    }
}

fn broken(error: std::io::Error) -> Error {
    Error::new(
        Kind::Connection,
        words!("the client cannot be served: {}", given(error)),
    )
}
