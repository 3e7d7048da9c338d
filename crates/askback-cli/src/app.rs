//! The command line, and the command that it selects.

use std::{
    collections::BTreeSet,
    env,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use askback_host::{
    page::out,
    signals,
    text::{self, given},
    words,
};
use clap::{
    Arg, ArgAction, Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    error::{ContextKind, ContextValue},
};
use clap_complete::Shell;

use crate::{
    commands::{
        answer, call, check, demo, get, hook, list, new, open, receipts, serve, servers, test,
        watch, wrap,
    },
    error::{Error, Exit, Kind, Outcome},
    misplaced,
    models::ModelArgs,
    sign_in::SignInArgs,
};

/// Open any MCP server, answer what it asks
///
/// In a conversation, /help lists the commands. Without a server, askback opens a demonstration.
#[derive(Debug, Parser)]
#[command(
    name = "askback",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  askback server.py\n  askback https://example.com/mcp"
)]
struct App {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    open: open::OpenArgs,
    /// Print the completion script for this shell
    #[arg(long, value_name = "SHELL", exclusive = true, hide = true)]
    completions: Option<Shell>,
    /// Write manual pages into this folder
    #[arg(long, value_name = "FOLDER", exclusive = true, hide = true)]
    man: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::ListArgs),
    Call(call::CallArgs),
    Get(get::GetArgs),
    Watch(watch::WatchArgs),
    Answer(answer::AnswerArgs),
    Receipts(receipts::ReceiptsArgs),
    Check(check::CheckArgs),
    Test(test::TestArgs),
    New(new::NewArgs),
    Servers(servers::ServersArgs),
    Serve(serve::ServeArgs),
    Wrap(wrap::WrapArgs),
    #[command(hide = true)]
    Hook(hook::HookArgs),
    #[command(hide = true)]
    Open(open::OpenArgs),
    /// Show the help of a command or topic: sign-in, models, answers, suite, exit-codes
    Help {
        /// A command, such as `list` or `servers sign-out`; or sign-in, models, answers, suite, exit-codes
        topic: Vec<String>,
    },
    #[command(hide = true)]
    Doctor(check::CheckArgs),
}

/// The command line. `-h` and `--help` print the same text.
fn command_line() -> clap::Command {
    plain_help(App::command())
}

/// Moves the long text of a command below its options, and moves options with a heading to `askback help`.
fn plain_help(command: clap::Command) -> clap::Command {
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
    let about = text(command.get_about()).unwrap_or_default();
    let long = text(command.get_long_about()).unwrap_or_default();
    let headings = command.get_arguments().filter_map(Arg::get_help_heading);
    let topics = match headings.collect::<BTreeSet<_>>().len() {
        0 => None,
        1 => Some("`askback help sign-in` lists the options for signing in.".to_owned()),
        _ => Some(
            "`askback help sign-in` and `askback help models` list the options for these."
                .to_owned(),
        ),
    };
    let behind = [
        Some(long.strip_prefix(&about).unwrap_or(&long).trim().to_owned()),
        topics,
        text(command.get_after_help()),
    ];
    let behind: Vec<_> = behind
        .into_iter()
        .flatten()
        .filter(|it| !it.is_empty())
        .collect();
    let shown = command
        .about(about)
        .long_about(None)
        .after_help(behind.join("\n\n"));
    // Added before the options with a heading, because it would inherit the heading.
    let help = Arg::new("help").short('h').long("help").help("Print help");
    let help = help.help_heading(None::<&str>);
    shown
        .disable_help_flag(true)
        .arg(help.action(ArgAction::HelpShort))
        .mut_args(|arg| {
            let has_heading = arg.get_help_heading().is_some();
            let is_hidden = arg.is_hide_set();
            arg.hide(has_heading || is_hidden)
        })
        .mut_subcommands(plain_help)
}

fn print_help(topic: &[String]) -> Result<(), Error> {
    let options = |add: fn(clap::Command) -> clap::Command| {
        let group = clap::Command::new("askback").disable_help_flag(true);
        add(group).help_template("{all-args}").max_term_width(100)
    };
    let mut all = command_line();
    all.build();
    let topic: Vec<_> = topic.iter().map(String::as_str).collect();
    let mut shown = match topic[..] {
        [] => all,
        ["sign-in"] => options(SignInArgs::augment_args),
        ["models"] => options(ModelArgs::augment_args),
        ["answers"] => return Ok(out::print_text(call::ANSWERS.into())?),
        ["suite"] => return Ok(out::print_text(test::SUITE.into())?),
        ["exit-codes"] => return Ok(out::print_text(call::EXIT_CODES.into())?),
        [..] => {
            let found = topic
                .iter()
                .try_fold(&all, |command, name| command.find_subcommand(name));
            found.cloned().ok_or_else(|| {
                Error::usage(words!("unknown command `{}`", given(topic.join(" "))))
                    .hint("`askback help` lists the commands.")
            })?
        }
    };
    Ok(out::print_text(shown.render_help().to_string().into())?)
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let app = command_line()
        .try_get_matches()
        .and_then(|matches| App::from_arg_matches(&matches))
        .unwrap_or_else(|error| refused(error));
    let is_report = matches!(&app.command, Some(Command::Test(args)) if args.is_json());
    let is_json = is_report || says_json();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (outcome, error) = match runtime {
        Ok(runtime) => {
            let mut outcome = Outcome::default();
            let ran = signals::run(&runtime, run(app, &mut outcome));
            // A thread that reads stdin cannot be stopped; it ends with the process.
            runtime.shutdown_background();
            match ran {
                Ok(ran) => (outcome, ran.err()),
                Err(code) => return ExitCode::from(code),
            }
        }
        Err(error) => {
            let error = Error::new(
                Kind::Connection,
                words!("the runtime does not start: {}", given(error)),
            );
            (Outcome::default(), Some(error))
        }
    };
    let exit = Exit::of(outcome, error.as_ref());
    if let Some(error) = &error {
        if is_json {
            print_as_json(error, exit);
        }
        let mut page = out::stderr_page();
        error.put(&mut page);
        out::tell(&mut page);
    }
    exit.into()
}

pub fn commands() -> Vec<String> {
    let command = App::command();
    let shown = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

fn print_as_json(error: &Error, exit: Exit) {
    if let Ok(json) = error.json(exit) {
        // If it cannot be printed, stderr still has the error.
        let _ = out::print_json(&json);
    }
}

/// Whether the command line asks for JSON. Errors are then JSON, too.
fn says_json() -> bool {
    let mut options = env::args_os().take_while(|word| word != "--");
    options.any(|word| word == "--json")
}

/// Ends the process if the command line is invalid or asks for help.
fn refused(mut error: clap::Error) -> ! {
    escape(&mut error);
    let line: Vec<_> = env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let commands = commands();
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    if let Some(hint) = misplaced::hint(&error, &line, &commands) {
        let hint = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, hint);
    }
    if error.use_stderr() && says_json() {
        let all = error.to_string();
        let (first, rest) = all.split_once('\n').unwrap_or((&all, ""));
        let why = given(first.strip_prefix("error: ").unwrap_or(first));
        print_as_json(&Error::usage(why).quoting(rest.trim()), Exit::Usage);
    }
    if error.use_stderr() && text::is_ci_job() {
        // A CI service could run commands in the text.
        let _ = write!(out::stderr(), "{}", error.render());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Escapes control characters and invisible characters in the parts of the command line that an error repeats.
fn escape(error: &mut clap::Error) {
    let escaped = error.context().filter_map(|(kind, value)| {
        let value = match value {
            ContextValue::String(word) => ContextValue::String(text::line(word)),
            ContextValue::Strings(words) => {
                ContextValue::Strings(words.iter().map(|word| text::line(word)).collect())
            }
            // A suggestion has its own styles. They stay if there is nothing to escape.
            ContextValue::StyledStrs(all) => {
                let escaped = all.iter().map(|styled| {
                    let plain = styled.to_string();
                    let line = text::line(&plain);
                    match line == plain {
                        true => styled.clone(),
                        false => line.into(),
                    }
                });
                ContextValue::StyledStrs(escaped.collect())
            }
            _ => return None,
        };
        Some((kind, value))
    });
    for (kind, value) in escaped.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
}

fn print_completions(shell: Shell) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_line(), "askback", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(out::print_text(script.into())?)
}

fn write_manual(folder: &Path) -> Result<(), Error> {
    clap_mangen::generate_to(command_line(), folder).map_err(|error| {
        let words = words!(
            "the manual pages cannot be written into {}",
            given(folder.display())
        );
        Error::usage(words).quoting(error.to_string())
    })
}

async fn run(app: App, outcome: &mut Outcome) -> Result<(), Error> {
    if let Some(shell) = app.completions {
        return print_completions(shell);
    }
    if let Some(folder) = &app.man {
        return write_manual(folder);
    }
    match app.command {
        None if env::args_os().len() <= 1 => demo::run(outcome).await,
        None => open::run(app.open, outcome).await,
        Some(Command::Open(args)) => open::run(args, outcome).await,
        Some(Command::List(args)) => list::run(args).await,
        Some(Command::Call(args)) => call::run(args, outcome).await,
        Some(Command::Get(args)) => get::run(args, outcome).await,
        Some(Command::Watch(args)) => watch::run(args).await,
        Some(Command::Answer(args)) => answer::run(args).await,
        Some(Command::Receipts(args)) => receipts::run(args, outcome),
        Some(Command::Check(args)) => check::run(args, outcome).await,
        Some(Command::Doctor(mut args)) => {
            args.quick = true;
            check::run(args, outcome).await
        }
        Some(Command::Test(args)) => test::run(args, outcome).await,
        Some(Command::New(args)) => new::run(&args),
        Some(Command::Servers(args)) => servers::run(args).await,
        Some(Command::Serve(args)) => serve::run(args).await,
        Some(Command::Hook(args)) => hook::run(args, outcome).await,
        Some(Command::Wrap(args)) => wrap::run(args, outcome).await,
        Some(Command::Help { topic }) => print_help(&topic),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, CommandFactory, error::ErrorKind};

    use super::*;

    fn commands(command: &clap::Command, typed: &[String], found: &mut Vec<Vec<String>>) {
        let mut typed = typed.to_vec();
        typed.push(command.get_name().to_owned());
        for below in command.get_subcommands() {
            commands(below, &typed, found);
        }
        if !command.has_subcommands() {
            found.push(typed);
        }
    }

    fn built(typed: &[String]) -> clap::Command {
        let mut command = App::command();
        command.build();
        for name in &typed[1..] {
            let below = command.find_subcommand(name);
            command = below.expect("it was found before").clone();
        }
        command
    }

    fn options(typed: &[String]) -> Vec<Arg> {
        let takes_value = |option: &&Arg| option.get_action().takes_values();
        let command = built(typed);
        command.get_opts().filter(takes_value).cloned().collect()
    }

    /// The options listed under a heading in every command. All others are listed under `Options`.
    const HEADINGS: [(&str, &[&str]); 2] = [
        (
            "Signing in, if a server at a URL requires it",
            &[
                "scope",
                "client-id",
                "client-issuer",
                "client-secret-file",
                "callback-port",
                "credentials",
            ],
        ),
        (
            "Models, for servers that ask a model",
            &["model", "model-url", "model-key-file"],
        ),
    ];

    #[test]
    fn each_option_is_listed_under_its_heading() {
        let mut found = Vec::new();
        commands(&App::command(), &[], &mut found);
        let mut headed = 0_usize;
        for typed in found {
            let command = built(&typed);
            for option in command.get_arguments().filter(|it| !it.is_positional()) {
                let name = option.get_long().expect("each has a name");
                let of_name = HEADINGS.iter().find(|(_, names)| names.contains(&name));
                let expected = of_name.map(|(heading, _)| *heading);
                assert_eq!(option.get_help_heading(), expected, "{typed:?} --{name}");
                headed = headed.saturating_add(usize::from(expected.is_some()));
            }
        }
        assert!(headed > 0);
    }

    #[test]
    fn help_fits_a_page() {
        fn check(command: &mut clap::Command) {
            let lines = command.render_help().to_string().lines().count();
            assert!(lines <= 60, "{}: {lines} lines", command.get_name());
            for below in command.get_subcommands_mut() {
                check(below);
            }
        }
        let mut all = command_line();
        all.build();
        check(&mut all);
    }

    #[test]
    fn no_number_is_taken_without_a_bound() {
        let mut found = Vec::new();
        commands(&App::command(), &[], &mut found);
        let mut bounded = Vec::new();
        for typed in found {
            for option in options(&typed) {
                let Some(name) = option.get_long() else {
                    continue;
                };
                let is_taken = |value: &str| {
                    let option = format!("--{name}={value}");
                    let words = typed.iter().chain([&option]);
                    let error = App::command().try_get_matches_from(words).err();
                    let kind = error.map(|error| error.kind());
                    kind != Some(ErrorKind::ValueValidation)
                };
                if is_taken("7") && !is_taken("seven") {
                    bounded.push(name.to_owned());
                    assert!(!is_taken("18446744073709551615"), "{typed:?} --{name}");
                    assert!(!is_taken("4294967295"), "{typed:?} --{name}");
                }
            }
        }
        bounded.sort();
        bounded.dedup();
        assert_eq!(
            bounded,
            [
                "at-once",
                "callback-port",
                "count",
                "hold",
                "max-message",
                "page-size",
                "repeat",
                "timeout"
            ]
        );
    }
}
