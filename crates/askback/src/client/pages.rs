//! Paginated lists (2026-07-28, server/utilities/pagination).

use std::{collections::HashSet, ops::Deref};

#[cfg(feature = "skills")]
use askback_core::protocol::{ListSkillsResult, SKILLS_EXTENSION, Skill};
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

/// The entries of a server's list, and the invalid ones. Dereferences to the `Vec` of valid entries.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T> {
    /// The valid entries.
    pub items: Vec<T>,
    /// The invalid entries, with the reasons. If only the title, a hint or an icon of an entry is
    /// invalid, that part is dropped and the entry stays in [`items`](Self::items). Invalid hints
    /// of tools are also listed here ([`is_hint`](LeftOutEntry::is_hint)).
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

    const CAPABILITY: &'static str;

    fn is_declared(capabilities: &ServerCapabilities) -> bool;

    /// Counts the items on a page without parsing them, because a parsed item takes many times the memory of its text.
    fn count(raw: &RawValue) -> Result<usize, ClientError>;

    fn split(self) -> (List<Self::Item>, Option<String>);
}

macro_rules! pages {
    ($($result:ident, $item:ident, $field:ident, $request:ident, $capability:ident, |$can:ident| $declared:expr;)*) => {
        $(
            impl Page for $result {
                type Item = $item;

                const REQUEST: fn(PaginatedParams) -> ClientRequest = ClientRequest::$request;

                const CAPABILITY: &'static str = stringify!($capability);

                fn is_declared($can: &ServerCapabilities) -> bool {
                    $declared
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

#[cfg(feature = "skills")]
pages! { ListSkillsResult, Skill, skills, ListSkills, skills, |can| can.extension(SKILLS_EXTENSION).is_some(); }

pages! {
    ListToolsResult, Tool, tools, ListTools, tools, |can| can.tools.is_some();
    ListPromptsResult, Prompt, prompts, ListPrompts, prompts, |can| can.prompts.is_some();
    ListResourcesResult, Resource, resources, ListResources, resources, |can| can.resources.is_some();
    ListResourceTemplatesResult, ResourceTemplate, resource_templates, ListResourceTemplates, resources, |can| can.resources.is_some();
}

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

    /// Records the next cursor. A cursor that repeats would make the list endless.
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

    /// Fetches all pages of a list, within the limits [`limits.client.pages`](crate::limits::ClientLimits::pages),
    /// [`limits.client.list_bytes`](crate::limits::ClientLimits::list_bytes) and
    /// [`limits.client.list_items`](crate::limits::ClientLimits::list_items).
    ///
    /// If the server does not declare the list, it is still asked once, because some servers forget to declare it.
    pub(super) async fn pages<P: Page>(&self) -> Result<List<P::Item>, ClientError> {
        let mut list = List::default();
        let is_declared = P::is_declared(&self.greeting().capabilities);
        let mut fetched = PageBudget::default();
        let mut cursor = None;
        let mut begun_again = false;
        for _ in 0..self.limits().client.pages {
            let is_first = cursor.is_none();
            let page: P = match self.next_page(cursor, &mut fetched).await {
                // The list changed, so its cursors are no longer valid.
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
