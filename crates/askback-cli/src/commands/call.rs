//! `askback call` calls a tool.

use std::path::PathBuf;

use askback::{
    client::{Client, ClientError},
    internal::revision::Era,
    protocol::{LeftOutEntry, LoggingLevel},
};
use askback_host::{
    content,
    host::Host,
    model::Call,
    page::{Style, out},
    words,
};
use serde_json::Value;

use super::{answers, retry};
use crate::{
    args,
    error::{Error, Outcome},
    lookup, missing, older,
    repl::calls,
    session::{Session, SessionArgs, failed},
    suite::record::{Recorder, Request},
};

pub const ANSWERS: &str = "\
answers:               # the first rule that fits a question answers it
  - when: {tool: book_holiday, key: wishes}
    accept: {confirm_booking: true}
  - when: {message: insurance}
    decline: true
  - when: {}           # everything else
    cancel: true
sampling:
  - reply: Take the 08:10.
roots: [./plans]       # seen from where the file lies

Members of a rule: when, accept, decline, cancel, reply (for a model), reason (of a decline), expected (true: the \
no is what you test), after (how long it waits), times, then (the answers after this one).
Members of when: server (the name you gave it), tool, prompt, key, mode (form, url), host (of a link), message (a \
part of it, or {regex: pattern}), fields, only (true: no other fields), tools (that a model is offered).

The guide on answers files has all of it.";

pub const EXIT_CODES: &str = "\
0    done
1    the tool reported an error, or the server answered with one
2    usage
3    a question was declined or cancelled, unless a rule expects it
4    the connection failed, the server broke the protocol, or it could not read a request
     or does not know its method (errors -32700, -32600, -32601)
5    a sign-in was needed and not completed, or the server refused the credentials
6    a question was not answered
7    the questions were not the ones that the answers file expects
130  interrupted";

/// Call a tool and print its result
///
/// Questions and notes go to standard error, only the result to standard output. At a terminal, askback
/// asks for missing required arguments. Without a terminal and without --answers, it cancels questions.
///
/// `askback help answers` and `askback help exit-codes` say more.
#[derive(Debug, Clone, clap::Args)]
#[command(
    override_usage = "askback call [OPTIONS] [SERVER] <TOOL> [KEY=VALUE]... [-- <CMD>...]",
    after_help = "Examples:\n  askback call server.py order_pizza size=large\n  askback call order_pizza --answers answers.yaml --url https://example.com/mcp"
)]
pub struct CallArgs {
    /// The name of the tool
    tool: String,
    /// The tool's arguments: key=value, of the type that the tool declares, or key:=json
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// A file of answers, YAML or JSON
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Write the call, its questions and its outcome to this new file, as a suite
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

pub async fn run(mut args: CallArgs, outcome: &mut Outcome) -> Result<(), Error> {
    let target = &mut args.session.target;
    target.take_server(&mut args.tool, &mut args.arguments)?;
    let arguments = args::parse(&args.arguments)?;
    let target = args.session.target()?;
    let answers = answers(args.answers.as_deref())?;
    let recorder = args.record.as_deref();
    let recorder = recorder
        .map(|file| Recorder::new(file, &target))
        .transpose()?;
    args.session.asks_in_known = true;
    args.session.keeps_wire = recorder.is_some();
    let mut session = Session::open(target, &args.session, answers).await?;
    let called = call(&mut session, &args, arguments, recorder, outcome).await;
    outcome.questions = session.host.ended();
    session.close().await;
    called
}

pub(super) fn left_out(host: &mut Host, entries: &[LeftOutEntry], outcome: &mut Outcome) {
    /// How many errors are printed.
    const MOST: usize = 10;
    outcome.malformed |= !entries.is_empty();
    let page = host.page();
    for entry in entries.iter().take(MOST) {
        page.quote_line("The result breaks the protocol ", entry.to_string());
    }
    if let Some(more @ 1..) = entries.len().checked_sub(MOST) {
        page.note(Style::Dim, words!("{} more faults are not shown", more));
    }
}

async fn call(
    session: &mut Session,
    args: &CallArgs,
    arguments: Vec<args::Argument>,
    mut recorder: Option<Recorder>,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let server = session.server();
    let Session { client, host, .. } = session;
    host.hold_stderr(server, true);
    let can_log = client.capabilities().logging.is_some();
    if can_log && client.revision().era() == Era::Modern {
        // In revisions where each request does not ask for logs, the server must be told to send them.
        let level = client.set_log_level(LoggingLevel::Info);
        // The call works without log lines.
        let _ = host.attend(level).await?;
    }
    let tools = host.attend(client.tools()).await;
    host.hold_stderr(server, false);
    let tools = tools?.map_err(failed)?;
    let tool = lookup::tool(&tools, &args.tool)?;
    let schema = tool.input_schema.decode().unwrap_or(Value::Null);
    let mut arguments = args::for_tool(arguments, &schema)?;
    missing::tell_unfit(host, &schema, &arguments);
    if host.is_person() {
        let filled = missing::for_tool(host, tool, &schema, arguments, false).await?;
        arguments = filled.ok_or_else(missing::cancelled)?;
    }
    if let Some(recorder) = &mut recorder {
        recorder.attach(session);
    }
    let asked = Call::Tool(tool.name.clone());
    let call = async |client: &Client| client.call_listed(tool, &arguments).await;
    let result = retry::attended(session, asked, call).await?;
    let Session { host, .. } = session;
    if let Some(recorder) = &mut recorder {
        let end = result.as_ref().map(calls::of_tool);
        let end = end.as_ref().map_err(|error| *error);
        recorder.record(Request::Call(&tool.name, &arguments), end)?;
        recorder.tell(host.page());
    }
    if let Err(ClientError::Server(error)) = &result {
        session.asks_in_older(&error.message);
    }
    let Session { host, .. } = session;
    let result = result.map_err(failed)?;
    let called = calls::of_tool(&result);
    outcome.tool_error = called.failed;
    match args.json {
        true => host.print(out::of_json(&result.raw))?,
        false => host.print(out::of_text(called.text.clone()))?,
    }
    if called.failed && session.asks_in_older(called.text.raw()).is_some() {
        session.host.page().note(Style::Warning, older::hint());
    }
    let host = &mut session.host;
    left_out(host, &result.left_out, outcome);
    if let (Some(structured), false, true) = (called.structured, args.json, out::is_seen()) {
        let page = host.page();
        if content::put_folded(page, &structured) {
            page.note(Style::Dim, "--json prints it whole");
        }
    }
    Ok(())
}
