//! `askback test` runs a suite of cases.

use std::{io::Write, path::PathBuf, time::Instant};

use askback::Revision;
use askback_host::{
    page::{Page, out},
    text::given,
    words,
};
use serde_json::value::RawValue;

use crate::{
    error::{Error, Outcome},
    locate::TargetArgs,
    own_files,
    role::Role,
    session::{self, SessionArgs},
    sign_in::SignInArgs,
    suite::{
        file::Suite,
        report::{self, Format, Report},
        run::{CaseRun, Runner, Verdict, plan},
    },
    wire::Trace,
};

pub const SUITE: &str = "\
server:
  command: [my-server, --its-option]   # or url: …, or name: one of mcp.json
revisions: all                         # or a list; else the newest that both sides have
cases:
  - name: books a holiday
    call: book_holiday                 # or prompt, read, complete, list
    arguments: {destination: Barcelona}
    answers:                           # as in a file of --answers
      - when: {key: wishes}
        accept: {confirm_booking: true}
    expect:
      text: {contains: Barcelona}      # or equals, matches, length, present, not
      structured: {/total: 3000}       # by JSON pointer
      questions: [{key: wishes}]
      under: 10s

A path begins in the folder of the suite, and the server is started there.";

/// Test a server by a suite of cases
///
/// Standard output has a line for each case, and more if one failed: what was expected, what
/// came, and what the server asked. With --format it has the report for programs, and the standard
/// error has the lines, unless the report goes to a file.
///
/// Exit codes: 0 all cases passed, 1 a case failed, 2 usage, 4 the server could not be reached or
/// went away in a case, 5 sign-in was required but not completed.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "`askback help suite` shows the format of a suite.\n\nExamples:\n  askback test suite.yaml\n  askback test suite.yaml --format junit --output report.xml -- python3 server.py"
)]
pub struct TestArgs {
    /// The suite, YAML or JSON
    suite: PathBuf,
    /// The server, unless the suite or an option names it: a URL, a name in mcp.json, or a file such as server.py
    #[arg(value_name = "SERVER")]
    named: Option<String>,
    /// Run the cases whose name holds this
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    filter: String,
    /// Run the cases in this revision alone; may be given again
    #[arg(long, value_name = "REVISION", value_parser = session::revision)]
    revision: Vec<Revision>,
    /// Run nothing after a case that failed
    #[arg(long)]
    bail: bool,
    /// Write a report for programs
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The file of that report; else the standard output
    #[arg(long, value_name = "FILE", requires = "format")]
    output: Option<PathBuf>,
    /// Play another client in all cases: a known one, or one without some of what this one can do, such
    /// as codex, no-url; several with commas between them
    #[arg(long = "as", value_name = "CLIENT", value_parser = Role::read)]
    role: Option<Role>,
    /// Show each message as it travels, on the standard error or in FILE as lines of JSON
    #[arg(
        long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "", value_parser = Trace::read
    )]
    trace: Option<Trace>,
    /// Give a request up after so many seconds without a sign of progress
    #[arg(long, value_name = "SECONDS", value_parser = crate::seconds::seconds)]
    timeout: Option<u64>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    sign_in: SignInArgs,
}

impl TestArgs {
    /// Whether stdout holds JSON. An error is then JSON, too.
    pub fn is_json(&self) -> bool {
        self.format == Some(Format::Json) && self.output.is_none()
    }
}

pub async fn run(mut args: TestArgs, outcome: &mut Outcome) -> Result<(), Error> {
    if let Some(server) = args.named.take() {
        args.target.name_by_all(vec![server])?;
    }
    if let Some(named) = args.role.and_then(|role| role.named) {
        let words = words!(
            "--as names the revision {}, and a suite has its own",
            given(named)
        );
        return Err(Error::usage(words).hint("--revision runs the cases in one."));
    }
    let suite = Suite::load(&args.suite).map_err(Error::usage)?;
    let planned = plan(&suite.cases, &args.filter, &args.revision);
    if planned.is_empty() {
        return Err(Error::usage("no case is to be run").hint(
            "--filter is a part of the name of a case, and --revision one of its revisions.",
        ));
    }
    let mut target = match &suite.server {
        _ if args.target.is_named() => args.target.target()?,
        Some(server) => {
            let mut target = server.target(&suite.folder)?;
            args.target.add_to(&mut target)?;
            target
        }
        None => {
            return Err(
                Error::usage("the suite names no server, and neither do you").hint(
                    "Write server: {command: [my-server]} in the suite, or the server behind it, such as server.py.",
                ),
            );
        }
    };
    if let Some(name) = &args.target.name {
        target.name.clone_from(name);
    }
    let mut session = SessionArgs::new(args.sign_in.clone(), args.timeout);
    session.role = args.role;
    if let Some(trace) = &args.trace {
        session = session.traced(trace.clone());
    }
    let mut lines = match (args.format, &args.output) {
        (Some(_), None) => Lines::Stderr(out::stderr_page()),
        _ => Lines::Stdout(out::stdout_page()),
    };
    let began = Instant::now();
    let mut unwritten = Ok(());
    let runner = Runner::new(target, session, &suite.before, args.bail);
    let cases = runner
        .run(&planned, |case| {
            if unwritten.is_ok() {
                unwritten = lines.case(case);
            }
        })
        .await?;
    unwritten?;
    let name = args.suite.file_stem().unwrap_or_default().to_string_lossy();
    let report = Report {
        name: &name,
        cases: &cases,
        took: began.elapsed(),
    };
    report::summary(lines.page(), &report);
    lines.write()?;
    if let Some(format) = args.format {
        write(&report, format, args.output.as_ref())?;
    }
    outcome.tool_error = report.counts().failed > 0;
    outcome.broken = cases.iter().find_map(|case| match &case.verdict {
        Verdict::Broken(error) => Some(error.kind),
        _ => None,
    });
    Ok(())
}

enum Lines {
    Stdout(Page),
    Stderr(Page),
}

impl Lines {
    fn page(&mut self) -> &mut Page {
        match self {
            Self::Stdout(page) | Self::Stderr(page) => page,
        }
    }

    fn case(&mut self, case: &CaseRun<'_>) -> Result<(), Error> {
        let shown = report::case(self.page(), case);
        self.write()?;
        for rows in &shown {
            match self {
                Self::Stdout(_) => out::print(rows)?,
                Self::Stderr(_) => out::tell_rows(rows),
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Error> {
        match self {
            Self::Stdout(page) => out::print(&page.take())?,
            Self::Stderr(page) => out::tell(page),
        }
        Ok(())
    }
}

fn write(report: &Report<'_>, format: Format, file: Option<&PathBuf>) -> Result<(), Error> {
    let text = report.written(format);
    match file {
        Some(path) => {
            let written =
                own_files::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|error| Error::unwritten(path, &error))
        }
        None if format == Format::Json => {
            let json = RawValue::from_string(text.trim_end().to_owned());
            Ok(out::print_json(
                &json.map_err(|error| Error::usage(given(error)))?,
            )?)
        }
        None => Ok(out::print_text(text.trim_end().into())?),
    }
}
