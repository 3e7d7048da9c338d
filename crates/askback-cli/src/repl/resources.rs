//! Reads resources and shows their changes. A resource's URI may hold a secret as the value of a template variable.

use std::{collections::BTreeMap, future::poll_fn, task::Poll};

use askback::{
    client::{ClientError, Subscription},
    internal::uri_template::UriTemplate,
    protocol::SubscriptionFilter,
};
use askback_host::{model::Presence, page::Style};

use super::{Repl, attend, calls::Call};
use crate::{
    error::{Error, Kind},
    missing, secret,
    session::{Session, failed},
};

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Resource {
    pub(super) uri: String,
    /// Variables in the URI that look like secrets.
    pub(super) secrets: BTreeMap<String, String>,
    template: Option<String>,
}

impl Resource {
    /// A resource from a template and the values of its variables.
    fn filled(template: &str, uri: String, mut values: BTreeMap<String, String>) -> Self {
        values.retain(|name, value| secret::is_name(name) || secret::is_in(value, secret::is_name));
        Self {
            uri,
            template: (!values.is_empty()).then(|| template.to_owned()),
            secrets: values,
        }
    }

    /// A resource whose URI the user typed, on a server with these templates.
    fn written<'a>(uri: String, mut templates: impl Iterator<Item = &'a str>) -> Self {
        let resource = templates.find_map(|template| {
            let values = UriTemplate::parse(template)?.matches(&uri)?;
            let resource = Self::filled(template, uri.clone(), values);
            resource.template.is_some().then_some(resource)
        });
        resource.unwrap_or_else(|| Self {
            uri,
            ..Self::default()
        })
    }

    /// The URI, or the template if the URI holds a secret.
    pub(super) fn shown(&self) -> &str {
        self.template.as_deref().unwrap_or(&self.uri)
    }
}

impl Repl<'_> {
    pub(super) async fn read_resource(&mut self, written: String) -> Result<(), Error> {
        let Session { client, host, .. } = &mut *self.session;
        let Some((uri, values)) = missing::for_uri(client, host, &written).await else {
            return Ok(());
        };
        let resource = match uri == written {
            true => self.written(uri).await?,
            false => Resource::filled(&written, uri, values),
        };
        let made = self.make(Call::Read(resource), false).await;
        made.map_err(|error| self.switching(error, &written))
    }

    async fn written(&mut self, uri: String) -> Result<Resource, Error> {
        let Session { client, host, .. } = &mut *self.session;
        let is_kept = host.is_person() || self.recorder.is_some();
        let templates = match host.server().catalog() {
            Some(lists) => lists.templates.clone(),
            None if is_kept && client.capabilities().resources.is_some() => {
                // Without templates, fewer secrets are recognized.
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

pub(super) struct Silent {
    /// The resource, or `None` for the lists.
    uri: Option<String>,
    /// Why it ended, if the server did not end it.
    ended: Result<(), ClientError>,
}

/// Waits until one of these subscriptions ends. Do not wait for that one again.
pub(super) async fn silent(
    changes: &mut Option<Subscription>,
    watched: &mut BTreeMap<String, Subscription>,
) -> Silent {
    async fn ended(uri: Option<&String>, subscription: &mut Subscription) -> Silent {
        let ended = subscription.ended().await;
        let uri = uri.cloned();
        Silent { uri, ended }
    }
    let lists = changes.iter_mut().map(|lists| (None, lists));
    let resources = watched.iter_mut().map(|(uri, it)| (Some(uri), it));
    let all = lists.chain(resources);
    let mut all: Vec<_> = all.map(|(uri, it)| Box::pin(ended(uri, it))).collect();
    poll_fn(|context| {
        let mut ended = all.iter_mut().map(|ended| ended.as_mut().poll(context));
        ended.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}

impl Repl<'_> {
    pub(super) async fn subscribe(&mut self, uri: String) -> Result<(), Error> {
        let can = self.session.client.capabilities().resources;
        if can.and_then(|resources| resources.subscribe) != Some(true) {
            return Err(Error::usage(
                "the server does not report changes of resources",
            ));
        }
        let Session { client, host, .. } = &mut *self.session;
        let filter = SubscriptionFilter {
            resource_subscriptions: Some(vec![uri.clone()]),
            ..SubscriptionFilter::default()
        };
        let subscription = attend(host, client.listen(filter)).await?;
        host.page().quote_line("Changes are reported of ", &uri);
        self.known.watched.insert(uri, subscription);
        self.is_offered = false;
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, uri: Option<&str>) -> Result<(), Error> {
        match uri {
            None => self.known.watched.clear(),
            Some(uri) if self.known.watched.remove(uri).is_some() => {}
            Some(uri) => {
                let error = Error::usage("there is no subscription to this resource:");
                return Err(error.quoting(uri));
            }
        }
        self.is_offered = false;
        self.page().say(
            Style::Plain,
            match uri {
                Some(_) => "Its changes are no longer reported.",
                None => "Changes of resources are no longer reported.",
            },
        );
        Ok(())
    }

    /// Reports that the server no longer sends changes. If the server is gone, that was reported already.
    pub(super) fn fell_silent(&mut self, silent: Silent) {
        match &silent.uri {
            Some(uri) => drop(self.known.watched.remove(uri)),
            None => self.known.changes = None,
        }
        self.is_offered = false;
        if self.session.host.server().presence() == Presence::Down {
            return;
        }
        let error = match silent.ended {
            Ok(()) => Error::new(Kind::Connection, "the server ended a subscription"),
            Err(error) => failed(error),
        };
        let page = self.page();
        error.put_below(page);
        match silent.uri {
            Some(uri) => {
                page.quote_line("Changes are no longer reported of ", uri);
                page.note(Style::Dim, "/subscribe asks for them again.");
            }
            None => {
                let words = "Changes of its lists are no longer reported; /restart connects again.";
                page.note(Style::Dim, words);
            }
        }
    }

    pub(super) async fn subscribe_again(&mut self) -> Result<(), Error> {
        for uri in std::mem::take(&mut self.known.watched).into_keys() {
            self.subscribe(uri).await?;
        }
        Ok(())
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
