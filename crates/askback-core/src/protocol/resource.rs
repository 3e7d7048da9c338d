//! Resources: what a server lets be read.

use alloc::{boxed::Box, string::String, vec::Vec};

use serde::Deserialize;

use super::{
    Annotations, CacheScope, Icon, InputResponses, LeftOutEntry, Meta, ResourceContents,
    content::joined,
    lenient::{self, Entries},
    messages::messages,
    meta,
};

messages! {
    /// A resource.
    #[derive(Default, Deserialize)]
    struct Resource {
        /// Where it is.
        uri: String;
        /// Its name for programs.
        name: String;
        /// Its name for people (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The description, for a person or a model.
        description?: String = "lenient::scalar";
        /// Its media type.
        mime_type?: String = "lenient::scalar";
        /// Its size in bytes, before any encoding.
        size?: u64 = "lenient::scalar";
        /// Pictures for it (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        /// For whom it is meant.
        annotations?: Annotations = "lenient::object";
        meta = "meta::lenient";
    }

    /// A family of resources.
    #[derive(Default, Deserialize)]
    struct ResourceTemplate {
        /// Where they are: a URI template (RFC 6570).
        uri_template: String;
        /// Its name for programs.
        name: String;
        /// Its name for people (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The description, for a person or a model.
        description?: String = "lenient::scalar";
        /// Their media type, where all have the same.
        mime_type?: String = "lenient::scalar";
        /// Pictures for them (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        /// For whom they are meant.
        annotations?: Annotations = "lenient::object";
        meta = "meta::lenient";
    }
}

lenient::page! {
    /// The result of `resources/list`.
    ListResourcesResult as ResourcesPage;
    /// The resources of this page.
    resources: Resource, "resource";
}

lenient::page! {
    /// The result of `resources/templates/list`.
    ListResourceTemplatesResult as TemplatesPage;
    /// The templates of this page.
    resource_templates: ResourceTemplate, "template";
}

messages! {
    /// The parameters of `resources/read`.
    #[derive(Default, Deserialize)]
    struct ReadResourceParams {
        /// Where the resource is.
        uri: String;
        /// Answers to the questions of the round before (from 2026-07-28 on).
        input_responses?: InputResponses;
        /// The state of the round before (from 2026-07-28 on).
        request_state?: String;
        meta;
    }

    /// The result of `resources/read`.
    #[derive(Default)]
    struct ReadResourceResult {
        /// The contents: one entry, or several for a resource made of others.
        contents: Vec<ResourceContents>;
        /// For how long it may be kept, in milliseconds (from 2026-07-28 on).
        ttl_ms?: i64;
        /// The caches that may keep it (from 2026-07-28 on).
        cache_scope?: CacheScope;
        /// The contents that cannot be used, and why.
        #[serde(skip)]
        left_out: Vec<LeftOutEntry>;
        meta;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceMembers<L> {
    contents: L,
    #[serde(default, deserialize_with = "lenient::scalar")]
    ttl_ms: Option<i64>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    cache_scope: Option<CacheScope>,
    #[serde(default, rename = "_meta", deserialize_with = "meta::lenient")]
    meta: Option<Box<Meta>>,
}

impl<L: Into<Entries<ResourceContents>>> From<ResourceMembers<L>> for ReadResourceResult {
    fn from(reading: ResourceMembers<L>) -> Self {
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

lenient::with_entries!(
    ReadResourceResult,
    ResourceMembers<_>,
    ResourceContents,
    "content"
);

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
