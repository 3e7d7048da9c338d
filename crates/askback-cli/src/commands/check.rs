//! `askback check` finds why a server cannot be used, and what it does wrong.

use std::time::Duration;

use askback::Revision;
use askback_check::{
    Measure, NamedTool, Scope, UnknownName,
    probe::GiveUpReason,
    report::{Report, listed},
    rules,
};
use askback_host::{
    page::{Style, out},
    signals::Held,
    text::{Words, given},
    words,
};
use serde_json::Value;
use tokio::time::timeout;

use super::{print_as_json, serve::interrupt};
use crate::{
    args,
    error::{Error, Kind, Outcome},
    lookup,
    probe_args::ProbeArgs,
    session::revision,
};

/// How long to wait for a response. The first may take longer, because some launchers download the server.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a server is tested. Then the findings so far are reported.
const TRIED: Duration = Duration::from_secs(5 * 60);

/// How long a whole check may take, including the last response.
const WHOLE: Duration = Duration::from_secs(15 * 60);

const AFTER: &str = "\
Examples:
  askback check server.py
  askback check --tool book city=Rome --url https://example.com/mcp

The check calls only tools that change nothing and those that --tool names, and declines their questions. It never \
signs in.

Exit codes: 0 no fault, 1 a step failed or the server breaks a MUST that --allow does not name, 2 usage, 4 the server \
does not speak --protocol, 5 a sign-in is required (askback list --url URL signs in), 130 Ctrl-C ended the check early.";

/// Find out why a server cannot be used, and what it does wrong
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = AFTER)]
pub struct CheckArgs {
    /// The server: a URL, a name in mcp.json, or a file such as server.py
    #[arg(value_name = "SERVER")]
    target: Option<String>,
    /// Stop after the steps that a client takes: is the server usable?
    #[arg(long)]
    pub quick: bool,
    /// Also call this tool, which may change something, with these arguments: key=value or key:=json; may be
    /// given again
    #[arg(long, value_names = ["NAME", "KEY=VALUE"], num_args = 1..)]
    tool: Vec<String>,
    /// Check only this protocol revision, such as 2025-06-18 [default: all that the server speaks]
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    protocol: Option<Revision>,
    /// Exit with 1 for any finding, not only for a broken MUST
    #[arg(long)]
    strict: bool,
    /// Allow the server to break the rule with this id; may be given again
    #[arg(long, value_name = "ID", value_parser = rules::known)]
    allow: Vec<&'static str>,
    /// Also show the rules that the server keeps, and those that could not be tried
    #[arg(long)]
    all: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    probe: ProbeArgs,
}

pub async fn run(mut args: CheckArgs, outcome: &mut Outcome) -> Result<(), Error> {
    args.probe.name_by(args.target.take())?;
    let tools = named(&args.tool)?;
    let target = args.probe.target()?;
    let bounds = args.probe.bounds(PATIENCE, TRIED);
    let way = args.probe.way(&target, &bounds)?;
    let scope = Scope {
        is_quick: args.quick,
        only: args.protocol,
        tools,
    };
    let note = |words: Words| {
        let mut page = out::stderr_page();
        page.note(Style::Dim, words);
        out::tell(&mut page);
    };
    note(words!("Looking at {}…", given(&target.name).short()));
    if !args.quick {
        note(words!(
            "It takes a few seconds if the server starts quickly and answers every request, and at most about {} minutes. Ctrl-C shows what was found so far.",
            TRIED.as_secs().div_ceil(60)
        ));
    }
    let held = Held::interrupts();
    let mut report = Report::new(way.is_http());
    let checking = askback_check::check(&way, &bounds, &scope, note, &mut report);
    let done = tokio::select! {
        biased;
        done = timeout(WHOLE, checking) => {
            done.map_err(|_| (GiveUpReason::TimedOut(WHOLE), Kind::Connection))
        }
        () = interrupt() => Err((GiveUpReason::Interrupted, Kind::Interrupted)),
    };
    drop(held);
    match done {
        Ok(done) => done.map_err(misnamed)?,
        Err((reason, kind)) => {
            report.give_up(reason);
            outcome.broken = Some(kind);
        }
    }
    let measure = Measure {
        is_strict: args.strict,
        allowed: args.allow.into_iter().collect(),
    };
    outcome.tool_error = report.is_faulty(&measure);
    outcome.unauthorized = report.wants_sign_in;
    if args.json {
        return print_as_json(&report.json(&measure));
    }
    let mut page = out::stdout_page();
    report.put(&mut page, args.all, &measure);
    Ok(out::print(&page.take())?)
}

/// Reads tool names, each followed by its arguments. Without a schema, a value is a text unless it is given as JSON.
fn named(words: &[String]) -> Result<Vec<NamedTool>, Error> {
    let mut tools: Vec<NamedTool> = Vec::new();
    let mut words = words;
    while let Some((name, rest)) = words.split_first() {
        let end = rest.iter().position(|word| !word.contains('='));
        let (arguments, rest) = rest.split_at(end.unwrap_or(rest.len()));
        words = rest;
        if name.contains('=') {
            return Err(Error::usage("--tool needs the name of a tool first"));
        }
        let arguments = args::parse(arguments)?.into_iter().map(|argument| {
            let value = match argument.given {
                args::ArgumentValue::Json(value) => value,
                args::ArgumentValue::Text(text) => Value::String(text),
            };
            (argument.key, value)
        });
        tools.push(NamedTool {
            name: name.clone(),
            arguments: arguments.collect(),
        });
    }
    Ok(tools)
}

fn misnamed(misnamed: UnknownName) -> Error {
    match misnamed {
        UnknownName::Revision(spoken) => {
            let words = words!(
                "the server does not speak that revision; it speaks {}",
                listed(&spoken)
            );
            Error::new(Kind::Protocol, words)
        }
        UnknownName::Tool { name, listed } => {
            lookup::no_tool(&name, listed.iter().map(String::as_str))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_word_without_an_equals_sign_names_a_tool() {
        let words = ["a", "x=1", "y:=2", "b", "c", "z=a b"].map(str::to_owned);
        let tools = named(&words).expect("the words are right");
        let tools: Vec<_> = tools
            .into_iter()
            .map(|tool| (tool.name, Value::Object(tool.arguments)))
            .collect();
        let expected = [
            ("a", json!({"x": "1", "y": 2})),
            ("b", json!({})),
            ("c", json!({"z": "a b"})),
        ];
        assert_eq!(
            tools,
            expected.map(|(name, values)| (name.to_owned(), values))
        );
        assert!(named(&["x=1".to_owned()]).is_err());
        assert!(named(&["a".to_owned(), "x:=".to_owned()]).is_err());
    }
}
