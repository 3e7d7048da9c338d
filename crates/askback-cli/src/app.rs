//! The command line, and what runs behind it.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

use crate::{
    commands::{auth, call, demo, inspect, open, prompt, serve},
    error::{Error, Exit, Kind, Outcome},
    text,
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
                format!("the runtime does not start: {error}"),
            );
            (Outcome::default(), Some(error))
        }
    };
    if let Some(error) = &error {
        // Who cannot be told cannot be helped; the exit code says it too.
        let _ = writeln!(
            io::stderr(),
            "askback: {}",
            text::lines(&error.to_string()).join("\n")
        );
    }
    Exit::of(outcome, error.as_ref()).into()
}

async fn run(app: App, outcome: &mut Outcome) -> Result<(), Error> {
    match app.command {
        None => demo::run(outcome).await,
        Some(Command::Open(args)) => open::run(args, outcome).await,
        Some(Command::Call(args)) => call::run(args, outcome).await,
        Some(Command::Prompt(args)) => prompt::run(args, outcome).await,
        Some(Command::Inspect(args)) => inspect::run(args, outcome).await,
        Some(Command::Auth(args)) => auth::run(args).await,
        Some(Command::Serve(args)) => serve::run(args).await,
    }
}
