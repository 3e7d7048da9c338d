//! Opens connections to a server, any number of times.

use std::sync::Arc;

use askback::{
    BoxFuture, Limits,
    authorization::client::Authorization,
    client::{Client, ClientBuilder, ClientError, Event, Protocol},
    protocol::ElicitResult,
};
use askback_host::{relay::Relay, text::Words};

use crate::{
    error::Error,
    older::{self, AskingRevision},
    role::{Ability, Role},
    target::Reach,
    wire::Observer,
};

/// A filter for events: returns those that belong to the front end.
pub type Take = Arc<dyn Fn(Event) -> Option<Event> + Send + Sync>;

pub struct Opener {
    pub reach: Reach,
    pub relay: Relay,
    pub authorization: Option<Authorization>,
    pub observer: Option<Observer>,
    /// Filters the events before they reach the front end.
    pub take: Take,
    /// The stored revision in which the server asks.
    pub older: AskingRevision,
    pub limits: Limits,
    pub protocol: Protocol,
    pub role: Role,
    /// The sentence that says which server is being waited for.
    pub waiting: Words,
    /// Whether sampling requests may be answered with tool calls.
    pub calls_tools: bool,
}

impl Opener {
    /// Lets the front end answer questions, limited to those that the played client supports and shows.
    fn answering(&self, client: ClientBuilder) -> ClientBuilder {
        let role = self.role;
        let client = self.relay.answering(client, role.abilities());
        let draws_all = role.can(Ability::Numbers) && role.can(Ability::Lists);
        if !role.can(Ability::Forms) || draws_all {
            return client;
        }
        let relay = self.relay.clone();
        client.on_elicit(move |form| {
            let relay = relay.clone();
            async move {
                match role.cannot_show(&form.request.requested_schema) {
                    Some(told) => {
                        relay.tell(told);
                        Ok(ElicitResult::cancel())
                    }
                    None => relay.fill(form).await,
                }
            }
        })
    }

    pub fn connect(&self) -> Result<BoxFuture<'static, Result<Client, ClientError>>, Error> {
        let client = match self.role.introduction() {
            Some((name, version)) => Client::builder(name, version),
            None => Client::builder("askback", env!("CARGO_PKG_VERSION")).title("askback"),
        };
        let (take, front_end) = (Arc::clone(&self.take), self.relay.clone());
        let client = self
            .answering(client)
            .tasks(self.role.can(Ability::Tasks))
            .on_event(move |event| {
                if let Some(event) = take(event) {
                    front_end.event(event);
                }
            })
            .limits(self.limits.clone())
            .protocol(match (self.protocol, self.role.revision()) {
                (Protocol::Auto, Some(revision)) => Protocol::Only(revision),
                (protocol, _) => protocol,
            });
        let client = match &self.observer {
            Some(observer) => {
                let observer = Arc::clone(observer);
                client.on_wire(move |event| observer(event))
            }
            None => client,
        };
        let client = match self.calls_tools && self.role.client.is_none() {
            true => client.samples_with_tools(),
            false => client,
        };
        let opening: BoxFuture<'static, _> = match &self.reach {
            Reach::Start(command) => Box::pin(client.connect(command.clone().child())),
            Reach::Address(address) => {
                let mut http = address.http()?;
                if let Some(authorization) = &self.authorization {
                    http = http.authorize(authorization);
                }
                Box::pin(client.connect(http))
            }
        };
        let older = self.older.clone();
        let is_only_older = self.protocol == Protocol::Only(older::REVISION);
        Ok(Box::pin(async move {
            // A server that does not speak the remembered revision is tried in the newest next time.
            let client = opening.await.inspect_err(|_| {
                if is_only_older {
                    older.forget();
                }
            })?;
            older.greeted(client.server_info().as_ref().map(older::claims));
            Ok(client)
        }))
    }
}
