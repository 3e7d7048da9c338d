//! `askback get` gets a prompt or a resource.

use std::{collections::BTreeMap, path::PathBuf};

use askback::{
    client::{Client, check_skill_file},
    protocol::{ReadResourceResult, ResourceContents, Skill},
};
use askback_host::{content, model::Call, page::out, text::PeerText, words};

use super::{answers, call::left_out, retry};
use crate::{
    args,
    error::{Error, Kind, Outcome},
    lookup, missing,
    session::{Session, SessionArgs, failed},
};

/// Get a prompt or a resource and print it
///
/// Questions and notes go to standard error, only the result to standard output: the messages of a prompt,
/// or the text of a resource. For binary content it is the type and the size; --json has the bytes. At a
/// terminal, askback asks for missing arguments of a prompt and variables of a URI template. The exit codes
/// are the same as for `askback call`.
#[derive(Debug, Clone, clap::Args)]
#[command(
    override_usage = "askback get [OPTIONS] [SERVER] <NAME|URI> [KEY=VALUE]... [-- <CMD>...]",
    after_help = "Examples:\n  askback get server.py review code=main.rs\n  askback get server.py file:///notes.txt"
)]
pub struct GetArgs {
    /// The prompt, or the URI of the resource: a word with a colon is a URI
    #[arg(value_name = "NAME|URI")]
    wanted: String,
    /// The arguments of the prompt
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// A file of answers, YAML or JSON
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

pub async fn run(mut args: GetArgs, outcome: &mut Outcome) -> Result<(), Error> {
    args.session
        .target
        .take_server(&mut args.wanted, &mut args.arguments)?;
    let is_resource = args.wanted.contains(':');
    if is_resource && !args.arguments.is_empty() {
        let error = words!("a resource has no arguments, and a word with a colon is a URI");
        return Err(Error::usage(error));
    }
    let arguments = args::parse(&args.arguments)?;
    let target = args.session.target()?;
    let answers = answers(args.answers.as_deref())?;
    let mut session = Session::open(target, &args.session, answers).await?;
    let got = match is_resource {
        true => read(&mut session, &args, outcome).await,
        false => get(&mut session, &args, arguments, outcome).await,
    };
    outcome.questions = session.host.ended();
    session.close().await;
    got
}

async fn get(
    session: &mut Session,
    args: &GetArgs,
    arguments: Vec<args::Argument>,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let Session { client, host, .. } = session;
    let prompts = host.attend(client.prompts()).await?.map_err(failed)?;
    let prompt = lookup::prompt(&prompts, &args.wanted)?;
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

async fn read(session: &mut Session, args: &GetArgs, outcome: &mut Outcome) -> Result<(), Error> {
    let Session { client, host, .. } = session;
    let uri = match host.is_person() {
        true => missing::for_uri(client, host, &args.wanted).await,
        false => Some((args.wanted.clone(), BTreeMap::new())),
    };
    let (uri, _) = uri.ok_or_else(missing::cancelled)?;
    let asked = Call::Resource(uri.clone());
    let read = async |client: &Client| client.read_resource(&uri).await;
    let result = retry::attended(session, asked, read)
        .await?
        .map_err(failed)?;
    let Session { client, host, .. } = session;
    // The file of a skill may have any URI.
    let mut unlisted = None;
    if client.has_skills() {
        match host.attend(client.skills()).await? {
            Ok(skills) => check_skill(&skills, &uri, &result)?,
            Err(why) => unlisted = Some(why),
        }
    }
    match args.json {
        true => host.print(out::of_json(&result.raw))?,
        false => host.print(out::of_text(text(&result.value)))?,
    }
    if let Some(why) = unlisted {
        let words = "not checked, because the server's skills could not be listed ";
        host.page().quote_line(words, why.to_string());
    }
    left_out(host, &result.left_out, outcome);
    Ok(())
}

/// Checks a file against each listed skill that has it.
fn check_skill(skills: &[Skill], uri: &str, read: &ReadResourceResult) -> Result<(), Error> {
    let lists = |skill: &&Skill| skill.resources.iter().flatten().any(|file| file.uri == uri);
    for skill in skills.iter().filter(lists) {
        check_skill_file(skill, uri, read).map_err(|why| {
            let error = "the file is not what the server's list of skills says:";
            Error::new(Kind::Protocol, error)
                .quoting(why.to_string())
                .hint("The server may have changed the skill: try again.")
        })?;
    }
    Ok(())
}

/// The text of a resource, without additions if nothing else was sent, because it may be written to a file.
fn text(result: &ReadResourceResult) -> PeerText {
    match &result.contents[..] {
        // A line end is always written after it.
        [ResourceContents::Text(one)] if result.left_out.is_empty() => {
            one.text.strip_suffix('\n').unwrap_or(&one.text).into()
        }
        _ => content::resource(result),
    }
}
