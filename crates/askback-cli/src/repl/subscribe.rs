//! Resources whose changes a conversation tells of.

use std::{collections::BTreeMap, future::poll_fn, task::Poll};

use askback::client::{ClientError, Subscription};
use askback_core::protocol::SubscriptionFilter;
use askback_host::{model::Presence, page::Style};

use super::{Repl, attend};
use crate::{
    error::{Error, Kind},
    session::{Session, failed},
};

/// The end of a subscription.
pub(super) struct Silent {
    /// The resource; without one, the lists.
    uri: Option<String>,
    /// Why it ended, where that was not the server's wish.
    ended: Result<(), ClientError>,
}

/// Waits until one of these subscriptions has ended. It is not to be waited for again.
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
    /// Has the server tell of changes of a resource.
    pub(super) async fn subscribe(&mut self, uri: String) -> Result<(), Error> {
        let can = self.session.client.capabilities().resources;
        if can.and_then(|resources| resources.subscribe) != Some(true) {
            return Err(Error::usage(
                "the server does not tell of changes of resources",
            ));
        }
        let has_secret = self.has_secret(&uri).await?;
        self.keep_typed(!has_secret);
        let Session { client, host, .. } = &mut *self.session;
        let filter = SubscriptionFilter {
            resource_subscriptions: Some(vec![uri.clone()]),
            ..SubscriptionFilter::default()
        };
        let subscription = attend(host, client.listen(filter)).await?;
        host.page().quote_line("Changes are told of ", &uri);
        self.known.watched.insert(uri, subscription);
        Ok(())
    }

    /// Has the server no longer tell of changes of a resource, or of any.
    pub(super) async fn unsubscribe(&mut self, uri: Option<&str>) -> Result<(), Error> {
        match uri {
            None => self.known.watched.clear(),
            Some(uri) if self.known.watched.remove(uri).is_some() => {
                let has_secret = self.has_secret(uri).await?;
                self.keep_typed(!has_secret);
            }
            Some(uri) => {
                let error = Error::usage("there is no subscription to this resource:");
                return Err(error.quoting(uri));
            }
        }
        let page = self.session.host.page();
        page.say(
            Style::Plain,
            match uri {
                Some(_) => "Its changes are told of no more.",
                None => "Changes of resources are told of no more.",
            },
        );
        Ok(())
    }

    /// Says that the server tells of changes no more. Where it is gone, that is told already.
    pub(super) fn fell_silent(&mut self, silent: Silent) {
        match &silent.uri {
            Some(uri) => drop(self.known.watched.remove(uri)),
            None => self.known.changes = None,
        }
        if self.session.host.server().presence() == Presence::Down {
            return;
        }
        let error = match silent.ended {
            Ok(()) => Error::new(Kind::Connection, "the server ended a subscription"),
            Err(error) => failed(error),
        };
        let page = self.session.host.page();
        error.put_below(page);
        match silent.uri {
            Some(uri) => {
                page.quote_line("Changes are told of no more of ", uri);
                page.note(Style::Dim, "/subscribe asks for them again.");
            }
            None => {
                let words = "Changes of its lists are told of no more; /restart connects again.";
                page.note(Style::Dim, words);
            }
        }
    }

    /// Subscribes again, for the server was started again.
    pub(super) async fn subscribe_again(&mut self) -> Result<(), Error> {
        for uri in std::mem::take(&mut self.known.watched).into_keys() {
            self.subscribe(uri).await?;
        }
        Ok(())
    }
}
