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

/// A family of resources, and the handler that reads them.
///
/// The variables of the URI template are the handler's arguments: a struct with `#[derive(Form)]`,
/// whose field types parse the values.
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
    /// Creates a resource at a URI.
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

    /// A URI is not prefixed, because other systems may know it.
    #[expect(clippy::unused_self, reason = "other kinds have names")]
    pub(super) fn prefix(&mut self, _: &str) {}

    pub(super) fn check(&self, _: &Limits) -> Result<(), BuildError> {
        check_uri(&self.description.uri, &self.description.uri)
    }
}

impl ResourceTemplate {
    /// Creates a resource template with simple variables (`{name}`), or reserved ones that also
    /// match slashes (`{+path}`), of RFC 6570.
    ///
    /// A URI matches only if no value can escape its place, also after percent-decoding: `{name}`
    /// never contains a slash or a backslash and is never `.` or `..`, and `{+path}` has no `.` or
    /// `..` segment.
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

    /// Adds a completer for a variable. It also gets the values of the other variables that the
    /// client has.
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

    /// A URI is not prefixed, because other systems may know it.
    #[expect(clippy::unused_self, reason = "other kinds have names")]
    pub(super) fn prefix(&mut self, _: &str) {}

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

    pub(super) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.template.as_ref()?.matches(uri)
    }
}

/// A function that returns a resource, as [`#[resource]`](macro@crate::resource) makes it.
impl<F: FnOnce() -> Self> From<F> for Resource {
    fn from(function: F) -> Self {
        function()
    }
}

/// A function that returns a resource template, as [`#[resource]`](macro@crate::resource) makes it.
impl<F: FnOnce() -> Self> From<F> for ResourceTemplate {
    fn from(function: F) -> Self {
        function()
    }
}

macro_rules! resource {
    ($($name:ident),*) => {$(
        described!($name.description: "Sets the description of what it holds.");

        impl $name {
            /// Sets the media type of the content.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.description.mime_type = Some(mime_type.into());
                self
            }

            /// Sets the audience and the priority.
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

/// Sets the URI and the media type of contents if the handler left them empty.
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
