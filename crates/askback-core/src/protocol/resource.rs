//! Resources: what a server lets be read.

use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{
    Annotations, CacheScope, Icon, InputResponses, LeftOutEntry, Meta, ResourceContents,
    content::joined,
    lenient::{self, Entries},
    meta::{self, has_meta},
};

/// A resource.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Where it is.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people (from 2025-06-18 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub title: Option<String>,
    /// The description, for a person or a model.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub description: Option<String>,
    /// Its media type.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub mime_type: Option<String>,
    /// Its size in bytes, before any encoding.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub size: Option<u64>,
    /// Pictures for it (from 2025-11-25 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::list"
    )]
    pub icons: Option<Vec<Icon>>,
    /// For whom it is meant.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::object"
    )]
    pub annotations: Option<Annotations>,
    /// The `_meta`.
    #[serde(
        default,
        rename = "_meta",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "meta::lenient"
    )]
    pub meta: Option<Box<Meta>>,
}

/// A family of resources.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// Where they are: a URI template (RFC 6570).
    pub uri_template: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people (from 2025-06-18 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub title: Option<String>,
    /// The description, for a person or a model.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub description: Option<String>,
    /// Their media type, where all have the same.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub mime_type: Option<String>,
    /// Pictures for them (from 2025-11-25 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::list"
    )]
    pub icons: Option<Vec<Icon>>,
    /// For whom they are meant.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::object"
    )]
    pub annotations: Option<Annotations>,
    /// The `_meta`.
    #[serde(
        default,
        rename = "_meta",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "meta::lenient"
    )]
    pub meta: Option<Box<Meta>>,
}

/// The result of `resources/list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResourcesResult {
    /// The resources of this page.
    pub resources: Vec<Resource>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// For how long the list may be kept, in milliseconds (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// The caches that may keep it (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
    /// The entries that cannot be used, and why.
    #[serde(skip)]
    pub left_out: Vec<LeftOutEntry>,
}

lenient::page!(ListResourcesResult, ResourcesPage, resources: Resource, "resource");

/// The result of `resources/templates/list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResourceTemplatesResult {
    /// The templates of this page.
    pub resource_templates: Vec<ResourceTemplate>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// For how long the list may be kept, in milliseconds (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// The caches that may keep it (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
    /// The entries that cannot be used, and why.
    #[serde(skip)]
    pub left_out: Vec<LeftOutEntry>,
}

lenient::page!(ListResourceTemplatesResult, TemplatesPage, resource_templates: ResourceTemplate, "template");

/// The parameters of `resources/read`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceParams {
    /// Where the resource is.
    pub uri: String,
    /// Answers to the questions of the round before (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state of the round before (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The result of `resources/read`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceResult {
    /// The contents: one entry, or several for a resource made of others.
    pub contents: Vec<ResourceContents>,
    /// For how long it may be kept, in milliseconds (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// The caches that may keep it (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
    /// The contents that cannot be used, and why.
    #[serde(skip)]
    pub left_out: Vec<LeftOutEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reading<L> {
    contents: L,
    #[serde(default, deserialize_with = "lenient::scalar")]
    ttl_ms: Option<i64>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    cache_scope: Option<CacheScope>,
    #[serde(default, rename = "_meta", deserialize_with = "meta::lenient")]
    meta: Option<Box<Meta>>,
}

impl<L: Into<Entries<ResourceContents>>> From<Reading<L>> for ReadResourceResult {
    fn from(reading: Reading<L>) -> Self {
        let contents = reading.contents.into();
        Self {
            contents: contents.items,
            ttl_ms: reading.ttl_ms,
            cache_scope: reading.cache_scope,
            meta: reading.meta,
            left_out: contents.left_out,
        }
    }
}

lenient::with_entries!(ReadResourceResult, Reading<_>, ResourceContents, "content");

has_meta! {
    Resource, ResourceTemplate, ListResourcesResult, ListResourceTemplatesResult,
    ReadResourceParams, ReadResourceResult,
}

impl Resource {
    /// A resource of which only what is needed is said.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// The name a person should read.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl ReadResourceResult {
    /// Returns the text of all contents, one a line. Contents that are bytes are left out.
    pub fn text(&self) -> String {
        joined(self.contents.iter().filter_map(ResourceContents::as_text))
    }
}

impl ResourceTemplate {
    /// A template of which only what is needed is said.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// The name a person should read.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}
