//! `askback list` shows what a server is and offers.

use askback::{
    client::{ClientError, List},
    internal::jsonrpc::METHOD_NOT_FOUND,
    protocol::{
        Implementation, Prompt, Resource, ResourceTemplate, ServerCapabilities, Skill, Tool,
    },
};
use askback_host::{
    host::Host,
    model::Asker,
    page::{Page, Rows, out},
    plain::catalog,
    text::given,
    words,
};
use serde::Serialize;

use super::{answers, print_as_json};
use crate::{
    error::Error,
    session::{Session, SessionArgs, failed},
};

/// List the tools, prompts, resources, resource templates and skills of a server
///
/// With --json it prints one object, with a list under `tools`, `prompts`, `resources`,
/// `resourceTemplates` and `skills` for each requested kind. The list is empty if the server has no such entry.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Examples:\n  askback list server.py tools\n  askback list https://example.com/mcp --all"
)]
pub struct ListArgs {
    /// The server, unless an option names it: a URL, a name in mcp.json, or a file such as server.py; then
    /// the kinds to list: tools, prompts, resources, templates, skills [default: all]
    #[arg(value_name = "[SERVER] KIND")]
    words: Vec<String>,
    /// First print the server's name, revision, capabilities and instructions
    #[arg(long)]
    all: bool,
    /// Print the lists as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

pub async fn run(mut args: ListArgs) -> Result<(), Error> {
    let is_server = |word: &String| Offer::read(word).is_err();
    if let Some(at) = args.words.iter().position(is_server) {
        // The server may be given before or after the kinds.
        args.words[..=at].rotate_right(1);
        args.session.name_by(&mut args.words)?;
    }
    let kinds = args.words.iter().map(|word| Offer::read(word));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let target = args.session.target()?;
    let mut session = Session::open(target, &args.session, answers(None)?).await?;
    let offers = Offers::list(&mut session, &kinds).await;
    let described = offers.map(|offers| Description::new(args.all, &session, offers));
    let asker = session.host.desk().asker().clone();
    session.close().await;
    let described = described?;
    match args.json {
        true => print_as_json(&described),
        false => Ok(out::print(&described.rows(&asker))?),
    }
}

/// A list that a server may offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Offer {
    Tools,
    Prompts,
    Resources,
    Templates,
    Skills,
}

impl Offer {
    fn read(word: &str) -> Result<Self, Error> {
        clap::ValueEnum::from_str(word, false).map_err(|_| {
            let error = Error::usage(words!("{} is not a kind of list", given(word)));
            error
                .hint("The kinds are tools, prompts, resources, templates and skills.")
                .hint("Name the server once: before the kinds, by an option, or as a command after --.")
        })
    }
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Offers {
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Tool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<Vec<Prompt>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<Resource>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_templates: Option<Vec<ResourceTemplate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<Vec<Skill>>,
}

impl Offers {
    async fn list(session: &mut Session, wanted: &[Offer]) -> Result<Self, Error> {
        let Session { client, host, .. } = session;
        let can = client.capabilities();
        // Nearly every server has tools. Other lists are requested if they are declared or asked for by name.
        let can_prompt = can.prompts.is_some() || wanted.contains(&Offer::Prompts);
        let can_read = can.resources.is_some() || !wanted.is_empty();
        let wants = |offer| wanted.is_empty() || wanted.contains(&offer);
        let mut offers = Self::default();
        if wants(Offer::Tools) {
            offers.tools = Some(list(host, true, client.tools()).await?);
        }
        if wants(Offer::Prompts) {
            offers.prompts = Some(list(host, can_prompt, client.prompts()).await?);
        }
        if wants(Offer::Resources) {
            offers.resources = Some(list(host, can_read, client.resources()).await?);
        }
        if wants(Offer::Templates) {
            let templates = client.resource_templates();
            offers.resource_templates = Some(list(host, can_read, templates).await?);
        }
        if wanted.contains(&Offer::Skills) || wanted.is_empty() && client.has_skills() {
            offers.skills = Some(list(host, true, client.skills()).await?);
        }
        Ok(offers)
    }

    fn put(&self, page: &mut Page) {
        if let Some(tools) = &self.tools {
            catalog::tools(page, tools);
        }
        if let Some(prompts) = &self.prompts {
            catalog::prompts(page, prompts);
        }
        match (&self.resources, &self.resource_templates) {
            (Some(resources), templates) => {
                let templates = templates.as_deref().unwrap_or_default();
                catalog::resources(page, resources, templates);
            }
            (None, Some(templates)) => catalog::templates(page, templates),
            (None, None) => {}
        }
        if let Some(skills) = &self.skills {
            catalog::skills(page, skills);
        }
    }
}

/// Reads a list if `is_sought`. A list that the server does not know is empty.
async fn list<T>(
    host: &mut Host,
    is_sought: bool,
    list: impl Future<Output = Result<List<T>, ClientError>>,
) -> Result<Vec<T>, Error> {
    if !is_sought {
        return Ok(Vec::new());
    }
    match host.attend(list).await? {
        Err(ClientError::Server(error)) if error.code == METHOD_NOT_FOUND => Ok(Vec::new()),
        listed => Ok(listed.map_err(failed)?.items),
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    #[serde(flatten)]
    greeting: Option<Greeting>,
    #[serde(flatten)]
    offers: Offers,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Greeting {
    server_info: Option<Implementation>,
    protocol_version: &'static str,
    capabilities: ServerCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

impl Description {
    fn new(is_all: bool, session: &Session, offers: Offers) -> Self {
        let client = &session.client;
        let greeting = is_all.then(|| Greeting {
            server_info: client.server_info(),
            protocol_version: client.revision().as_str(),
            instructions: client.instructions(),
            capabilities: client.capabilities(),
        });
        Self { greeting, offers }
    }

    fn rows(&self, asker: &Asker) -> Rows {
        let mut page = out::stdout_page();
        if let Some(greeting) = &self.greeting {
            let Greeting {
                protocol_version,
                capabilities,
                instructions,
                ..
            } = greeting;
            let instructions = instructions.as_deref();
            catalog::identity(
                &mut page,
                asker,
                protocol_version,
                capabilities,
                instructions,
            );
        }
        self.offers.put(&mut page);
        page.take().alone()
    }
}
