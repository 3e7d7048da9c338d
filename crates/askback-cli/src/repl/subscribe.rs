//! Resources whose changes a conversation tells of.

use askback_core::protocol::SubscriptionFilter;
use askback_host::page::Style;

use super::{Repl, attend};
use crate::{error::Error, session::Session};

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
        page.say(Style::Plain, "Its changes are no longer told.");
        Ok(())
    }

    /// Subscribes again, for the server was started again.
    pub(super) async fn subscribe_again(&mut self) -> Result<(), Error> {
        for uri in std::mem::take(&mut self.known.watched).into_keys() {
            self.subscribe(uri).await?;
        }
        Ok(())
    }
}
