//! Resources: what a client may read.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use askback_core::{
    ask::Principal,
    protocol::{self, Annotations, Icon, Outcome, ReadResourceResult, ResourceContents},
    uri_template::UriTemplate,
};

#[cfg(feature = "oauth-server")]
use super::needs::Needs;
use super::{
    BuildError,
    complete::{Completers, Completing},
    registry::Registry,
};
use crate::{
    error::Result,
    flow::BoxFuture,
    handler::{Erased, Handler, IntoReadResult, erase},
};

/// A resource and its handler.
#[derive(Clone)]
pub struct Resource {
    pub(super) description: protocol::Resource,
    pub(super) handler: Erased<Outcome<ReadResourceResult>>,
    #[cfg(feature = "oauth-server")]
    pub(super) needs: Needs,
}

/// A family of resources, and the handler that reads any of them.
///
/// The variables of the template are the handler's arguments: a struct with `#[derive(Form)]`, each
/// field read by its type.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(super) description: protocol::ResourceTemplate,
    pub(super) handler: Erased<Outcome<ReadResourceResult>>,
    pub(super) completers: Completers,
    template: Option<UriTemplate>,
    #[cfg(feature = "oauth-server")]
    pub(super) needs: Needs,
}

/// Lists resources that come and go, for whoever asks.
pub(super) type Lister = Arc<
    dyn Fn(Option<Arc<Principal>>) -> BoxFuture<'static, Result<Vec<protocol::Resource>>>
        + Send
        + Sync,
>;

/// Everything a server has to read.
#[derive(Default)]
pub(super) struct Resources {
    pub(super) fixed: Registry<Resource>,
    pub(super) templates: Registry<ResourceTemplate>,
    pub(super) listers: Vec<Lister>,
    /// Whether one of them lists to each who asks their own.
    pub(super) of_each: bool,
}

/// How a URI is read.
pub(super) struct Reading {
    pub(super) handler: Erased<Outcome<ReadResourceResult>>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) mime_type: Option<String>,
    /// Whether it is not for everybody.
    pub(super) scoped: bool,
}

impl Resource {
    /// A resource at a URI.
    pub fn new<M, H>(uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: IntoReadResult,
    {
        Self {
            description: protocol::Resource::new(uri, name),
            handler: erase(handler, IntoReadResult::into_read_result),
            #[cfg(feature = "oauth-server")]
            needs: Needs::default(),
        }
    }
}

impl ResourceTemplate {
    /// A family of resources: a URI template with simple variables (`{name}`), or reserved ones
    /// that take slashes too (`{+path}`), of RFC 6570.
    ///
    /// A URI fits only if no value leads out of its place, whatever is encoded in it: `{name}` never
    /// gives a slash, a backslash, `.` or `..`, and `{+path}` no segment of dots.
    pub fn new<M, H>(template: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: IntoReadResult,
    {
        let form = H::parameters().form;
        let description = protocol::ResourceTemplate::new(template, name);
        Self {
            template: UriTemplate::parse(&description.uri_template),
            description,
            handler: erase(handler, IntoReadResult::into_read_result),
            completers: Completers::of(form.as_ref()),
            #[cfg(feature = "oauth-server")]
            needs: Needs::default(),
        }
    }

    /// Completes a variable while it is typed, knowing what was typed for the others.
    #[must_use]
    pub fn complete<F, Fut>(mut self, variable: impl Into<String>, completer: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>>> + Send + 'static,
    {
        self.completers.add(variable.into(), completer);
        self
    }

    pub(super) fn has_variable(&self, name: &str) -> bool {
        self.template
            .iter()
            .flat_map(UriTemplate::variables)
            .any(|variable| variable == name)
    }

    /// Checks what only a complete template shows.
    pub(super) fn check(&self) -> Result<(), BuildError> {
        if self.template.is_none() {
            return Err(BuildError::Template(self.description.uri_template.clone()));
        }
        match self
            .completers
            .arguments()
            .find(|argument| !self.has_variable(argument))
        {
            Some(argument) => Err(BuildError::Completer {
                name: self.description.name.clone(),
                argument: argument.to_owned(),
            }),
            None => Ok(()),
        }
    }
}

/// A function that gives a resource, such as [`#[resource]`](macro@crate::resource) makes one.
impl<F: FnOnce() -> Self> From<F> for Resource {
    fn from(function: F) -> Self {
        function()
    }
}

/// A function that gives a family of resources, such as [`#[resource]`](macro@crate::resource) makes one.
impl<F: FnOnce() -> Self> From<F> for ResourceTemplate {
    fn from(function: F) -> Self {
        function()
    }
}

macro_rules! described {
    ($($name:ident),*) => {$(
        impl $name {
            /// What it is called for people.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.description.title = Some(title.into());
                self
            }

            /// What it holds.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.description.description = Some(description.into());
                self
            }

            /// The media type of what it holds.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.description.mime_type = Some(mime_type.into());
                self
            }

            /// For whom it is, and how important.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.description.annotations = Some(annotations);
                self
            }

            /// A picture.
            #[must_use]
            pub fn icon(mut self, icon: Icon) -> Self {
                self.description.icons.get_or_insert_default().push(icon);
                self
            }
        }
    )*};
}

described!(Resource, ResourceTemplate);

impl Resources {
    pub(super) fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.templates.is_empty() && self.listers.is_empty()
    }

    /// How this URI is read: a resource of its own first, else the first template it fits.
    pub(super) fn find(&self, uri: &str) -> Option<Reading> {
        if let Some(resource) = self.fixed.get(uri) {
            return Some(Reading {
                handler: resource.handler.clone(),
                variables: BTreeMap::new(),
                mime_type: resource.description.mime_type.clone(),
                #[cfg(feature = "oauth-server")]
                scoped: resource.needs.are_some(),
                #[cfg(not(feature = "oauth-server"))]
                scoped: false,
            });
        }
        self.templates.items().iter().find_map(|template| {
            let variables = template.template.as_ref()?.matches(uri)?;
            Some(Reading {
                handler: template.handler.clone(),
                variables,
                mime_type: template.description.mime_type.clone(),
                #[cfg(feature = "oauth-server")]
                scoped: template.needs.are_some(),
                #[cfg(not(feature = "oauth-server"))]
                scoped: false,
            })
        })
    }

    /// What the resource that would be read needs: the same one as [`Resources::find`] finds.
    #[cfg(feature = "oauth-server")]
    pub(super) fn needs(&self, uri: &str) -> Option<&Needs> {
        if let Some(resource) = self.fixed.get(uri) {
            return Some(&resource.needs);
        }
        let mut templates = self.templates.items().iter();
        let template = templates.find(|template| {
            let template = template.template.as_ref();
            template.is_some_and(|template| template.matches(uri).is_some())
        })?;
        Some(&template.needs)
    }

    /// All that can be listed for somebody: first what is always there.
    pub(super) async fn list(
        &self,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Vec<protocol::Resource>> {
        let fixed = self.fixed.items().iter();
        let mut all: Vec<_> = fixed.map(|resource| resource.description.clone()).collect();
        for lister in &self.listers {
            all.extend(lister(principal.cloned()).await?);
        }
        Ok(all)
    }
}

/// Fills in what a handler left empty: the URI that was read, and the media type of its resource.
pub(super) fn complete_contents(contents: &mut [ResourceContents], uri: &str, mime: Option<&str>) {
    for content in contents {
        let (its_uri, its_mime) = match content {
            ResourceContents::Text(text) => (&mut text.uri, &mut text.mime_type),
            ResourceContents::Blob(blob) => (&mut blob.uri, &mut blob.mime_type),
        };
        if its_uri.is_empty() {
            uri.clone_into(its_uri);
        }
        if its_mime.is_none() {
            *its_mime = mime.map(str::to_owned);
        }
    }
}
