//! Resources: data that clients can read.

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
        /// The URI.
        uri: String;
        /// The name for programs.
        name: String;
        /// The display name (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The description, for users or models.
        description?: String = "lenient::scalar";
        /// The media type.
        mime_type?: String = "lenient::scalar";
        /// The size in bytes, before any encoding.
        size?: u64 = "lenient::scalar";
        /// Icons for display (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        /// Hints for the client.
        annotations?: Annotations = "lenient::object";
        meta = "meta::lenient";
    }

    /// A template for the URIs of resources.
    #[derive(Default, Deserialize)]
    struct ResourceTemplate {
        /// The URI template (RFC 6570).
        uri_template: String;
        /// The name for programs.
        name: String;
        /// The display name (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The description, for users or models.
        description?: String = "lenient::scalar";
        /// The media type, if all its resources have the same.
        mime_type?: String = "lenient::scalar";
        /// Icons for display (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        /// Hints for the client.
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
        /// The URI of the resource.
        uri: String;
        /// The answers to the questions of the previous round (from 2026-07-28 on).
        input_responses?: InputResponses;
        /// The state from the previous round (from 2026-07-28 on).
        request_state?: String;
        meta;
    }

    /// The result of `resources/read`.
    #[derive(Default)]
    struct ReadResourceResult {
        /// The contents: one entry, or several for a composite resource.
        contents: Vec<ResourceContents>;
        /// How long it may be cached, in milliseconds (from 2026-07-28 on).
        ttl_ms?: i64;
        /// The caches that may store it (from 2026-07-28 on).
        cache_scope?: CacheScope;
        /// The invalid contents.
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
    /// Makes a resource with only a URI and a name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns the name to display.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl ReadResourceResult {
    /// Returns the text of all contents, one per line. Binary contents are left out.
    pub fn text(&self) -> String {
        joined(self.contents.iter().filter_map(ResourceContents::as_text))
    }
}

impl ResourceTemplate {
    /// Makes a template with only a URI template and a name.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns the name to display.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}
