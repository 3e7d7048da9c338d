//! Lists, page by page (2026-07-28, server/utilities/pagination).

use askback_core::{
    jsonrpc,
    protocol::{
        ClientRequest, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedParams, Prompt, Resource, ResourceTemplate, ServerCapabilities,
        Tool,
    },
};
use serde::de::DeserializeOwned;

use super::{Client, ClientError, received::read};

/// A page of a list.
pub(super) trait Page: DeserializeOwned {
    type Item;

    /// What asks for it.
    const REQUEST: fn(PaginatedParams) -> ClientRequest;

    /// Whether the server has such a list.
    fn is_offered(capabilities: &ServerCapabilities) -> bool;

    /// What is on it, and where the next one is.
    fn split(self) -> (Vec<Self::Item>, Option<String>);
}

macro_rules! pages {
    ($($result:ident, $item:ident, $field:ident, $request:ident, $capability:ident;)*) => {
        $(
            impl Page for $result {
                type Item = $item;

                const REQUEST: fn(PaginatedParams) -> ClientRequest = ClientRequest::$request;

                fn is_offered(capabilities: &ServerCapabilities) -> bool {
                    capabilities.$capability.is_some()
                }

                fn split(self) -> (Vec<Self::Item>, Option<String>) {
                    (self.$field, self.next_cursor)
                }
            }
        )*
    };
}

pages! {
    ListToolsResult, Tool, tools, ListTools, tools;
    ListPromptsResult, Prompt, prompts, ListPrompts, prompts;
    ListResourcesResult, Resource, resources, ListResources, resources;
    ListResourceTemplatesResult, ResourceTemplate, resource_templates, ListResourceTemplates, resources;
}

impl Client {
    pub(super) async fn page<P: Page>(&self, cursor: Option<String>) -> Result<P, ClientError> {
        let request = P::REQUEST(PaginatedParams { cursor, meta: None });
        let raw = self.request(request).await?;
        read(&raw)
    }

    /// All pages of a list. A cursor may be any text, also one that was there before, so that an
    /// endless list is known by its length alone.
    pub(super) async fn pages<P: Page>(&self) -> Result<Vec<P::Item>, ClientError> {
        let mut items = Vec::new();
        if !P::is_offered(&self.greeting().capabilities) {
            return Ok(items);
        }
        let mut cursor = None;
        let mut begun_again = false;
        for _ in 0..self.limits().pages {
            let is_first = cursor.is_none();
            let page: P = match self.page(cursor).await {
                // The list has changed under its cursors.
                Err(ClientError::Server(error))
                    if error.code == jsonrpc::INVALID_PARAMS && !is_first && !begun_again =>
                {
                    begun_again = true;
                    items.clear();
                    cursor = None;
                    continue;
                }
                page => page?,
            };
            let (mut more, next) = page.split();
            items.append(&mut more);
            match next {
                Some(next) => cursor = Some(next),
                None => return Ok(items),
            }
        }
        let most = self.limits().pages;
        Err(ClientError::Protocol(format!(
            "its list does not end after {most} pages"
        )))
    }
}
