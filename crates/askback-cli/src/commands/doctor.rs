//! `askback doctor`: why a server cannot be used, or is hard to use.

use std::time::Duration;

use askback_check::doctor;
use askback_host::{
    page::{Style, out},
    text::given,
    words,
};

use tokio::time::timeout;

use super::print_as_json;
use crate::{
    error::{Error, Kind, Outcome},
    older::{self, AskingRevision},
    parked::now,
    probe_args::ProbeArgs,
};

/// How long an answer is waited for. Some launchers download the server first.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long all of it may take.
const WHOLE: Duration = Duration::from_secs(5 * 60);

const AFTER: &str = "\
Example: askback doctor server.py

Each step says ok, failed or not tried; the first that failed says what to do. Nobody is signed in, \
nothing is registered, and no tool is called.

Exit codes: 0 nothing is wrong (there may be warnings), 1 a step failed, or there are warnings with \
--strict, 2 usage, 5 sign-in is required (askback list --url URL signs in).";

/// Find out why a server cannot be used, and what is hard to use about it
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct DoctorArgs {
    /// The server: a URL, a name in mcp.json, or a file such as server.py
    #[arg(value_name = "SERVER")]
    target: Option<String>,
    /// End with 1 if there are warnings, too
    #[arg(long)]
    strict: bool,
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
pub async fn run(mut args: DoctorArgs, outcome: &mut Outcome) -> Result<(), Error> {
    args.probe.name_by(args.target.take())?;
    let target = args.probe.target()?;
    let bounds = args.probe.bounds(PATIENCE, WHOLE);
    let way = args.probe.way(&target, &bounds)?;
    let mut page = out::stderr_page();
    let name = given(&target.name).short();
    page.note(Style::Dim, words!("Looking at {}…", name));
    out::tell(&mut page);
    let diagnosing = doctor::diagnose(&way, &bounds);
    let diagnosis = timeout(WHOLE, diagnosing).await.map_err(|_| {
        let words = words!(
            "the server was not looked at to the end within {} s",
            WHOLE.as_secs()
        );
        Error::new(Kind::Connection, words).hint("Wait less for each answer with --timeout.")
    })?;
    let mut diagnosis = diagnosis;
    let asking = AskingRevision::of(&target);
    asking.greeted(diagnosis.claims.take());
    if asking.is_older(now()) {
        let revision = older::REVISION.as_str();
        diagnosis.warnings.push(doctor::Warning {
            says: words!("this server can ask in {} only", revision),
            places: Vec::new(),
            advice: words!(
                "A call of it failed in a newer revision: --protocol {} works.",
                revision
            ),
        });
    }
    outcome.faulty = diagnosis.has_failed() || args.strict && diagnosis.has_warnings();
    outcome.unauthorized = diagnosis.wants_sign_in;
    if args.json {
        return print_as_json(&diagnosis.report());
    }
    let mut page = out::stdout_page();
    diagnosis.put(&mut page);
    Ok(out::print(&page.take())?)
}
