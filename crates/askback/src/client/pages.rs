//! Lists, page by page (2026-07-28, server/utilities/pagination).

use std::{collections::HashSet, ops::Deref};

use askback_core::{
    jsonrpc,
    limits::Limits,
    protocol::{
        ClientRequest, LeftOutEntry, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedParams, Prompt, Resource, ResourceTemplate,
        ResultWithEntries, ServerCapabilities, Tool,
    },
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    Client, ClientError,
    command::Command,
    received::{read, unreadable},
};

/// The entries that a server lists, and those that cannot be used. It is a `Vec` of the former.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T> {
    /// The entries.
    pub items: Vec<T>,
    /// The entries that cannot be used, each with the reason. One that only has a wrong title, hint or icon is among the
    /// [`items`](Self::items), without it. Of those, wrong hints of tools are named here, too
    /// ([`is_hint`](LeftOutEntry::is_hint)).
    pub left_out: Vec<LeftOutEntry>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

impl<T> Deref for List<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

pub(super) trait Page: ResultWithEntries {
    type Item;

    const REQUEST: fn(PaginatedParams) -> ClientRequest;

    /// The capability of a server that has such a list.
    const CAPABILITY: &'static str;

    fn is_declared(capabilities: &ServerCapabilities) -> bool;

    /// How many items are on a page, found out without making them: an item of a few bytes takes
    /// many times as much once it is read.
    fn count(raw: &RawValue) -> Result<usize, ClientError>;

    fn split(self) -> (List<Self::Item>, Option<String>);
}

macro_rules! pages {
    ($($result:ident, $item:ident, $field:ident, $request:ident, $capability:ident;)*) => {
        $(
            impl Page for $result {
                type Item = $item;

                const REQUEST: fn(PaginatedParams) -> ClientRequest = ClientRequest::$request;

                const CAPABILITY: &'static str = stringify!($capability);

                fn is_declared(capabilities: &ServerCapabilities) -> bool {
                    capabilities.$capability.is_some()
                }

                fn count(raw: &RawValue) -> Result<usize, ClientError> {
                    #[derive(Deserialize)]
                    #[serde(rename_all = "camelCase")]
                    struct PageItems {
                        $field: Option<Vec<IgnoredAny>>,
                    }
                    let counted = read::<PageItems>(raw)?.$field;
                    Ok(counted.map_or(0, |items| items.len()))
                }

                fn split(self) -> (List<Self::Item>, Option<String>) {
                    let list = List {
                        items: self.$field,
                        left_out: self.left_out,
                    };
                    (list, self.next_cursor)
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
struct PageBudget {
    bytes: usize,
    items: usize,
    cursors: HashSet<String>,
}

impl PageBudget {
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
    pub(super) async fn page<P: Page>(&self, cursor: Option<String>) -> Result<P, ClientError> {
        let mut fetched = PageBudget::default();
        self.next_page(cursor, &mut fetched).await
    }

    async fn next_page<P: Page>(
        &self,
        cursor: Option<String>,
        fetched: &mut PageBudget,
    ) -> Result<P, ClientError> {
        let request = P::REQUEST(PaginatedParams { cursor, meta: None });
        let raw = self.request(request).await?;
        fetched.take::<P>(&raw, self.limits())?;
        P::from_text(raw.get()).map_err(|error| unreadable(&error, &raw))
    }

    /// All pages of a list, as far as a client goes along with it:
    /// [`limits.client.pages`](crate::limits::ClientLimits::pages),
    /// [`limits.client.list_bytes`](crate::limits::ClientLimits::list_bytes) and
    /// [`limits.client.list_items`](crate::limits::ClientLimits::list_items) bound what is kept of
    /// it.
    ///
    /// A server that does not declare such a list is asked once all the same: some forget to.
    pub(super) async fn pages<P: Page>(&self) -> Result<List<P::Item>, ClientError> {
        let mut list = List::default();
        let is_declared = P::is_declared(&self.greeting().capabilities);
        let mut fetched = PageBudget::default();
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
                    list = List::default();
                    fetched = PageBudget::default();
                    cursor = None;
                    continue;
                }
                Err(ClientError::Server(_)) if !is_declared && is_first => return Ok(list),
                page => page?,
            };
            let (mut more, next) = page.split();
            list.items.append(&mut more.items);
            list.left_out.append(&mut more.left_out);
            match next {
                Some(next) => {
                    fetched.follow(&next)?;
                    cursor = Some(next);
                }
                None => {
                    self.tell_of(&list, P::CAPABILITY, is_declared);
                    return Ok(list);
                }
            }
        }
        Err(too_long(self.limits().client.pages, "pages"))
    }

    /// Tells the host of what is odd about a list.
    fn tell_of<T>(&self, list: &List<T>, capability: &str, is_declared: bool) {
        let note = |note: String| drop(self.inner.commands.send(Command::Note(note)));
        if !is_declared && !list.is_empty() {
            note(format!(
                "the server lists {capability}, but does not declare the capability `{capability}`: some clients will \
                 not look for them"
            ));
        }
        let most = self.limits().client.malformed_reports as usize;
        for entry in list.left_out.iter().take(most) {
            note(format!(
                "left out of the {capability} of the server: {entry}"
            ));
        }
        let more = list.left_out.len().saturating_sub(most);
        if more > 0 {
            note(format!(
                "{more} more were left out of the {capability} of the server"
            ));
        }
    }
}
