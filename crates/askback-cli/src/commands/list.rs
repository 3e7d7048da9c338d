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
pub struct ListArgs {
    /// Only these; without any, all
    #[arg(value_enum, value_name = "KIND")]
    kinds: Vec<Offer>,
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
pub async fn run(args: ListArgs) -> Result<(), Error> {
    let target = args.session.target()?;
    let mut session = Session::open(target, &args.session, answers(None)?).await?;
    let offers = Offers::list(&mut session, &args.kinds).await;
    session.close().await;
    let offers = offers?;
    if args.json {
        return print_as_json(&offers);
    }
    let mut page = out::stdout_page();
    offers.put(&mut page);
    Ok(out::print(&page.take().alone())?)
}
