//! `askback complete`: what a server suggests for an argument.

use askback_core::protocol::{Completion, Reference};
use askback_host::{
    page::{Style, out},
    text::{PeerText, line},
};

use super::{answers, print_as_json};
use crate::{
    args,
    error::Error,
    session::{Session, SessionArgs, failed},
};

/// Print what a server suggests for an argument of a prompt or of a resource template
///
/// The suggestions go to the standard output, one a line. As JSON it is an object with `values`
/// and, where the server says so, `total` and `hasMore`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example: askback complete prompt review language py -- python3 server.py")]
pub struct CompleteArgs {
    /// Whose argument it is
    #[arg(value_enum)]
    of: Completed,
    /// The name of the prompt, or the URI template of the resources
    #[arg(value_name = "NAME")]
    owner: String,
    /// The argument
    argument: String,
    /// The beginning of its value; all values where it is absent or empty
    #[arg(default_value = "", hide_default_value = true)]
    start: String,
    /// The arguments that are known already: key=value
    #[arg(value_name = "KEY=VALUE")]
    known: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// The kinds of what has arguments that a server completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Completed {
    /// A prompt.
    Prompt,
    /// A resource template.
    Template,
}

/// Runs the command.
///
/// # Errors
///
/// Fails with the error that ended it early.
pub async fn run(args: CompleteArgs) -> Result<(), Error> {
    let known = args::for_prompt(args::parse(&args.known)?);
    let target = args.session.target()?;
    let mut session = Session::open(target, &args.session, answers(None)?).await?;
    let Session { client, host, .. } = &mut session;
    let reference = match args.of {
        Completed::Prompt => Reference::prompt(&args.owner),
        Completed::Template => Reference::resource(&args.owner),
    };
    let completing = client.complete(reference, (&args.argument, &args.start), known);
    let completed = match host.attend(completing).await {
        Ok(completed) => completed.map_err(failed),
        Err(interrupted) => Err(interrupted.into()),
    };
    if let (Ok(completion), false) = (&completed, args.json) {
        match (completion.values.is_empty(), completion.has_more) {
            (true, _) => host.page().note(Style::Dim, "the server suggests nothing"),
            (false, Some(true)) => host.page().note(Style::Dim, "the server has more"),
            _ => {}
        }
    }
    session.close().await;
    let completion = completed?;
    match args.json {
        true => print_as_json(&completion),
        false if completion.values.is_empty() => Ok(()),
        false => Ok(out::print_text(lines(&completion))?),
    }
}

/// The suggestions, each on a line of its own.
fn lines(completion: &Completion) -> PeerText {
    let values: Vec<_> = completion.values.iter().map(|value| line(value)).collect();
    values.join("\n").into()
}
