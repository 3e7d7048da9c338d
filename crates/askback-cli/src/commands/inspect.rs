//! `askback inspect`: what a server says of itself.

use askback::client::ClientError;
use askback_core::{
    jsonrpc::METHOD_NOT_FOUND,
    protocol::{Implementation, Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool},
};
use askback_host::{
    host::Host,
    model::Asker,
    page::{Rows, out},
    plain::catalog,
    text::given,
};
use serde::Serialize;

use super::answers;
use crate::{
    error::Error,
    session::{Session, SessionArgs, failed},
};

/// Show what a server is and offers: identity, revision, capabilities, tools, prompts, resources
///
/// Questions of the server may go unanswered: no call depends on it, and the exit code says
/// nothing of it.
#[derive(Debug, Clone, clap::Args)]
pub struct InspectArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
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
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    resource_templates: Vec<ResourceTemplate>,
}

/// Runs the command.
///
/// # Errors
///
/// Fails with the error that ended it early.
pub async fn run(args: InspectArgs) -> Result<(), Error> {
    let target = args.session.target()?;
    let mut session = Session::open(target, &args.session, answers(None)?).await?;
    let inspected = inspect(&mut session).await;
    let asker = session.host.desk().asker().clone();
    session.close().await;
    let inspected = inspected?;
    if args.json {
        let json = serde_json::value::to_raw_value(&inspected);
        let json = json.map_err(|error| Error::usage(given(error)))?;
        return Ok(out::print_json(&json)?);
    }
    Ok(out::print(&inspected.rows(&asker).trimmed())?)
}

async fn inspect(session: &mut Session) -> Result<Inspected, Error> {
    let Session { client, host } = session;
    let capabilities = client.capabilities();
    let can_read = capabilities.resources.is_some();
    Ok(Inspected {
        server_info: client.server_info(),
        protocol_version: client.revision().as_str(),
        instructions: client.instructions(),
        tools: list(host, capabilities.tools.is_some(), client.tools()).await?,
        prompts: list(host, capabilities.prompts.is_some(), client.prompts()).await?,
        resources: list(host, can_read, client.resources()).await?,
        resource_templates: list(host, can_read, client.resource_templates()).await?,
        capabilities,
    })
}

/// A list, where the server has declared to have it. One it then does not know is empty.
async fn list<T>(
    host: &mut Host,
    declared: bool,
    list: impl Future<Output = Result<Vec<T>, ClientError>>,
) -> Result<Vec<T>, Error> {
    if !declared {
        return Ok(Vec::new());
    }
    match host.attend(list).await? {
        Err(ClientError::Server(error)) if error.code == METHOD_NOT_FOUND => Ok(Vec::new()),
        listed => listed.map_err(failed),
    }
}

impl Inspected {
    fn rows(&self, asker: &Asker) -> Rows {
        let mut page = out::stdout_page();
        let instructions = self.instructions.as_deref();
        let revision = self.protocol_version;
        catalog::identity(&mut page, asker, revision, &self.capabilities, instructions);
        catalog::tools(&mut page, &self.tools);
        catalog::prompts(&mut page, &self.prompts);
        catalog::resources(&mut page, &self.resources, &self.resource_templates);
        page.take()
    }
}
