//! `askback check`: which requirements of the protocol a server keeps.

use std::time::Duration;

use askback_check::check::{
    self, NamedTool, Scope, Stage, Unchecked,
    measure::{self, Measure},
    report::listed,
};
use askback_core::revision::Revision;
use askback_host::{
    page::{Style, out},
    text::given,
    words,
};
use serde_json::Value;
use tokio::time::timeout;

use super::print_as_json;
use crate::{
    args,
    error::{Error, Kind, Outcome},
    lookup,
    probe_args::ProbeArgs,
    session::revision,
    target::Reach,
    unreached,
};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a server is tried. What was found by then is reported.
const TRIED: Duration = Duration::from_secs(5 * 60);

/// How long a whole check may take, with the last answer that is waited for.
const WHOLE: Duration = Duration::from_secs(15 * 60);

/// The longest `--lapse`, in seconds: an hour.
const LAPSE: u64 = 60 * 60;

/// How often that time is waited for at most, once for each call that asks.
const LAPSES: u32 = 16;

const AFTER: &str = "\
Example: askback check server.py

Each finding names a requirement by its id, with what was sent, what came and what should have come. \
No tool is called that may change something, but for those named by --tool. Their questions are \
declined.

Exit codes: 0 nothing that MUST be is broken but what --allow names, 1 something is, 2 usage, 4 the server cannot be \
reached or understood, 5 sign-in is required (askback list --url URL signs in).";

/// Try a server by the requirements of the protocol that can be seen from outside
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct CheckArgs {
    /// The server: a URL, a name in mcp.json, or a file such as server.py
    #[arg(value_name = "SERVER")]
    target: Option<String>,
    /// A tool that may be called though it may change something, and its arguments: key=value or
    /// key:=json; may be given again
    #[arg(long, value_names = ["NAME", "KEY=VALUE"], num_args = 1..)]
    tool: Vec<String>,
    /// Try this protocol revision alone, such as 2025-06-18; else all that the server speaks
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    protocol: Option<Revision>,
    /// The same server in the same mcp.json by another name, whose headers are those of another
    /// principal: a state of the one is tried by the other
    #[arg(long, value_name = "NAME")]
    other: Option<String>,
    /// Send a state again after so many seconds, in which it should have lapsed
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=LAPSE))]
    lapse: Option<u64>,
    /// End with 1 if a SHOULD is broken, too
    #[arg(long)]
    strict: bool,
    /// A requirement that the server may break, by its id; may be given again
    #[arg(long, value_name = "ID", value_parser = measure::known)]
    allow: Vec<&'static str>,
    /// Show what was kept, too, and what could not be tried
    #[arg(long)]
    all: bool,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    probe: ProbeArgs,
}

/// Runs the command.
///
/// # Errors
///
/// Fails with the error that ended it early.
pub async fn run(mut args: CheckArgs, outcome: &mut Outcome) -> Result<(), Error> {
    args.probe.name_by(args.target.take())?;
    let tools = named(&args.tool)?;
    let target = args.probe.target()?;
    let bounds = args.probe.bounds(PATIENCE, TRIED);
    let way = args.probe.way(&target, &bounds)?;
    let other = match &args.other {
        Some(_) if !way.is_http() => {
            return Err(Error::usage(
                "--other is for a server at a URL: one that is started here knows one principal",
            ));
        }
        Some(name) => {
            let other = args.probe.other(name)?;
            target.reach.shared_with(&target.name, &other)?;
            Some(args.probe.way(&other, &bounds)?)
        }
        None => None,
    };
    let scope = Scope {
        only: args.protocol,
        tools,
        other,
        lapse: args.lapse.map(Duration::from_secs),
    };
    let tell = |stage: Stage| {
        let words = match stage {
            Stage::Asking(revision) => words!("Asking for {}…", given(revision)),
            Stage::Trying(revision) => words!("Trying {}…", given(revision)),
        };
        let mut page = out::stderr_page();
        page.note(Style::Dim, words);
        out::tell(&mut page);
    };
    let checking = check::check(&way, &bounds, &scope, tell);
    let lapses = scope.lapse.unwrap_or_default().saturating_mul(LAPSES);
    let checked = timeout(WHOLE.saturating_add(lapses), checking)
        .await
        .map_err(|_| given_up())?;
    let checked = checked.map_err(|unchecked| failed(unchecked, &target.reach))?;
    let measure = Measure {
        is_strict: args.strict,
        allowed: args.allow.into_iter().collect(),
    };
    outcome.faulty = checked.is_broken(&measure);
    if args.json {
        return print_as_json(&checked.report(&measure));
    }
    let mut page = out::stdout_page();
    checked.put(&mut page, args.all, &measure);
    Ok(out::print(&page.take())?)
}

/// The tools that the person named: a word without `=` is the name of one, and its arguments follow.
/// Without a schema a value is a text, unless it is given as JSON.
fn named(words: &[String]) -> Result<Vec<NamedTool>, Error> {
    let mut tools: Vec<NamedTool> = Vec::new();
    let mut words = words;
    while let Some((name, rest)) = words.split_first() {
        let end = rest.iter().position(|word| !word.contains('='));
        let (arguments, rest) = rest.split_at(end.unwrap_or(rest.len()));
        words = rest;
        if name.contains('=') {
            return Err(Error::usage("--tool begins with the name of a tool"));
        }
        let arguments = args::parse(arguments)?.into_iter().map(|argument| {
            let value = match argument.given {
                args::Given::Json(value) => value,
                args::Given::Text(text) => Value::String(text),
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

fn given_up() -> Error {
    let words = words!(
        "the server was not tried to the end within {} s",
        WHOLE.as_secs()
    );
    Error::new(Kind::Connection, words).hint(
        "Try one revision at a time with --protocol, or wait less for each answer with --timeout.",
    )
}

fn failed(unchecked: Unchecked, reach: &Reach) -> Error {
    match unchecked {
        Unchecked::Unstarted(why) => unreached::no_folder(reach).unwrap_or_else(|| {
            Error::new(Kind::Connection, "the server cannot be started:").quoting(why)
        }),
        Unchecked::Unreached(why) => {
            let what = "the server cannot be reached, or speaks no revision of the protocol:";
            let hint = unreached::hint(&why);
            let error = Error::new(Kind::Connection, what).quoting(why);
            let error = hint.into_iter().fold(error, Error::hint);
            error.hint("Run askback doctor on it to see which step fails.")
        }
        Unchecked::Unspoken(spoken) => Error::new(
            Kind::Protocol,
            words!(
                "the server does not speak that revision, but {}",
                listed(&spoken)
            ),
        ),
        Unchecked::Unauthorized => Error::new(Kind::SignIn, "the server requires a sign-in")
            .hint("Run askback list --url with its address at a terminal, and sign in there."),
        Unchecked::Unlisted { name, listed } => {
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
