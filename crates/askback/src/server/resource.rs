//! Resources: what a client may read.

use std::collections::BTreeMap;

use askback_core::{
    forms::TextFormat,
    limits::Limits,
    protocol::{self, Annotations, Outcome, ReadResourceResult, ResourceContents},
    uri_template::UriTemplate,
};

use super::{
    BuildError,
    complete::{Completer, Completers},
    described::described,
    offer::{Needs, Visibility},
};
use crate::handler::{ErasedHandler, Handler, IntoReadResult, erase};

/// A resource and its handler.
#[derive(Clone)]
pub struct Resource {
    pub(super) description: protocol::Resource,
    pub(super) handler: ErasedHandler<Outcome<ReadResourceResult>>,
    pub(super) needs: Needs,
    pub(super) visibility: Visibility,
}

/// A family of resources, and the handler that reads any of them.
///
/// The variables of the template are the handler's arguments: a struct with `#[derive(Form)]`, each
/// field read by its type.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(super) description: protocol::ResourceTemplate,
    pub(super) handler: ErasedHandler<Outcome<ReadResourceResult>>,
    pub(super) completers: Completers,
    template: Option<UriTemplate>,
    pub(super) needs: Needs,
    pub(super) visibility: Visibility,
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
            needs: Needs::default(),
            visibility: Visibility::default(),
        }
    }

    /// A URI stays as it is: others know it.
    #[expect(clippy::unused_self, reason = "other kinds have names")]
    pub(super) fn prefix(&mut self, _: &str) {}

    /// Checks what only a complete resource shows.
    pub(super) fn check(&self, _: &Limits) -> Result<(), BuildError> {
        check_uri(&self.description.uri, &self.description.uri)
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
            template: UriTemplate::parse(&description.uri_template).filter(UriTemplate::can_match),
            description,
            handler: erase(handler, IntoReadResult::into_read_result),
            completers: Completers::of(form.as_deref()),
            needs: Needs::default(),
            visibility: Visibility::default(),
        }
    }

    /// Completes a variable while it is typed, knowing what was typed for the others.
    #[must_use]
    pub fn complete<M, C: Completer<M>>(
        mut self,
        variable: impl Into<String>,
        completer: C,
    ) -> Self {
        self.completers.add(variable.into(), completer);
        self
    }

    pub(super) fn has_variable(&self, name: &str) -> bool {
        self.template
            .iter()
            .flat_map(UriTemplate::variables)
            .any(|variable| variable == name)
    }

    /// A URI stays as it is: others know it.
    #[expect(clippy::unused_self, reason = "other kinds have names")]
    pub(super) fn prefix(&mut self, _: &str) {}

    /// Checks what only a complete template shows.
    pub(super) fn check(&self, _: &Limits) -> Result<(), BuildError> {
        let Some(template) = &self.template else {
            return Err(BuildError::Template(self.description.uri_template.clone()));
        };
        check_uri(&self.description.uri_template, &template.example())?;
        if let Some(form) = &self.handler.parameters().form {
            let mut fields = form.fields.iter().map(|field| &field.name);
            if let Some(field) = fields.find(|name| !self.has_variable(name)) {
                return Err(BuildError::Variable {
                    template: self.description.uri_template.clone(),
                    variable: field.clone(),
                });
            }
        }
        let known = |variable: &str| self.has_variable(variable);
        self.completers.check(&self.description.name, known)
    }

    /// Returns the values of the variables in a URI that fits.
    pub(super) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.template.as_ref()?.matches(uri)
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

macro_rules! resource {
    ($($name:ident),*) => {$(
        described!($name.description: "Sets the description of what it holds.");

        impl $name {
            /// Sets the media type of what it holds.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.description.mime_type = Some(mime_type.into());
                self
            }

            /// Sets for whom it is, and how important.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.description.annotations = Some(annotations);
                self
            }
        }
    )*};
}

resource!(Resource, ResourceTemplate);

fn check_uri(address: &str, example: &str) -> Result<(), BuildError> {
    if TextFormat::Uri.matches(example) {
        return Ok(());
    }
    Err(BuildError::Uri(address.to_owned()))
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
