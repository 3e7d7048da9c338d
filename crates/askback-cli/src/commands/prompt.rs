//! `askback prompt`: one prompt.

use std::path::PathBuf;

use askback::client::Client;
use askback_host::{content, model::Call, page::out};

use super::{answers, call::left_out, retry};
use crate::{
    args,
    error::{Error, Outcome},
    lookup, missing,
    session::{Session, SessionArgs, failed},
};

/// Get a prompt and print its messages
///
/// Questions and notes go to the standard error, the result alone to the standard output. At a
/// terminal, arguments are asked for if one that the prompt requires is missing. Exit codes are those
/// of `askback call`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example: askback prompt server.py review code=main.rs")]
pub struct PromptArgs {
    /// The prompt
    prompt: String,
    /// Its arguments
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// A file of answers, YAML or JSON
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs the command.
///
/// # Errors
///
/// Fails with the error that ended it early; the outcome so far is in `outcome`.
pub async fn run(mut args: PromptArgs, outcome: &mut Outcome) -> Result<(), Error> {
    args.session
        .take_server(&mut args.prompt, &mut args.arguments)?;
    let arguments = args::parse(&args.arguments)?;
    let target = args.session.target()?;
    let answers = answers(args.answers.as_deref())?;
    let mut session = Session::open(target, &args.session, answers).await?;
    let got = get(&mut session, &args, arguments, outcome).await;
    outcome.questions = session.host.ended();
    session.close().await;
    got
}

async fn get(
    session: &mut Session,
    args: &PromptArgs,
    arguments: Vec<args::Argument>,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let Session { client, host, .. } = session;
    let prompts = host.attend(client.prompts()).await?.map_err(failed)?;
    let prompt = lookup::prompt(&prompts, &args.prompt)?;
    let mut arguments = args::for_prompt(arguments);
    missing::tell_unknown(host, prompt, &arguments);
    let needed = prompt.arguments.iter().flatten();
    let missing: Vec<_> = needed
        .filter(|argument| argument.required == Some(true))
        .filter(|argument| !arguments.contains_key(&argument.name))
        .map(|argument| format!("{}=…", argument.name))
        .collect();
    if !missing.is_empty() && host.is_person() {
        let filled = missing::for_prompt(client, host, prompt, arguments, false).await;
        arguments = filled.ok_or_else(missing::cancelled)?;
    } else if !missing.is_empty() {
        return Err(
            Error::usage("the prompt needs more arguments: add these").quoting(missing.join(" "))
        );
    }
    let asked = Call::Prompt(prompt.name.clone());
    let get = async |client: &Client| client.get_prompt(&prompt.name, arguments.clone()).await;
    let result = retry::attended(session, asked, get).await?;
    let result = result.map_err(failed)?;
    let Session { host, .. } = session;
    match args.json {
        true => host.print(out::of_json(&result.raw))?,
        false => host.print(out::of_text(content::prompt(&result.value)))?,
    }
    left_out(host, &result.left_out, outcome);
    Ok(())
}
