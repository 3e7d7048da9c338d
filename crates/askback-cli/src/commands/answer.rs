//! `askback answer` answers a pending question.

use std::{
    collections::BTreeMap,
    env,
    io::{self, IsTerminal, Read},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use askback::{
    Limits,
    forms::{Content, Field, FieldKind, FormSchema},
    protocol::{ElicitParams, ElicitResult, InputRequest, Meta},
};
#[cfg(unix)]
use askback_host::{
    Interruption,
    attach::{self, FrontEndKind, JoinOptions, PageLock},
    host::Host,
    leaf::Leaf,
    model::{Asker, Desk, Origin},
    receipts::ReceiptBook,
    relay::Relay,
};
use askback_host::{
    model::{link, read_field},
    page::{Page, Style, out},
    question,
    text::{self, Clock, PeerText, given},
    view, words,
};
use clap::Parser;
use serde_json::Value;

use super::{
    call::CallArgs,
    park::{self, ParkedCallReport},
    print_as_json,
};
use crate::{
    args::{self, Argument, ArgumentValue, Place},
    error::{Error, Outcome},
    parked::{ParkedCall, Parking},
    session::{Answers, Session},
};
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
  askback answer k3f size=large
  askback answer --file rules.yaml

askback call TOOL … --park prints a question with its id and exits with 8. This command \
continues the call, and prints the result, or the next question with its own id.

Without an ID, it lists the waiting calls. At a terminal it then shows the questions of all your programs that have no terminal, as they arrive; with --file the rules of an answers file answer \
them, and --web shows them on a page in your browser. Ctrl-C leaves, and open questions wait for another askback answer. With only an ID, it prints the question again, or sends an answer again that got no result. A new answer replaces that one. A field without a value here has its \
default. A call waits for 24 hours; its server may accept its state for less.

Exit codes: those of askback call, and 8 if a question waits.";

/// Answer questions of programs that have nobody to ask, and of `askback call --park`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = AFTER)]
pub struct AnswerArgs {
    /// The id of the call; without an id, the command lists the waiting calls
    id: Option<String>,
    /// The fields of the form: key=value, read as at a terminal (yes, the title of an option), or key:=json
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// The question, if several wait at once
    #[arg(long, value_name = "KEY", requires = "id")]
    key: Option<String>,
    /// Send the form with its defaults, or agree to the link
    #[arg(long, requires = "id", conflicts_with_all = ["decline", "cancel"])]
    accept: bool,
    /// Say no
    #[arg(long, requires = "id", conflicts_with_all = ["cancel", "fields"])]
    decline: bool,
    /// Why you say no; the server sees this
    #[arg(long, value_name = "WHY", requires = "decline", conflicts_with_all = ["accept", "cancel", "fields"])]
    reason: Option<String>,
    /// Dismiss the question without a yes or no
    #[arg(long, requires = "id", conflicts_with = "fields")]
    cancel: bool,
    /// Allow secret values on this command line; FIELD=- reads a value from standard input instead
    #[arg(long, requires = "id")]
    secret: bool,
    /// Print the result or the next question as JSON; without a terminal, a question is always JSON
    #[arg(long)]
    json: bool,
    /// Answer questions by the rules of this file; `askback help answers` describes them
    #[arg(long, value_name = "RULES", conflicts_with_all = ["id", "json"])]
    file: Option<PathBuf>,
    /// Ask one question a line, for a screen reader or a simple terminal
    #[arg(long, conflicts_with_all = ["id", "json", "file"])]
    plain: bool,
    /// Answer questions on a page in the browser, and at the terminal if there is one
    #[arg(long, conflicts_with_all = ["id", "json", "file"])]
    web: bool,
    /// Be the page that opens by itself: end if there is one, or if no program has had questions for a while
    #[arg(long, hide = true, requires = "web")]
    detached: bool,
    // Hidden: see the option of `askback wrap`.
    /// The folder of the questions that come, in place of the user's
    #[arg(long, value_name = "FOLDER", hide = true, conflicts_with = "id")]
    asks: Option<PathBuf>,
}

/// The words behind `askback call`.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: CallArgs,
}

pub async fn run(args: AnswerArgs, outcome: &mut Outcome) -> Result<(), Error> {
    let parking = Parking::of_user()?;
    // Every use of the command removes expired calls.
    let waiting = parking.all()?;
    let Some(id) = &args.id else {
        let waits = !args.json && (args.file.is_some() || args.web || out::is_attended());
        if !waits || !waiting.is_empty() {
            list(&waiting, args.json)?;
        }
        return match waits {
            true => wait(args).await,
            false => Ok(()),
        };
    };
    // Read before the call's file, because a stored answer is sent again only by a command without one.
    let fields = args::parse(&args.fields)?;
    let answers = args.decline || args.cancel || args.accept || !fields.is_empty();
    let mut turn = parking.take(id)?;
    if answers {
        let (key, question) = args.question(&turn.call)?;
        let answer = args.answer(question, fields)?;
        let answer = serde_json::to_value(answer).map_err(|error| Error::usage(given(error)))?;
        turn.call.answers.insert(key, answer);
        turn.call.sent = false;
        turn.keep()?;
    }
    if !turn.call.is_answered()? || !answers && args.key.is_some() {
        return park::print(&turn.id, &turn.call, args.json, outcome);
    }
    if !answers {
        let mut page = out::stderr_page();
        tell_answered(&mut page, &turn.call)?;
        out::tell(&mut page);
    }
    let mut session = match reopen(&turn.call).await {
        Ok(session) => session,
        Err(error) => return Err(error.hint(park::tries_again(&turn.id))),
    };
    let went_on = park::go_on(&mut session, turn, args.json, outcome).await;
    session.close().await;
    went_on
}

/// Answers incoming questions until the user interrupts.
#[cfg(unix)]
async fn wait(args: AnswerArgs) -> Result<(), Error> {
    let limits = Limits::default();
    let mut options = JoinOptions::new(match (&args.file, args.web) {
        (Some(_), _) => FrontEndKind::Script,
        (None, true) => FrontEndKind::Page,
        (None, false) => FrontEndKind::Terminal,
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
    let joined = attach::join(&mut host, &relay, options).await;
    host.end();
    drop(lock);
    joined.map(|Interruption| ()).map_err(cannot_wait)
}

#[cfg(unix)]
fn cannot_wait(error: io::Error) -> Error {
    Error::usage(words!("cannot wait for questions: {}", given(error)))
}

#[cfg(not(unix))]
async fn wait(_: AnswerArgs) -> Result<(), Error> {
    Err(
        Error::usage("askback cannot show the questions of other programs on this system yet")
            .hint("askback answer ID answers a parked call."),
    )
}

impl AnswerArgs {
    /// Starts the front end that shows or answers incoming questions.
    #[cfg(unix)]
    fn front_end(
        &self,
        options: &mut JoinOptions,
        limits: &Limits,
    ) -> Result<Box<dyn Leaf>, Error> {
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

    fn question(&self, call: &ParkedCall) -> Result<(String, InputRequest), Error> {
        let (mut questions, _) = call.asks()?;
        let meant = match &self.key {
            Some(key) => Some(key.clone()),
            None => call.meant(&questions),
        };
        let found = meant.and_then(|key| Some((questions.remove(&key)?, key)));
        found.map(|(question, key)| (key, question)).ok_or_else(|| {
            let keys: Vec<_> = questions.into_iter().map(|(key, _)| key).collect();
            Error::usage("name one of these questions with --key:").quoting(keys.join("\n"))
        })
    }

    fn answer(
        &self,
        question: InputRequest,
        mut fields: Vec<Argument>,
    ) -> Result<ElicitResult, Error> {
        if self.decline {
            return Ok(declined(self.reason.clone()));
        }
        if self.cancel {
            return Ok(ElicitResult::cancel());
        }
        match question {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                let secrets = form.requested_schema.secret_fields(&form.message);
                take_secrets(secrets, &mut fields, self.secret)?;
                let content = read(fields, &form.requested_schema)?;
                let content = form.requested_schema.with_defaults(content);
                let limits = Limits::default();
                let checked = form.requested_schema.check(&content, &limits.forms);
                checked.map_err(|issues| {
                    // A field's name in the message may contain a line break.
                    let issues = issues.0.iter().map(|issue| text::line(&issue.to_string()));
                    let issues: Vec<_> = issues.collect();
                    Error::usage("the answer does not fit the form:").quoting(issues.join("\n"))
                })?;
                Ok(ElicitResult::accept(content))
            }
            InputRequest::Elicit(ElicitParams::Url(link)) if fields.is_empty() => agree(&link.url),
            _ => Err(
                Error::usage("this question is not a form, so it takes no FIELD=VALUE")
                    .hint("Answer with --accept, --decline or --cancel."),
            ),
        }
    }
}

/// Reads fields as a user types them at a terminal. Validation rejects fields that the form lacks, and a JSON field
/// may hold a text as well.
fn read(fields: Vec<Argument>, form: &FormSchema) -> Result<Content, Error> {
    let schema = serde_json::to_value(form).unwrap_or(Value::Null);
    let clock = Clock::of_this_machine();
    let mut content = Content::new();
    for argument in fields {
        let field = form.field(&argument.key);
        let field = field.filter(|field| !matches!(field.kind, FieldKind::Json(_)));
        match (field, argument) {
            (
                Some(field),
                Argument {
                    key,
                    given: ArgumentValue::Text(text),
                },
            ) => {
                let value = read_field(field, &text, clock);
                // The text may be a secret.
                let value =
                    value.map_err(|issue| Error::usage(words!("{}: {}", given(&key), issue)))?;
                content.insert(key, value);
            }
            (_, argument) => content.extend(args::for_tool(vec![argument], &schema, Place::Form)?),
        }
    }
    Ok(content)
}

fn declined(reason: Option<String>) -> ElicitResult {
    let mut meta = Meta::default();
    if let Some(reason) = reason {
        meta.set_reason(reason);
    }
    ElicitResult {
        meta: meta.boxed(),
        ..ElicitResult::decline()
    }
}

/// Reads the values of secret fields. `-` reads from stdin. A value on the command line is visible in the process
/// list and the shell history, so it needs the user's consent.
fn take_secrets<'a>(
    secrets: impl Iterator<Item = &'a Field>,
    fields: &mut [Argument],
    secret: bool,
) -> Result<(), Error> {
    let mut read = false;
    for field in secrets {
        let Some(argument) = fields.iter_mut().find(|it| it.key == field.name) else {
            continue;
        };
        match &mut argument.given {
            ArgumentValue::Text(text) if text == "-" => {
                if read {
                    let error = "only one field can be read from the standard input";
                    return Err(Error::usage(error).hint("Give the others with --secret."));
                }
                read = true;
                *text = from_input()?;
            }
            _ if secret => {}
            _ => {
                return Err(Error::usage("this field seems to ask for a secret:")
                    .quoting(&field.name)
                    .hint("A server must not ask for one in a form: it gets what is given as it is.")
                    .hint("FIELD=- reads the value from the standard input; --secret sends the value on the command line."));
            }
        }
    }
    Ok(())
}

/// The longest secret, in bytes.
const LONGEST: u64 = 64 << 10;

fn from_input() -> Result<String, Error> {
    let input = io::stdin().lock();
    if input.is_terminal() {
        return Err(
            Error::usage("the standard input is a terminal, which would show the secret")
                .hint("Pipe it in: printf %s \"$SECRET\" | askback answer ID FIELD=-"),
        );
    }
    let mut text = String::new();
    let read = input.take(LONGEST + 1).read_to_string(&mut text);
    let read = read.map_err(|error| {
        Error::usage(words!(
            "the standard input cannot be read: {}",
            given(error)
        ))
    })?;
    if read as u64 > LONGEST {
        let words = words!("the standard input has more than {} bytes", LONGEST);
        return Err(Error::usage(words));
    }
    let end = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(end);
    Ok(text)
}

/// Agrees to a link if it may be opened, and warns of anything misleading in it.
fn agree(url: &str) -> Result<ElicitResult, Error> {
    let link = link::judge(url).map_err(|refusal| {
        let words = words!("the link is not opened: {}", refusal.words());
        Error::usage(words).quoting(url)
    })?;
    let mut page = out::stderr_page();
    question::warnings(&mut page, &view::destination(&link).warnings);
    out::tell(&mut page);
    Ok(ElicitResult::agree())
}

async fn reopen(call: &ParkedCall) -> Result<Session, Error> {
    env::set_current_dir(&call.folder).map_err(|error| {
        let folder = given(call.folder.display());
        Error::usage(words!("{} cannot be entered: {}", folder, given(error)))
    })?;
    let line = std::iter::once("call").chain(call.line.iter().map(String::as_str));
    let line = Line::try_parse_from(line)
        .map_err(|_| Error::usage("the call's file was written by another version of askback"))?;
    let session = line.args.named()?.into_session();
    Session::open(session.target()?, &session, Answers::Nobody).await
}

fn list(all: &BTreeMap<String, ParkedCall>, is_json: bool) -> Result<(), Error> {
    if is_json {
        let parked = all.iter().map(|(id, call)| ParkedCallReport::of(id, call));
        let parked = parked.collect::<Result<Vec<_>, _>>()?;
        return print_as_json(&BTreeMap::from([("parked", parked)]));
    }
    let mut page = out::stdout_page();
    for (id, call) in all {
        let (questions, _) = call.asks()?;
        let keys: Vec<_> = questions.into_iter().map(|(key, _)| key).collect();
        let about = format!("{}: {}", call.tool, keys.join(", "));
        let mark = words!("{} {} ", given(id), given(&call.server).short());
        page.quote_line(mark, PeerText::from(about));
        tell_answered(&mut page, call)?;
    }
    if all.is_empty() {
        page.say(Style::Plain, "Nothing waits.");
    }
    Ok(out::print(&page.take())?)
}

/// Prints which questions have an answer, and whether it was sent.
fn tell_answered(page: &mut Page, call: &ParkedCall) -> Result<(), Error> {
    let (questions, _) = call.asks()?;
    for (key, _) in questions.iter() {
        if let Some(delivery) = call.delivery(key) {
            page.quote_line(words!("  {} ", delivery), key);
        }
    }
    Ok(())
}
