//! `askback test` runs a suite of cases.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    future::pending,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use askback::Revision;
use askback_host::{
    page::{
        Rows, Style,
        out::{self, Unwritten},
    },
    text::{Words, given},
    words,
};
use futures_util::future::try_join_all;
use serde_json::value::RawValue;
use tokio::time::interval;

use crate::{
    error::{Error, Outcome},
    known_clients::KnownClient,
    locate::TargetArgs,
    own_files,
    role::Role,
    session::{self, SessionArgs},
    sign_in::SignInArgs,
    suite::{
        clients,
        file::{Action, Suite},
        report::{self, Format, Report},
        run::{PlannedRun, Runner, Verdict, plan},
    },
    target::Target,
};

pub const SUITE: &str = "\
server:
  command: [my-server, --its-option]   # or url: …, or name: one of mcp.json
revisions: all                         # or a list; else the newest that both sides have
cases:
  - name: books a holiday
    call: book_holiday                 # or prompt, read, list
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

/// How many failed cases are shown if the suite is repeated.
const SHOWN: usize = 10;

/// How often a terminal shows how far a repeated suite is.
const PROGRESS: Duration = Duration::from_secs(1);

/// Test a server by a suite of cases
///
/// Standard output has a line for each case, and more if one failed: what was expected, what
/// came, and what the server asked. With --format it has the report for programs, and the standard
/// error has the lines, unless the report goes to a file.
///
/// Exit codes: 0 all cases passed, 1 a case failed, 2 usage or an output that cannot be written, 4 the server could not be reached or
/// went away in a case, 5 sign-in was required but not completed.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "`askback help suite` shows the format of a suite.\n\nExamples:\n  askback test suite.yaml\n  askback test suite.yaml --format junit --output report.xml -- python3 server.py\n  askback test suite.yaml --clients --fix\n  askback test suite.yaml --repeat 1000 --at-once 20 https://mcp.example/mcp"
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
    /// Run the suite so many times, each time as a new client, and show the first ten cases
    /// that failed
    #[arg(
        long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=100_000),
        conflicts_with_all = ["clients", "preview"]
    )]
    repeat: Option<u32>,
    /// How many of these clients run at once
    #[arg(
        long, value_name = "CLIENTS", default_value_t = 1, hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(1..=1_000), requires = "repeat"
    )]
    at_once: u16,
    /// Write a report for programs
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The file of that report; else the standard output
    #[arg(long, value_name = "FILE", requires = "format")]
    output: Option<PathBuf>,
    /// Play another client in all cases: a known client such as codex, or a limit such as no-url;
    /// several with commas between them
    #[arg(long = "as", value_name = "CLIENT", value_parser = Role::read)]
    role: Option<Role>,
    /// Say what known clients do with the questions of the tools that the suite calls
    #[arg(long, conflicts_with_all = ["revision", "role"])]
    clients: bool,
    /// Say what to change in the server, so that every client shows its questions
    #[arg(long, requires = "clients")]
    fix: bool,
    /// Draw the forms as this client does, as far as that is known
    #[arg(
        long, value_name = "CLIENT", value_parser = recorded_client,
        conflicts_with_all = ["clients", "revision", "role", "format"]
    )]
    preview: Option<&'static KnownClient>,
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

    fn target_of(&self, suite: &Suite) -> Result<Target, Error> {
        let mut target = match &suite.server {
            _ if self.target.is_named() => self.target.target()?,
            Some(server) => {
                let mut target = server.target(&suite.folder)?;
                self.target.add_to(&mut target)?;
                target
            }
            None => {
                return Err(
                    Error::usage("no server is named, neither in the suite nor on the command line").hint(
                        "Write server: {command: [my-server]} in the suite, or the server behind it, such as server.py.",
                    ),
                );
            }
        };
        if let Some(name) = &self.target.name {
            target.name.clone_from(name);
        }
        Ok(target)
    }

    /// Opens the file of the report, before the server is called.
    fn open_output(&self) -> Result<Option<File>, Error> {
        let opened = self.output.as_ref().map(|path| {
            let file = own_files::create(path);
            file.map_err(|error| Error::unwritten(path, &error))
        });
        opened.transpose()
    }

    /// Returns the session options, which are the same for every known client.
    fn session(&self) -> SessionArgs {
        SessionArgs::new(self.sign_in.clone(), self.timeout)
    }
}

/// The known client with this name, if its behaviour was recorded.
fn recorded_client(name: &str) -> Result<&'static KnownClient, String> {
    let found = clients::recorded().find(|client| client.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = clients::recorded().map(|client| client.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

async fn clients_of_suite(
    args: &TestArgs,
    path: &Path,
    suite: &Suite,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    if args.format == Some(Format::Junit) {
        let error = "--clients has no JUnit report: it passes and fails nothing";
        return Err(Error::usage(error).hint("--format json writes it for programs."));
    }
    let named = suite.cases.iter();
    let named = named.filter(|case| case.name.contains(&args.filter));
    let cases: Vec<_> = named
        .filter(|case| matches!(case.action, Action::Call(..)))
        .collect();
    if cases.is_empty() {
        return Err(Error::usage("no case that calls a tool is to be run")
            .hint("A suite calls a tool with `call: TOOL`. Other tools are never called."));
    }
    let target = args.target_of(suite)?;
    let output = args.open_output()?;
    let clients = match args.preview {
        Some(client) => vec![client],
        None => clients::recorded().collect(),
    };
    let session = args.session();
    let mut errors = out::stderr_page();
    let matrix = clients::matrix(&target, &session, (&suite.before, &cases), clients, |run| {
        if let Verdict::Broken(error) = &run.verdict {
            outcome.broken = Some(error.kind);
        }
        report::case(&mut errors, run);
    });
    let matrix = matrix.await?;
    out::tell(&mut errors);
    let mut page = out::stdout_page();
    if let Some(client) = args.preview {
        clients::preview(&mut page, &matrix, client);
        return print(&page.take().alone());
    }
    if args.format.is_none() || args.output.is_some() {
        clients::lines(&mut page, &matrix, args.fix);
        print(&page.take().alone())?;
    }
    if args.format.is_some() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = clients::json(&name, &matrix);
        write_report(&text, Format::Json, args.output.as_deref().zip(output))?;
    }
    Ok(())
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
    let path = args.suite.clone();
    let suite = Suite::load(&path)
        .map_err(|why| Error::usage(why).hint("`askback help suite` shows such a file."))?;
    if args.clients || args.preview.is_some() {
        return clients_of_suite(&args, &path, &suite, outcome).await;
    }
    let planned = plan(&suite.cases, &args.filter, &args.revision);
    if planned.is_empty() {
        return Err(Error::usage("no case matches --filter and --revision")
            .hint("--filter takes a part of a case's name, and --revision one of its revisions."));
    }
    let target = args.target_of(&suite)?;
    let output = args.open_output()?;
    let mut session = args.session();
    session.role = args.role;
    // The standard output has the report.
    let is_aside = args.format.is_some() && args.output.is_none();
    let page = RefCell::new(match is_aside {
        true => out::stderr_page(),
        false => out::stdout_page(),
    });
    let print = |rows: &Rows| match is_aside {
        true => {
            out::tell_rows(rows);
            Ok(())
        }
        false => print(rows),
    };
    let began = Instant::now();
    let runner = Runner::new(target, session, &suite.before);
    let times = args.repeat.unwrap_or(1);
    let (started, finished) = (Cell::new(0_u32), Cell::new(0_u32));
    let failed = Cell::new(0_usize);
    let cases = RefCell::new(Vec::new());
    let client = async || {
        while started.get() < times {
            started.set(started.get().saturating_add(1));
            let number = args.repeat.map(|_| started.get());
            let planned = planned.iter();
            let planned: Vec<_> = planned.map(|it| PlannedRun { number, ..*it }).collect();
            let runs = runner.run(&planned, |case| {
                if args.repeat.is_some() {
                    if case.verdict == Verdict::Passed {
                        return Ok(());
                    }
                    failed.set(failed.get().saturating_add(1));
                    if failed.get() > SHOWN {
                        return Ok(());
                    }
                    out::progress(&Words::default());
                }
                let mut page = page.borrow_mut();
                let mut rows = report::case(&mut page, case);
                rows.insert(0, page.take());
                rows.iter().try_for_each(print)
            });
            let runs = runs.await?;
            cases.borrow_mut().extend(runs);
            finished.set(finished.get().saturating_add(1));
        }
        Ok::<_, Error>(())
    };
    let clients = try_join_all((0..args.at_once).map(|_| client()));
    let progress = async {
        let mut ticks = interval(PROGRESS);
        ticks.tick().await;
        while args.repeat.is_some() {
            ticks.tick().await;
            out::progress(&words!(
                "{} of {} runs, {} failed cases",
                finished.get(),
                times,
                failed.get()
            ));
        }
        pending().await
    };
    let ended = tokio::select! {
        ended = clients => ended.map(drop),
        unwritten = out::closed() => Err(unwritten.into()),
        ended = progress => ended,
    };
    if args.repeat.is_some() {
        out::progress(&Words::default());
    }
    let cases = cases.into_inner();
    // A user who stops a long run is told how the cases went until then.
    if cases.is_empty() {
        return ended;
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let report = Report {
        name: &name,
        cases: &cases,
        took: began.elapsed(),
    };
    outcome.tool_error = report.counts().failed > 0;
    outcome.broken = cases.iter().find_map(|case| match &case.verdict {
        Verdict::Broken(error) => Some(error.kind),
        _ => None,
    });
    if let Some(format) = args.format {
        let output = args.output.as_deref().zip(output);
        write_report(&report.written(format), format, output)?;
    }
    let mut page = page.into_inner();
    match failed.get().saturating_sub(SHOWN) {
        0 => {}
        1 => page.say(Style::Dim, "1 more case that did not pass is not shown."),
        more => page.say(
            Style::Dim,
            words!("{} more cases that did not pass are not shown.", more),
        ),
    }
    report::summary(&mut page, &report);
    print(&page.take())?;
    ended
}

/// Writes rows to the standard output. A closed pipe is an error, because a report is lost.
fn print(rows: &Rows) -> Result<(), Error> {
    Ok(out::write(rows).map_err(Unwritten)?)
}

/// Writes a report for programs to a file, or to the standard output if there is no file.
fn write_report(text: &str, format: Format, file: Option<(&Path, File)>) -> Result<(), Error> {
    let text = text.trim_end();
    match file {
        Some((path, mut file)) => {
            let written = writeln!(file, "{text}");
            written.map_err(|error| Error::unwritten(path, &error))
        }
        None if format == Format::Json => {
            let json = RawValue::from_string(text.to_owned());
            let json = json.map_err(|error| Error::usage(given(error)))?;
            print(&out::of_json(&json))
        }
        None => print(&out::of_text(text.into())),
    }
}
