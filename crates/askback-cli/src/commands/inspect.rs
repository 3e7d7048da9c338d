//! `askback inspect`: what a server says of itself.

use askback_core::protocol::{Implementation, ServerCapabilities};
use askback_host::{
    model::Asker,
    page::{Rows, out},
    plain::catalog,
};
use serde::Serialize;

use super::{answers, offers::Offers, print_as_json};
use crate::{
    error::Error,
    session::{Session, SessionArgs},
};

/// Show what a server is and offers: identity, revision, capabilities, tools, prompts, resources
///
/// Questions of the server may go unanswered: no call depends on it, and the exit code says
/// nothing of it.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example: askback inspect https://example.com/mcp")]
pub struct InspectArgs {
    /// The server: a URL, a name in mcp.json, or a file such as server.py
    #[arg(value_name = "SERVER")]
    target: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// The description of a server and its offers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspected {
    server_info: Option<Implementation>,
    protocol_version: &'static str,
    capabilities: ServerCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    #[serde(flatten)]
    offers: Offers,
}

/// Runs the command.
///
/// # Errors
///
/// Fails with the error that ended it early.
pub async fn run(mut args: InspectArgs) -> Result<(), Error> {
    args.session = args.session.named(args.target.take())?;
    let target = args.session.target()?;
    let mut session = Session::open(target, &args.session, answers(None)?).await?;
    let inspected = inspect(&mut session).await;
    let asker = session.host.desk().asker().clone();
    session.close().await;
    let inspected = inspected?;
    match args.json {
        true => print_as_json(&inspected),
        false => Ok(out::print(&inspected.rows(&asker).trimmed())?),
    }
}

async fn inspect(session: &mut Session) -> Result<Inspected, Error> {
    let offers = Offers::list(session, &[]).await?;
    let client = &session.client;
    Ok(Inspected {
        server_info: client.server_info(),
        protocol_version: client.revision().as_str(),
        instructions: client.instructions(),
        capabilities: client.capabilities(),
        offers,
    })
}

impl Inspected {
    fn rows(&self, asker: &Asker) -> Rows {
        let mut page = out::stdout_page();
        let instructions = self.instructions.as_deref();
        let revision = self.protocol_version;
        catalog::identity(&mut page, asker, revision, &self.capabilities, instructions);
        self.offers.put(&mut page);
        page.take()
    }
}
