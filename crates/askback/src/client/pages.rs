//! Lists, page by page (2026-07-28, server/utilities/pagination).

use std::collections::HashSet;

use askback_core::{
    jsonrpc,
    limits::Limits,
    protocol::{
        ClientRequest, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedParams, Prompt, Resource, ResourceTemplate, ServerCapabilities,
        Tool,
    },
};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;

use super::{Client, ClientError, received::read};

/// A page of a list.
pub(super) trait Page: DeserializeOwned {
    type Item;

    /// The request for a page.
    const REQUEST: fn(PaginatedParams) -> ClientRequest;

    /// Whether the server has such a list.
    fn is_offered(capabilities: &ServerCapabilities) -> bool;

    /// How many items are on a page, found out without making them: an item of a few bytes takes
    /// many times as much once it is read.
    fn count(raw: &RawValue) -> Result<usize, ClientError>;

    /// Returns the items of the page, and the cursor of the next.
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

                fn count(raw: &RawValue) -> Result<usize, ClientError> {
                    #[derive(Deserialize)]
                    #[serde(rename_all = "camelCase")]
                    struct Counted {
                        $field: Vec<IgnoredAny>,
                    }
                    read::<Counted>(raw).map(|counted| counted.$field.len())
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

/// The pages of one list that were fetched so far.
#[derive(Debug, Default)]
struct Fetched {
    bytes: usize,
    items: usize,
    /// The cursors that led on.
    cursors: HashSet<String>,
}

impl Fetched {
    /// Counts a page that came.
    fn take<P: Page>(&mut self, raw: &RawValue, limits: &Limits) -> Result<(), ClientError> {
        self.bytes = self.bytes.saturating_add(raw.get().len());
        if self.bytes > limits.client.list_bytes {
            return Err(too_long(limits.client.list_bytes, "bytes"));
        }
        self.items = self.items.saturating_add(P::count(raw)?);
        if self.items > limits.client.list_items {
            return Err(too_long(limits.client.list_items, "items"));
        }
        Ok(())
    }

    /// Counts a cursor that is to be followed: it stands for a place in the list, and a list that
    /// comes back to a place where it was does not end.
    fn follow(&mut self, cursor: &str) -> Result<(), ClientError> {
        if self.cursors.insert(cursor.to_owned()) {
            return Ok(());
        }
        let why = "a cursor of its list leads back to an earlier page";
        Err(ClientError::Protocol(why.to_owned()))
    }
}

fn too_long(most: usize, what: &str) -> ClientError {
    ClientError::Protocol(format!(
        "its list is longer than the {most} {what} accepted here"
    ))
}

impl Client {
    /// One page of a list.
    pub(super) async fn page<P: Page>(&self, cursor: Option<String>) -> Result<P, ClientError> {
        let mut fetched = Fetched::default();
        self.next_page(cursor, &mut fetched).await
    }

    async fn next_page<P: Page>(
        &self,
        cursor: Option<String>,
        fetched: &mut Fetched,
    ) -> Result<P, ClientError> {
        let request = P::REQUEST(PaginatedParams { cursor, meta: None });
        let raw = self.request(request).await?;
        fetched.take::<P>(&raw, self.limits())?;
        read(&raw)
    }

    /// All pages of a list, as far as a client goes along with it:
    /// [`limits.client.pages`](crate::limits::ClientLimits::pages),
    /// [`limits.client.list_bytes`](crate::limits::ClientLimits::list_bytes) and
    /// [`limits.client.list_items`](crate::limits::ClientLimits::list_items) bound what is kept of
    /// it.
    pub(super) async fn pages<P: Page>(&self) -> Result<Vec<P::Item>, ClientError> {
        let mut items = Vec::new();
        if !P::is_offered(&self.greeting().capabilities) {
            return Ok(items);
        }
        let mut fetched = Fetched::default();
        let mut cursor = None;
        let mut begun_again = false;
        for _ in 0..self.limits().client.pages {
            let is_first = cursor.is_none();
            let page: P = match self.next_page(cursor, &mut fetched).await {
                // The list has changed under its cursors.
                Err(ClientError::Server(error))
                    if error.code == jsonrpc::INVALID_PARAMS && !is_first && !begun_again =>
                {
                    begun_again = true;
                    items.clear();
                    fetched = Fetched::default();
                    cursor = None;
                    continue;
                }
                page => page?,
            };
            let (mut more, next) = page.split();
            items.append(&mut more);
            match next {
                Some(next) => {
                    fetched.follow(&next)?;
                    cursor = Some(next);
                }
                None => return Ok(items),
            }
        }
        Err(too_long(self.limits().client.pages, "pages"))
    }
}
