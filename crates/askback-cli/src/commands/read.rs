//! `askback read`: one resource.

use std::{collections::BTreeMap, path::PathBuf};

use askback::client::Client;
use askback_core::protocol::{ReadResourceResult, ResourceContents};
use askback_host::{content, model::Call, page::out, text::PeerText};

use super::{answers, call::left_out, retry};
use crate::{
    error::{Error, Outcome},
    missing,
    session::{Session, SessionArgs, failed},
};

/// Read a resource and print it
///
/// Questions and notes go to the standard error, the resource alone to the standard output: its
/// text, or the kind and size of what is no text; --json has the bytes. Exit codes are those of
/// `askback call`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example: askback read server.py file:///notes.txt")]
pub struct ReadArgs {
    /// The URI of the resource; the variables of a template are asked for at a terminal
    uri: String,
    /// The resource, if the word before it names the server: a URL, a name in mcp.json, or a file such as
    /// server.py
    #[arg(value_name = "URI OF SERVER")]
    of_server: Option<String>,
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
pub async fn run(mut args: ReadArgs, outcome: &mut Outcome) -> Result<(), Error> {
    if let Some(uri) = args.of_server.take() {
        let server = std::mem::replace(&mut args.uri, uri);
        args.session = args.session.named(Some(server))?;
    }
    let target = args.session.target()?;
    let answers = answers(args.answers.as_deref())?;
    let mut session = Session::open(target, &args.session, answers).await?;
    let read = read(&mut session, &args, outcome).await;
    outcome.questions = session.host.ended();
    session.close().await;
    read
}

async fn read(session: &mut Session, args: &ReadArgs, outcome: &mut Outcome) -> Result<(), Error> {
    let Session { client, host, .. } = session;
    let uri = match host.is_person() {
        true => missing::for_uri(client, host, &args.uri).await,
        false => Some((args.uri.clone(), BTreeMap::new())),
    };
    let (uri, _) = uri.ok_or_else(missing::cancelled)?;
    let asked = Call::Resource(uri.clone());
    let read = async |client: &Client| client.read_resource(&uri).await;
    let result = retry::attended(session, asked, read)
        .await?
        .map_err(failed)?;
    let Session { host, .. } = session;
    match args.json {
        true => host.print(out::of_json(&result.raw))?,
        false => host.print(out::of_text(text(&result.value)))?,
    }
    left_out(host, &result.left_out, outcome);
    Ok(())
}

/// The text of a resource: alone where nothing else was sent, since it may go to a file.
fn text(result: &ReadResourceResult) -> PeerText {
    match &result.contents[..] {
        // A line end is written behind it in any case.
        [ResourceContents::Text(one)] if result.left_out.is_empty() => {
            one.text.strip_suffix('\n').unwrap_or(&one.text).into()
        }
        _ => content::resource(result),
    }
}
