//! A connection to a server, with a front end.

mod several;

use std::{path::PathBuf, str::FromStr, time::Duration};

use askback::{
    Limits, Revision,
    authorization::client::{AuthorizationError, SignInError},
    client::{Client, ClientError, Event, Protocol},
    internal::jsonrpc::{INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR},
    protocol::{
        RawJson, Root,
        codes::{HEADER_MISMATCH, UNSUPPORTED_VERSION},
    },
};
use askback_host::{
    folder,
    full::Full,
    host::Host,
    leaf::Leaf,
    leaves::Leaves,
    model::{Change, Permission, Presence},
    page::{Look, Style, out},
    plain::Plain,
    relay::ServerId,
    script::Script,
    text::{Words, given},
    unattended::UnattendedRun,
    web::WebPage,
    words,
};
use tokio::time::sleep;

pub use self::several::{Connection, OpenedServer, OpeningServers, State};
use self::several::{Room, tell_of};
use crate::{
    client_error::{self, told},
    error::{Error, Kind},
    locate::TargetArgs,
    models::ModelArgs,
    older,
    opener::Opener,
    permissions::Permissions,
    role::Role,
    seconds::seconds,
    sign_in::SignInArgs,
    target::{Reach, Target},
    typed,
    wire::{Trace, WireLog},
};

/// How long stderr is still read after a server has answered, for lines written before the answer.
const STDERR_BEHIND: Duration = Duration::from_millis(50);
/// The default of `--max-message`, in MiB: enough for images of 20 MB in base64. A local server has less reason for a
/// tight limit than one on the internet.
const MESSAGE_MIB: u32 = 32;

/// The largest `--max-message`, in MiB.
const MAX_MESSAGE_MIB: i64 = 1024;

/// The maximum number of build output lines to show in a burst.
const BUILD_LINES: u32 = 1024;

/// The options of every command that talks to a server.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SessionArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The protocol revision to speak, such as 2025-06-18
    #[arg(long, value_name = "REVISION", default_value = "auto", value_parser = protocol)]
    protocol: Option<Protocol>,
    /// Let the server work in this folder; may be given again
    #[arg(long, value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// Ask one question a line, for a screen reader or a simple terminal
    #[arg(long)]
    plain: bool,
    /// Give up a request after this long without progress [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<u64>,
    /// Show or hide the standard error of the server
    #[arg(
        long,
        value_name = "show|hide",
        value_enum,
        hide_possible_values = true
    )]
    stderr: Option<ServerStderr>,
    /// Read messages up to this size in MiB
    #[arg(long, value_name = "MIB", default_value = "32", value_parser = clap::value_parser!(u32).range(1..=MAX_MESSAGE_MIB))]
    max_message: Option<u32>,
    /// Show each message, or write them to FILE as lines of JSON
    #[arg(
        long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "", value_parser = Trace::read
    )]
    trace: Option<Trace>,
    /// Play other clients, such as codex or 2025-06-18,no-url
    #[arg(long = "as", value_name = "CLIENT", value_parser = Role::read)]
    pub(crate) role: Option<Role>,
    // Must follow all options without a heading, because clap applies a heading to everything after it.
    #[command(flatten)]
    sign_in: SignInArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// Keep the messages, so that they can be shown later.
    #[arg(skip)]
    pub(crate) keeps_wire: bool,
    /// Speak an older revision to a server that is known to ask in it only.
    #[arg(skip)]
    pub(crate) asks_in_known: bool,
    /// The server is built when it is started.
    #[arg(skip)]
    pub(crate) builds: bool,
    /// Show the questions on a page in a browser, too.
    #[arg(skip)]
    pub(crate) on_page: bool,
}

/// The value of `--stderr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ServerStderr {
    Show,
    Hide,
}

pub enum Answers {
    Person,
    Script(Script),
    /// A front end that is a program, not a user.
    Leaf {
        leaf: Box<dyn Leaf>,
        /// Whether it answers sampling requests with tool calls.
        calls_tools: bool,
    },
    Nobody,
}

pub struct Session {
    pub client: Client,
    pub host: Host,
    /// The messages. `None` if they are not needed.
    pub wire: Option<WireLog>,
    server: ServerId,
    opener: Opener,
}

impl SessionArgs {
    pub fn new(sign_in: SignInArgs, timeout: Option<u64>) -> Self {
        Self {
            sign_in,
            timeout,
            ..Self::default()
        }
    }

    fn protocol(&self) -> Protocol {
        self.protocol.unwrap_or(Protocol::Auto)
    }

    #[must_use]
    pub fn speaking(mut self, revision: Revision) -> Self {
        self.protocol = Some(Protocol::Only(revision));
        self
    }

    pub fn target(&self) -> Result<Target, Error> {
        one_revision(self.protocol(), self.role.unwrap_or_default())?;
        self.target.target()
    }

    pub fn targets(&self, all: bool) -> Result<Vec<Target>, Error> {
        one_revision(self.protocol(), self.role.unwrap_or_default())?;
        let targets = self.target.targets(all)?;
        let is_file = matches!(self.trace, Some(Trace::File(_)));
        if targets.len() > 1 && is_file {
            let error = "--trace=FILE is for one server, and several are meant";
            return Err(Error::usage(error).hint("/wire save FILE writes the messages of each."));
        }
        Ok(targets)
    }

    fn wire(&self, limits: &Limits) -> Option<WireLog> {
        let is_wanted = self.keeps_wire || self.trace.is_some();
        is_wanted.then(|| WireLog::new(limits))
    }

    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.wire.message_bytes = (self.max_message.unwrap_or(MESSAGE_MIB) as usize) << 20;
        if let Some(seconds) = self.timeout {
            limits.wire.request = Duration::from_secs(seconds);
            limits.client.probe = limits.client.probe.min(limits.wire.request);
        }
        if self.builds {
            limits.client.probe = limits.wire.request;
            limits.host.remarks = BUILD_LINES;
        }
        limits
    }

    fn shared(&self) -> Result<Option<Vec<Root>>, Error> {
        let roots = self.roots.iter().map(|path| folder::root(path));
        match roots.collect::<Result<Vec<_>, _>>() {
            Ok(roots) if roots.is_empty() => Ok(None),
            Ok(roots) => Ok(Some(roots)),
            Err(why) => Err(Error::usage(words!("--roots: {}", why))),
        }
    }
}

/// Prepares the connection to a server, and the host for its questions. Nothing is started yet.
pub fn prepare(
    target: Target,
    args: &SessionArgs,
    answers: Answers,
) -> Result<(Opener, Host), Error> {
    tell_of(&target);
    let (room, mut host) = Room::new(&target, args, answers, Some)?;
    let connection = room.connection(&mut host, target)?;
    Ok((connection.opener, host))
}

impl Session {
    pub async fn open(target: Target, args: &SessionArgs, answers: Answers) -> Result<Self, Error> {
        Self::open_taking(target, args, answers, Some).await
    }

    /// Opens a connection as [`Session::open`] does. `take` filters the events: it returns those that belong to the
    /// front end.
    pub async fn open_taking(
        target: Target,
        args: &SessionArgs,
        answers: Answers,
        take: impl Fn(Event) -> Option<Event> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        tell_of(&target);
        let (room, mut host) = Room::new(&target, args, answers, take)?;
        let connection = room.connection(&mut host, target)?;
        let client = open(&connection.opener, &mut host).await?;
        Ok(Self::of(host, connection, client))
    }

    pub fn role(&self) -> Role {
        self.opener.role
    }

    /// Ends the connection and the server process, and connects again. If that fails, the client is closed.
    pub async fn restart(&mut self) -> Result<(), Error> {
        let closing = self.client.clone().close();
        self.host.attend(closing).await?;
        self.host.note_presence(self.server, Presence::Down);
        if let Some(wire) = &self.wire {
            wire.lock().disconnected();
        }
        self.client = open(&self.opener, &mut self.host).await?;
        self.host.note_presence(self.server, Presence::There);
        let claims = self.client.server_info();
        self.host.change(Change::Met(self.server, claims));
        Ok(())
    }

    /// Uses only this revision from the next connection on, and remembers it for the server.
    pub fn speak(&mut self, revision: Revision) {
        self.opener.protocol = Protocol::Only(revision);
    }

    /// Returns the revision in which the server can ask, if this message says that it cannot ask in the current one.
    /// Remembers the revision for the server.
    pub fn asks_in_older(&self, said: &str) -> Option<Revision> {
        let is_newest = self.client.revision() == Revision::LATEST;
        let may_choose =
            self.opener.protocol == Protocol::Auto && self.opener.role == Role::default();
        if !is_newest || !may_choose || !older::is_surely_meant(said) {
            return None;
        }
        self.opener.older.keep(
            self.client.server_info().as_ref().map(older::claims),
            older::now(),
        );
        Some(older::REVISION)
    }

    pub async fn close(self) {
        let Self {
            client, mut host, ..
        } = self;
        // The run is over. A server that does not exit is killed.
        let _ = host.attend(client.close()).await;
        host.end();
    }
}

/// The host shows what it is waiting for.
async fn open(opener: &Opener, host: &mut Host) -> Result<Client, Error> {
    let connecting = opener.connect()?;
    let client = host
        .attend_aloud(connecting, opener.waiting.clone())
        .await?;
    if client.is_err() {
        host.release_stderr();
    } else if host.holds_stderr() {
        // The client may have read the answer before earlier lines of stderr.
        host.attend(sleep(STDERR_BEHIND)).await?;
    }
    client.map_err(|error| unopened(error, &opener.reach))
}

/// Converts an error of a connection that was not opened.
fn unopened(error: ClientError, reach: &Reach) -> Error {
    let is_told = match &error {
        // The program does not exist, or sign-in is not possible. A diagnosis finds no more.
        ClientError::Unreachable(_) => matches!(reach, Reach::Start(_)),
        ClientError::Authorization(_) => true,
        _ => false,
    };
    let failed = unreached(error, reach);
    match is_told {
        true => failed,
        false => failed.hint("Run askback check on it to see which step fails."),
    }
}

/// Converts an error, and reports a missing working directory instead of a missing program.
fn unreached(error: ClientError, reach: &Reach) -> Error {
    let ClientError::Unreachable(why) = &error else {
        return failed(error);
    };
    if let Some(missing) = client_error::no_folder(reach) {
        return missing;
    }
    let hint = client_error::reach_hint(why);
    hint.into_iter().fold(failed(error), Error::hint)
}

/// Gives the host the stored permissions for models and the server, and lets it store new ones.
fn permit(host: &mut Host, permissions: Permissions) {
    let permission = permissions.get().unwrap_or_else(|error| {
        let words = words!(
            "your permission for models cannot be read: {}",
            given(error)
        );
        host.page().item("! ", Style::Warning, words);
        Permission::Ask
    });
    host.permitting(permission, move |permission| {
        permissions.keep(permission).map_err(given)
    });
}

/// The sentence that says which server is being waited for. It includes the command or URL if the user typed it; for a
/// server from a file, these were already shown.
fn waiting(target: &Target) -> Words {
    let name = given(&target.name).short();
    match &target.file {
        Some(_) => words!("Waiting for {} to answer…", name),
        None => {
            let reach = given(target.shown());
            words!("Waiting for {} ({}) to answer…", name, reach)
        }
    }
}

/// The folder that the user can share with a server: the current one.
fn offer() -> Option<Root> {
    folder::root(&std::env::current_dir().ok()?).ok()
}

pub fn leaf(answers: Answers, plain: bool, limits: &Limits) -> Box<dyn Leaf> {
    let shown = limits.host.message_shown;
    match answers {
        Answers::Person => {
            let full = match !plain && out::is_attended() && !Look::is_dumb() {
                true => Full::new(shown).ok(),
                false => None,
            };
            match full {
                Some(full) => Box::new(full),
                None => Box::new(Plain::new(shown)),
            }
        }
        Answers::Script(script) => unattended(Some(script), limits),
        Answers::Leaf { leaf, .. } => leaf,
        Answers::Nobody => unattended(None, limits),
    }
}

/// Adds a page in a browser to a terminal, and opens it.
pub fn with_page(mut terminal: Box<dyn Leaf>, limits: &Limits) -> Result<Box<dyn Leaf>, Error> {
    let page = page(limits)?;
    let told = match page.open_browser() {
        Ok(()) => words!(
            "The page is open in your browser; it is at {}.",
            given(page.address())
        ),
        Err(how) => how,
    };
    terminal.tell(told);
    Ok(Box::new(Leaves::new(terminal, vec![Box::new(page)])))
}

pub fn page(limits: &Limits) -> Result<WebPage, Error> {
    WebPage::start(limits).map_err(|error| {
        Error::usage(words!("the page cannot be served: {}", given(error)))
            .hint("Without --web, the questions are asked at the terminal alone.")
    })
}

fn unattended(script: Option<Script>, limits: &Limits) -> Box<dyn Leaf> {
    Box::new(UnattendedRun::new(script, limits.clone(), out::stderr()))
}

pub fn failed(error: ClientError) -> Error {
    let kind = match &error {
        ClientError::Server(error) => match error.code {
            PARSE_ERROR | INVALID_REQUEST | METHOD_NOT_FOUND | HEADER_MISMATCH
            | UNSUPPORTED_VERSION => Kind::Protocol,
            _ => Kind::Server,
        },
        ClientError::Unreachable(_)
        | ClientError::Crashed(_)
        | ClientError::Http { .. }
        | ClientError::TimedOut(_)
        | ClientError::Busy(_)
        | ClientError::Closed => Kind::Connection,
        ClientError::OutcomeUnknown(_) => Kind::OutcomeUnknown,
        ClientError::Authorization(_) | ClientError::Unauthorized { .. } => Kind::SignIn,
        ClientError::QuestionRefused(_) => Kind::Refused,
        _ => Kind::Protocol,
    };
    let (words, quoted) = told(&error);
    let failed = Error {
        quoted,
        ..Error::new(kind, words)
    };
    match error {
        ClientError::Server(error) => {
            let failed = older::hinted(failed, &error.message);
            Error {
                answer: Some(Box::new(error)),
                ..failed
            }
        }
        ClientError::Output { result, .. } => Error {
            result: RawJson::new(&*result).ok(),
            ..failed
        },
        ClientError::TooLarge(_) => {
            failed.hint("--max-message MIB, such as 128, allows larger ones.")
        }
        ClientError::Authorization(error) => hinted(failed, &error),
        ClientError::Unauthorized { .. } => failed.hint(typed::HOW),
        ClientError::Http {
            status: 401 | 403, ..
        } => failed.hint(typed::HOW),
        _ => failed,
    }
}

/// Adds advice if a sign-in was not completed.
fn hinted(failed: Error, error: &AuthorizationError) -> Error {
    match error {
        AuthorizationError::SignIn(SignInError::Unattended) => failed
            .hint("Run askback list --url with its address at a terminal, and sign in there:")
            .hint("what that gives is kept for the runs after it, such as this one.")
            .hint(typed::HOW),
        AuthorizationError::NoRegistration(_) => {
            failed.hint("Name the client with --client-id ID, and its secret, if it has one, in a file with --client-secret-file FILE.")
        }
        // No sign-in page was found, or it failed.
        AuthorizationError::Url { .. }
        | AuthorizationError::Fetch { .. }
        | AuthorizationError::Document { .. }
        | AuthorizationError::NotAccepted(_) => failed.hint(typed::HOW),
        _ => failed,
    }
}

fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "auto" => Ok(Protocol::Auto),
        text => revision(text).map(Protocol::Only),
    }
}

/// Checks that the played client does not require a revision other than `--protocol`.
fn one_revision(protocol: Protocol, role: Role) -> Result<(), Error> {
    match (protocol, role.named) {
        (Protocol::Only(spoken), Some(named)) if spoken != named => {
            let words = words!(
                "--protocol {} and the revision {} of the client do not go together",
                given(spoken),
                given(named)
            );
            Err(Error::usage(words).hint("Name one of them."))
        }
        _ => Ok(()),
    }
}

pub fn revision(text: &str) -> Result<Revision, String> {
    Revision::from_str(text).map_err(|_| {
        let known = Revision::ALL.map(Revision::as_str).join(", ");
        format!("the revisions are {known}")
    })
}
