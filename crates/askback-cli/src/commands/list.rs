//! `askback list`: what a server offers.

use askback_host::page::out;

use super::{
    answers,
    offers::{Offer, Offers},
    print_as_json,
};
use crate::{
    error::Error,
    session::{Session, SessionArgs},
};

/// List the tools, prompts, resources and resource templates of a server
///
/// As JSON it is one object, with a list under `tools`, `prompts`, `resources` and
/// `resourceTemplates` for each kind that was asked for. A server that has none of a kind has an
/// empty list.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example: askback list server.py tools")]
pub struct ListArgs {
    /// The server, unless an option names it: a URL, a name in mcp.json, or a file such as server.py; then
    /// the kinds to list, or else all: tools, prompts, resources, templates
    #[arg(value_name = "[SERVER] KIND")]
    words: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs the command.
///
/// # Errors
///
/// Fails with the error that ended it early.
pub async fn run(mut args: ListArgs) -> Result<(), Error> {
    if args
        .words
        .first()
        .is_some_and(|word| Offer::read(word).is_err())
    {
        args.session.name_by(&mut args.words)?;
    }
    let kinds = args.words.iter().map(|word| Offer::read(word));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let target = args.session.target()?;
    let mut session = Session::open(target, &args.session, answers(None)?).await?;
    let offers = Offers::list(&mut session, &kinds).await;
    session.close().await;
    let offers = offers?;
    if args.json {
        return print_as_json(&offers);
    }
    let mut page = out::stdout_page();
    offers.put(&mut page);
    Ok(out::print(&page.take().alone())?)
}
