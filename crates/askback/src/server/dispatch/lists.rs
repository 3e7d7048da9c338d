//! Requests for lists.

use std::borrow::Cow;
#[cfg(feature = "skills")]
use std::{collections::BTreeMap, sync::Arc};

use askback_core::{
    jsonrpc,
    protocol::{Outcome, PaginatedParams},
};
#[cfg(feature = "skills")]
use askback_core::{
    protocol::{
        self, GetSkillResult, ListSkillsResult, ReadResourceDirectoryParams,
        ReadResourceDirectoryResult, Skill,
    },
    quote::QuotedName,
};

#[cfg(feature = "skills")]
use percent_encoding::percent_decode_str;

use super::CallContext;
#[cfg(feature = "skills")]
use crate::{clock::millis, error::Error};
use crate::{
    error::Result,
    server::{
        Resource,
        catalog::Catalog,
        offer::Offer,
        page,
        page_cache::{Message, Place},
    },
};

impl CallContext {
    pub(super) fn list<T: Offer>(
        &self,
        id: &jsonrpc::RequestId,
        method: &str,
        params: &PaginatedParams,
    ) -> Result<Message> {
        self.offers::<T>(method)?;
        let catalog = self.shared.catalog.snapshot();
        self.page_of_catalog::<T>(id, &catalog, params)
    }

    pub(super) async fn list_resources(
        &self,
        id: &jsonrpc::RequestId,
        method: &str,
        params: &PaginatedParams,
    ) -> Result<Message> {
        self.offers::<Resource>(method)?;
        let catalog = self.shared.catalog.snapshot();
        if catalog.listers.is_empty() {
            return self.page_of_catalog::<Resource>(id, &catalog, params);
        }
        let mut all = self.listed::<Resource>(&catalog);
        for lister in &catalog.listers {
            let more = lister(self.origin.principal.clone()).await?;
            all.extend(more.into_iter().map(Cow::Owned));
        }
        self.page::<Resource>(id, all, params).map(Message::from)
    }

    /// The page of a list at its cursor. If the list is the same for all callers, the page is
    /// cached.
    fn page_of_catalog<T: Offer>(
        &self,
        id: &jsonrpc::RequestId,
        catalog: &Catalog,
        params: &PaginatedParams,
    ) -> Result<Message> {
        if T::registry(catalog).differs() {
            let page = self.page::<T>(id, self.listed::<T>(catalog), params);
            return page.map(Message::from);
        }
        let start = match &params.cursor {
            Some(cursor) => {
                page::start(&self.listed::<T>(catalog), |item| T::name_of(item), cursor)?
            }
            None => 0,
        };
        let place = Place {
            kind: T::KIND,
            revision: self.origin.revision,
            start,
        };
        if let Some(page) = catalog.written.get(&place) {
            self.trace.note(&Outcome::Done(()));
            return Ok(Message::of_page(page, id));
        }
        let page = self.page::<T>(id, self.listed::<T>(catalog), params)?;
        let most = self.shared.limits().server.list_bytes;
        catalog.written.keep(place, &page, id, most);
        Ok(page.into())
    }

    fn listed<'a, T: Offer>(&self, catalog: &'a Catalog) -> Vec<Cow<'a, T::Description>> {
        let items = T::registry(catalog).list(self.caller());
        items
            .map(|entry| Cow::Borrowed(entry.item.description()))
            .collect()
    }

    fn page<T: Offer>(
        &self,
        id: &jsonrpc::RequestId,
        all: Vec<Cow<'_, T::Description>>,
        params: &PaginatedParams,
    ) -> Result<Vec<u8>> {
        let cursor = params.cursor.as_deref();
        let pages = self.shared.pages;
        let (page, next_cursor) = pages.page(&all, |item| T::name_of(item), cursor)?;
        let list = T::list(page, next_cursor, self.shared.cache);
        Ok(self.write_whole(id, Outcome::Done(list)))
    }

    fn offers<T: Offer>(&self, method: &str) -> Result<()> {
        self.declared(T::is_declared(&self.shared.profile.capabilities), method)
    }
}

#[cfg(feature = "skills")]
impl CallContext {
    pub(super) fn list_skills(
        &self,
        id: &jsonrpc::RequestId,
        method: &str,
        params: &PaginatedParams,
    ) -> Result<Message> {
        let catalog = self.skills(method)?;
        let visible = self.visible_skills(&catalog).collect::<Vec<_>>();
        let cursor = params.cursor.as_deref();
        let (page, next_cursor) = self
            .shared
            .pages
            .page(&visible, |skill| &skill.uri, cursor)?;
        Ok(self.write(
            id,
            Outcome::Done(ListSkillsResult {
                skills: page.iter().copied().cloned().collect(),
                next_cursor,
                ttl_ms: i64::try_from(millis(self.shared.cache.ttl)).ok(),
                cache_scope: Some(self.shared.cache.scope),
                left_out: Vec::new(),
                meta: None,
            }),
        ))
    }

    pub(super) fn get_skill(
        &self,
        id: &jsonrpc::RequestId,
        method: &str,
        uri: &str,
    ) -> Result<Message> {
        let catalog = self.skills(method)?;
        let skill = self.visible_skills(&catalog).find(|skill| skill.uri == uri);
        let skill = skill.ok_or_else(|| {
            Error::invalid_params(format!("there is no skill at {}", QuotedName(uri)))
        })?;
        Ok(self.write(
            id,
            Outcome::Done(GetSkillResult {
                skill: skill.clone(),
                ttl_ms: i64::try_from(millis(self.shared.cache.ttl)).ok(),
                cache_scope: Some(self.shared.cache.scope),
                meta: None,
            }),
        ))
    }

    /// Lists the files and folders directly in a folder of skills (SEP-2640, Reading Directories).
    pub(super) fn read_directory(
        &self,
        id: &jsonrpc::RequestId,
        method: &str,
        params: &ReadResourceDirectoryParams,
    ) -> Result<Message> {
        let catalog = self.skills(method)?;
        let missing = || {
            let uri = QuotedName(&params.uri);
            Error::invalid_params(format!("there is no folder of a skill at {uri}"))
        };
        // `skill:` and `skill:/` are no folders, although all files are below them.
        if !params.uri.starts_with("skill://") {
            return Err(missing());
        }
        let inside = format!("{}/", params.uri);
        let skills = self.visible_skills(&catalog);
        let files = skills.flat_map(|skill| skill.resources.iter().flatten());
        let mut children = BTreeMap::new();
        for file in files {
            let Some(path) = file.uri.strip_prefix(&inside) else {
                continue;
            };
            let child = match path.split_once('/') {
                Some((name, _)) => Some(folder(&inside, name)),
                None => {
                    let file = catalog.resources.find(&file.uri, self.caller());
                    file.map(|file| file.item.description.clone())
                }
            };
            children.extend(child.map(|child| (child.uri.clone(), child)));
        }
        if children.is_empty() {
            return Err(missing());
        }
        let children = children.into_values().collect::<Vec<_>>();
        let cursor = params.cursor.as_deref();
        let (page, next_cursor) = self
            .shared
            .pages
            .page(&children, |child| &child.uri, cursor)?;
        Ok(self.write(
            id,
            Outcome::Done(ReadResourceDirectoryResult {
                resources: page.to_vec(),
                next_cursor,
                meta: None,
            }),
        ))
    }

    fn skills(&self, method: &str) -> Result<Arc<Catalog>> {
        let catalog = self.shared.catalog.snapshot();
        self.declared(!catalog.skills.is_empty(), method)?;
        Ok(catalog)
    }

    fn visible_skills<'a>(&'a self, catalog: &'a Catalog) -> impl Iterator<Item = &'a Skill> {
        let skills = catalog.skills.iter();
        let visible = skills.filter(|skill| skill.visibility.is_for(self.caller()));
        visible.map(|skill| &skill.description)
    }
}

/// Describes a folder in another, whose URI ends in a slash.
#[cfg(feature = "skills")]
fn folder(parent: &str, name: &str) -> protocol::Resource {
    let decoded = percent_decode_str(name).decode_utf8_lossy();
    protocol::Resource {
        mime_type: Some("inode/directory".to_owned()),
        ..protocol::Resource::new(format!("{parent}{name}"), decoded)
    }
}
