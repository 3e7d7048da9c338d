//! `askback list` shows what a server is and offers.

use std::collections::BTreeMap;

use askback::protocol::{Implementation, ServerCapabilities};
use askback_host::{model::Catalog, page::out, plain, text::given, words};
use clap::ValueEnum as _;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{answers, as_json, print_as_json};
use crate::{
    error::Error,
    repl::catalog::{self, CatalogPart},
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
    let is_server = |word: &String| part(word).is_err();
    if let Some(at) = args.words.iter().position(is_server) {
        // The server may be given before or after the kinds.
        args.words[..=at].rotate_right(1);
        args.session.target.name_by(&mut args.words)?;
    }
    let parts = args.words.iter().map(|word| part(word));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    let target = args.session.target()?;
    let mut session = Session::open(target, &args.session, answers(None)?).await?;
    let Session { client, host, .. } = &mut session;
    let lists = host.attend(catalog::read(client, &parts)).await;
    if parts.is_empty() {
        parts.extend(CatalogPart::value_variants());
        parts.retain(|part| *part != CatalogPart::Skills || client.has_skills());
    }
    let greeting = args.all.then(|| Greeting {
        server_info: client.server_info(),
        protocol_version: client.revision().as_str(),
        instructions: client.instructions(),
        capabilities: client.capabilities(),
    });
    let asker = host.desk().asker().clone();
    session.close().await;
    let lists = lists?.map_err(failed)?;
    if args.json {
        let lists = entries(&lists, &parts)?;
        return print_as_json(&Description { greeting, lists });
    }
    let mut page = out::stdout_page();
    if let Some(greeting) = &greeting {
        let instructions = greeting.instructions.as_deref();
        let (revision, can) = (greeting.protocol_version, &greeting.capabilities);
        plain::catalog::identity(&mut page, &asker, revision, can, instructions);
    }
    catalog::put(&mut page, &lists, &parts);
    Ok(out::print(&page.take().alone())?)
}

fn part(word: &str) -> Result<CatalogPart, Error> {
    CatalogPart::from_str(word, false).map_err(|_| {
        let error = Error::usage(words!("{} is not a kind of list", given(word)));
        error
            .hint("The kinds are tools, prompts, resources, templates and skills.")
            .hint("Name the server once: before the kinds, by an option, or as a command after --.")
    })
}

fn entries(
    lists: &Catalog,
    parts: &[CatalogPart],
) -> Result<BTreeMap<&'static str, Box<RawValue>>, Error> {
    let entries = parts.iter().map(|part| {
        Ok(match part {
            CatalogPart::Tools => ("tools", as_json(&lists.tools)?),
            CatalogPart::Prompts => ("prompts", as_json(&lists.prompts)?),
            CatalogPart::Resources => ("resources", as_json(&lists.resources)?),
            CatalogPart::Templates => ("resourceTemplates", as_json(&lists.templates)?),
            CatalogPart::Skills => ("skills", as_json(&lists.skills)?),
        })
    });
    entries.collect()
}

#[derive(Debug, Serialize)]
struct Description {
    #[serde(flatten)]
    greeting: Option<Greeting>,
    #[serde(flatten)]
    lists: BTreeMap<&'static str, Box<RawValue>>,
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
