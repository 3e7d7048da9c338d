//! All that it takes to open a connection to a server, as often as that is wanted.

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
    stderr::{self, StderrFile},
    target::Reach,
    wire::Observer,
};

/// A function that keeps events from a front end: it returns those that are not its own.
pub type Take = Arc<dyn Fn(Event) -> Option<Event> + Send + Sync>;

pub struct Opener {
    pub reach: Reach,
    pub relay: Relay,
    pub authorization: Option<Authorization>,
    pub observer: Option<Observer>,
    /// Keeps events from the front end.
    pub take: Take,
    /// What is remembered of the revision in which the server asks.
    pub older: AskingRevision,
    pub stderr: Option<StderrFile>,
    pub limits: Limits,
    pub protocol: Protocol,
    pub role: Role,
    /// The sentence that says which server is waited for.
    pub waiting: Words,
    /// Whether requests to a model may be answered with calls of tools.
    pub calls_tools: bool,
}

impl Opener {
    /// Has the front end answer questions, those that the client that is played can be asked and shows.
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
        let client = Client::builder("askback", env!("CARGO_PKG_VERSION")).title("askback");
        let (take, front_end) = (Arc::clone(&self.take), self.relay.clone());
        let stderr = self.stderr.clone();
        let client = self
            .answering(client)
            .tasks(self.role.can(Ability::Tasks))
            .on_event(move |event| {
                if let (Event::ServerStderr(line), Some(file)) = (&event, &stderr) {
                    stderr::add(file, line);
                }
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
        Ok(Box::pin(async move {
            let client = opening.await?;
            older.greeted(older::claims(&client));
            Ok(client)
        }))
    }
}
