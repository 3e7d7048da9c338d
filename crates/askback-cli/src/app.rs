//! The command line, and what runs behind it.

use std::process::ExitCode;

use askback_host::{page::out, text::given, words};
use clap::{Parser, Subcommand};

use crate::{
    commands::{auth, call, complete, demo, inspect, list, open, prompt, read, serve, watch},
    error::{Error, Exit, Kind, Outcome},
};

/// Open any MCP server, answer what it asks
///
/// Without a command: a demonstration, with a travel agency to book a holiday at.
#[derive(Debug, Parser)]
#[command(name = "askback", version, max_term_width = 100)]
struct App {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Open(open::OpenArgs),
    Call(call::CallArgs),
    Prompt(prompt::PromptArgs),
    Read(read::ReadArgs),
    List(list::ListArgs),
    Complete(complete::CompleteArgs),
    Watch(watch::WatchArgs),
    Inspect(inspect::InspectArgs),
    Auth(auth::AuthArgs),
    Serve(serve::ServeArgs),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let app = App::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (outcome, error) = match runtime {
        Ok(runtime) => {
            let mut outcome = Outcome::default();
            let ran = runtime.block_on(run(app, &mut outcome));
            // The thread that reads the standard input ends with the process, not before.
            runtime.shutdown_background();
            (outcome, ran.err())
        }
        Err(error) => {
            let error = Error::new(
                Kind::Connection,
                words!("the runtime does not start: {}", given(error)),
            );
            (Outcome::default(), Some(error))
        }
    };
    if let Some(error) = &error {
        let mut page = out::stderr_page();
        error.put(&mut page);
        out::tell(&mut page);
    }
    Exit::of(outcome, error.as_ref()).into()
}

async fn run(app: App, outcome: &mut Outcome) -> Result<(), Error> {
    match app.command {
        None => demo::run(outcome).await,
        Some(Command::Open(args)) => open::run(args, outcome).await,
        Some(Command::Call(args)) => call::run(args, outcome).await,
        Some(Command::Prompt(args)) => prompt::run(args, outcome).await,
        Some(Command::Read(args)) => read::run(args, outcome).await,
        Some(Command::List(args)) => list::run(args).await,
        Some(Command::Complete(args)) => complete::run(args).await,
        Some(Command::Watch(args)) => watch::run(args).await,
        Some(Command::Inspect(args)) => inspect::run(args).await,
        Some(Command::Auth(args)) => auth::run(args).await,
        Some(Command::Serve(args)) => serve::run(args).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, CommandFactory, error::ErrorKind};

    use super::*;

    /// The commands of a command line that have no others below them, each as it is typed.
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

    fn options(typed: &[String]) -> Vec<Arg> {
        let mut command = App::command();
        command.build();
        let mut at = &command;
        for name in &typed[1..] {
            at = at.find_subcommand(name).expect("it was found before");
        }
        let takes_value = |option: &&Arg| option.get_action().takes_values();
        at.get_opts().filter(takes_value).cloned().collect()
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
        assert_eq!(bounded, ["callback-port", "count", "page-size", "timeout"]);
    }
}
