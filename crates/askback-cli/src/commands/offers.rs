//! A server's offers, as the commands that list them show them.

use askback::client::{ClientError, List};
use askback_core::{
    jsonrpc::METHOD_NOT_FOUND,
    protocol::{Prompt, Resource, ResourceTemplate, Tool},
};
use askback_host::{host::Host, page::Page, plain::catalog, text::given, words};
use serde::Serialize;

use crate::{
    error::Error,
    session::{Session, failed},
};

/// A list that a server may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Offer {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources.
    Resources,
    /// The resource templates.
    Templates,
}

impl Offer {
    /// Reads the name of a kind.
    ///
    /// # Errors
    ///
    /// A usage error if it is none.
    pub(super) fn read(word: &str) -> Result<Self, Error> {
        clap::ValueEnum::from_str(word, false).map_err(|_| {
            let error = Error::usage(words!("{} is no kind of list", given(word)));
            error
                .hint("The kinds are tools, prompts, resources and templates.")
                .hint("A server is written before them: askback list server.py tools.")
        })
    }
}

/// The lists of a server, as far as they were wanted.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Offers {
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Tool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<Vec<Prompt>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<Resource>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_templates: Option<Vec<ResourceTemplate>>,
}

impl Offers {
    /// Lists the offers of these kinds; all of them where none is named.
    pub(super) async fn list(session: &mut Session, wanted: &[Offer]) -> Result<Self, Error> {
        let Session { client, host, .. } = session;
        let can = client.capabilities();
        // Tools are what a server is mostly for. The rest is looked for if it is declared or wanted by name.
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
        Ok(offers)
    }

    /// Puts the lists on a page.
    pub(super) fn put(&self, page: &mut Page) {
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
    }
}

/// A list, if it is to be looked for. One that the server does not know is empty.
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
