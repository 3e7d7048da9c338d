//! Resources that are read. The URI of one may hold a secret, in the place of a variable of its template.

use std::collections::BTreeMap;

use askback_core::uri_template::UriTemplate;

use super::Repl;
use crate::{error::Error, missing, secret, session::Session};

/// A resource that is read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Resource {
    /// Its URI.
    pub(super) uri: String,
    /// The variables in the URI that seem to be secrets.
    pub(super) secrets: BTreeMap<String, String>,
    /// The template of the URI, where there are any.
    template: Option<String>,
}

impl Resource {
    /// One whose URI holds no secret.
    pub(super) fn plain(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            ..Self::default()
        }
    }

    /// The one with these values in the place of the variables of its template.
    fn filled(template: &str, uri: String, mut values: BTreeMap<String, String>) -> Self {
        values.retain(|name, value| secret::is_name(name) || secret::is_in(value, secret::is_name));
        Self {
            uri,
            template: (!values.is_empty()).then(|| template.to_owned()),
            secrets: values,
        }
    }

    /// One whose URI was written by the person, of a server with these templates.
    fn written<'a>(uri: String, mut templates: impl Iterator<Item = &'a str>) -> Self {
        let resource = templates.find_map(|template| {
            let values = UriTemplate::parse(template)?.matches(&uri)?;
            let resource = Self::filled(template, uri.clone(), values);
            resource.template.is_some().then_some(resource)
        });
        resource.unwrap_or_else(|| Self::plain(uri))
    }

    /// Its URI, or the template where that holds a secret.
    pub(super) fn shown(&self) -> &str {
        self.template.as_deref().unwrap_or(&self.uri)
    }
}

impl Repl<'_> {
    /// The resource of a URI, or of a template that the person fills in; none if they cancel.
    pub(super) async fn resource(&mut self, written: &str) -> Result<Option<Resource>, Error> {
        let Session { client, host, .. } = &mut *self.session;
        let Some((uri, values)) = missing::for_uri(client, host, written).await else {
            return Ok(None);
        };
        if uri != written {
            return Ok(Some(Resource::filled(written, uri, values)));
        }
        Ok(Some(self.written(uri).await?))
    }

    /// Whether a URI that the person wrote holds a secret.
    pub(super) async fn has_secret(&mut self, uri: &str) -> Result<bool, Error> {
        let resource = self.written(uri.to_owned()).await?;
        Ok(!resource.secrets.is_empty())
    }

    /// The resource of a URI that the person wrote.
    async fn written(&mut self, uri: String) -> Result<Resource, Error> {
        let Session { client, host, .. } = &mut *self.session;
        let is_kept = host.is_person() || self.recorder.is_some();
        let templates = match host.server().catalog() {
            Some(lists) => lists.templates.clone(),
            None if is_kept && client.capabilities().resources.is_some() => {
                // Without them there is only less that is known to be a secret.
                host.attend(client.resource_templates())
                    .await?
                    .unwrap_or_default()
                    .items
            }
            None => Vec::new(),
        };
        let templates = templates.iter().map(|one| one.uri_template.as_str());
        Ok(Resource::written(uri, templates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_a_uri_is_found_by_its_variable() {
        #[track_caller]
        fn check(uri: &str, shown: &str, secrets: &[(&str, &str)]) {
            let templates = [
                "a://{user}/{password}",
                "a://{+path}",
                "no {template",
                "b://{key}",
            ];
            let resource = Resource::written(uri.to_owned(), templates.into_iter());
            assert_eq!(resource.uri, uri);
            assert_eq!(resource.shown(), shown);
            let found = resource.secrets.iter();
            let found: Vec<_> = found.map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(found, secrets);
        }
        let hush = [("password", "hu sh")];
        check("a://ada/hu%20sh", "a://{user}/{password}", &hush);
        check("a://ada/x/y", "a://ada/x/y", &[]);
        check("a://ghp_x", "a://{+path}", &[("path", "ghp_x")]);
        check("b://x", "b://x", &[]);
        check("c://x", "c://x", &[]);
    }
}
